// SPDX-License-Identifier: Apache-2.0
// The engine's view of a model: its topology, its store, what compile bound, and the plans made so far.
#pragma once

#include <memory>
#include <set>

#include "model/plans.h"
#include "model/step.h"
#include "model/topology.h"
#include "runtime/executor.h"
#include "runtime/store.h"
#include "strata/model.h"

namespace strata {

struct Model::Core {
  std::shared_ptr<const Topology> topology;        // null for a Program
  Layer as_layer;                                  // the model as a layer of others: one identity
  std::map<std::string, StateDeclaration> states;  // of the layers, by path
  std::vector<std::string> state_order;            // as they were first asked for
  Store store;
  bool built = false;
  std::vector<Type> output_types;  // at one row
  std::int64_t seed = 0;

  bool compiled = false;
  CompileSettings settings;  // as compile() was given them
  Optional<Strategy> strategy;
  Compiled binding;                              // losses, metrics, optimizer by output
  std::unique_ptr<Runner> runner;                // plans and executor; anew after compile
  std::map<std::string, StepPlans> train_plans;  // by what the batch looks like
  std::map<std::string, Compilation> evaluate_plans, predict_plans, count_plans;

  std::string subject() const;  // of messages: "model 'net'"
  void need_compiled(const char* what) const;
  bool wants_target(std::size_t output) const;  // whether a loss or a metric looks at it
  // Declares the states of one trace: new ones get their first value, from their initializer or another model's layer.
  void adopt(const Trace& trace);
  Runner& ready();  // places the store, makes the runner
  // Plans for batches of these types, made once.
  StepPlans& train_plan(const BatchTypes& types);
  Compilation& evaluate_plan(const BatchTypes& types);
  Compilation& predict_plan(const BatchTypes& types);
  Compilation& count_plan(const BatchTypes& types);

  void reset_metrics();
  Figures figures(const std::string& prefix = "");  // from the metrics' states
  // Runs a plan. Error: what a check that failed says; the step's states are as they were. `part_row`: where in its batch
  // this part of one begins.
  RunResult run(Compilation& compilation, const std::map<std::string, Tensor>& feeds, std::int64_t first_row = 0,
                std::int64_t part_row = 0);
  void bind(const BatchTypes& types);  // settles "accuracy" and "crossentropy", checks the targets
};

// A step whose loss or gradients are no finite numbers; its states are as they were.
class NotFinite : public RunFailed {
 public:
  using RunFailed::RunFailed;
};
// Runs the step again with every array watched, and says where the first of them came from: layer, array, rows. The
// model's states stay as they are.
std::string blame(Model::Core& core, const BatchTypes& types, const std::map<std::string, Tensor>& feeds,
                  std::int64_t first_row = 0);

// The first value of a state.
Tensor initial_value(const StateDeclaration& declaration, std::int64_t seed);

}  // namespace strata
