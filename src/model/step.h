// SPDX-License-Identifier: Apache-2.0
// Building the graphs of a model: predict, evaluate, and the two of a training step. They are traced for the whole
// batch; what a replica runs is the partition pass's.
#pragma once

#include <set>

#include "model/topology.h"
#include "strata/model.h"
#include "strata/precision.h"
#include "strata/step.h"

namespace strata {

// A metric with its place: which output, its name in figures, whether it takes sample weights.
struct BoundMetric {
  Metric metric;
  std::string name;  // "accuracy", "left_accuracy"
  std::size_t output = 0;
  bool weighted = false;
  std::vector<Type> statistics;  // known after the first trace
};

// What compile() settled, by output.
struct Compiled {
  Optimizer optimizer;
  std::vector<Optional<Loss>> losses;
  std::vector<double> loss_weights;
  std::vector<BoundMetric> metrics;
  Precision precision;
  bool loss_scaling = false;
  std::vector<std::string> freeze;
  std::set<const void*> frozen;  // the layers that `freeze` names, and those within them
  bool fast_math = true;
  std::int64_t accumulation = 1;  // gradient_accumulation_steps
};

// What the data of a step looks like: whole-batch types of inputs, targets and sample weights (none where absent).
struct BatchTypes {
  std::vector<Type> inputs;
  std::vector<Type> targets;  // by output
  std::vector<Type> weights;  // by output
  std::int64_t rows = 0;
  std::int64_t step_rows = 0;  // when a step runs in parts: the rows of all; then counts are fed
  bool operator==(const BatchTypes&) const = default;
};

// Names of feeds and states.
std::string input_feed(const Topology& topology, std::size_t input);         // "image"
std::string target_feed(const Topology& topology, std::size_t output);       // "target/logits"
std::string weight_feed(const Topology& topology, std::size_t output);       // "weight/logits"
std::string count_feed(const Topology& topology, std::size_t output);        // "count/logits"
std::string metric_state(const std::string& metric, std::size_t statistic);  // "metric/accuracy/0"

struct Built {
  Step step;
  Trace trace;  // of the micro graph (its graph pointer is not kept)
  Trace update_trace;
  Ref loss;                                            // in the micro graph
  std::vector<std::pair<std::string, Ref>> gradients;  // of trainable weights, by path, likewise
};

// What the check of a step's numbers says; who sees it asks blame() for more.
inline constexpr const char* not_finite = "the loss or a gradient is no finite number";

Built build_train(const Topology& topology, Compiled& compiled, const BatchTypes& types);
// The losses' denominators of one part of a step, as outputs "count/<output>": they depend on feeds only.
Built build_counts(const Topology& topology, const Compiled& compiled, const BatchTypes& types);
Built build_evaluate(const Topology& topology, Compiled& compiled, const BatchTypes& types);
Built build_predict(const Topology& topology, const Precision& precision, const BatchTypes& types);

// Whether a state at `path` is frozen by name.
bool frozen(const std::string& path, std::span<const std::string> freeze);

}  // namespace strata
