// SPDX-License-Identifier: Apache-2.0
// What a part may ask for while it is traced: weights, state, random numbers, masks, the step, penalties, checks. Where
// a Scope stands gives each state its path: "encoder/attention/query/kernel".
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "strata/constraint.h"
#include "strata/initializer.h"
#include "strata/ops.h"
#include "strata/regularizer.h"

namespace strata {

// The dtypes a layer computes and keeps its weights in, from the precision policy or its own `dtype`.
struct Precision {
  DType compute = DType::float32;
  DType variable = DType::float32;
  bool operator==(const Precision&) const = default;
};

// How a weight is made and treated. Regularizer and constraint may be empty.
struct WeightOptions {
  Initializer initializer = "glorot_uniform";
  Optional<Regularizer> regularizer = {};
  Optional<Constraint> constraint = {};
  bool trainable = true;
  bool autocast = true;  // read in the layer's compute dtype; false: in its own
};

// One state that a trace asked for.
struct StateDeclaration {
  std::string path;
  Type type;
  Initializer initializer;
  Optional<Regularizer> regularizer = {};
  Optional<Constraint> constraint = {};
  bool trainable = false;       // a weight that the optimizer updates
  const void* owner = nullptr;  // the layer's identity: layers shared between models share this state
  std::string name;             // within the owner: "kernel", "cell/kernel"
};

// Everything a trace collects beside the graph. One per graph being traced; owned by the engine.
struct Trace {
  Graph* graph = nullptr;
  bool training = false;
  std::int64_t rows = 0;                           // of the batch this graph runs at
  std::map<std::string, StateDeclaration> states;  // by path
  std::vector<std::string> order;                  // the paths, as they were first asked for
  std::map<const void*, std::string> homes;        // a layer's identity -> the path it was first traced at
  std::map<Ref, Value> masks;
  std::vector<Value> penalties;                       // scalars, float32
  std::vector<std::pair<Value, std::string>> checks;  // bool scalars; what to say when one fails
  std::map<std::string, int> random_calls;            // per path, so that each call is a stream of its own
  std::map<std::string, double> knobs;                // path -> first value of a host-set scalar state
  Precision precision;
  std::set<const void*> frozen;  // layers, by identity, that this trace does not train
};

class Scope {
 public:
  Scope(Trace& trace, std::string path, Precision precision, bool trainable = true, const void* owner = nullptr,
        std::string owner_path = {});

  Graph& graph() const { return *trace_->graph; }
  Trace& trace() const { return *trace_; }
  const std::string& path() const { return path_; }
  Precision precision() const { return precision_; }
  bool trainable() const { return trainable_; }  // false inside a frozen layer
  bool training() const { return trace_->training; }

  // A trainable weight at path()/name. Asking again must agree in shape, else an Error that names both. Read in the
  // compute dtype unless autocast is off.
  Value weight(std::string_view name, const Shape& shape, const WeightOptions& options = {}) const;
  // A state that is no weight (a moving mean, an optimizer's slot): kept in its own dtype, never cast.
  Value state(std::string_view name, const Type& type, const Initializer& initializer = "zeros") const;
  void next(Value state, Value value, Advance advance = Advance::if_ok) const;
  // A scalar float32 state at `path` that callbacks may set between steps ("optimizer/learning_rate").
  Value knob(const std::string& path, double value) const;

  // Uniform in [0, 1) or standard normal, float32. A function of the seed, this path and call, the step, the row of the
  // global batch (axis 0) and the element within the row: the same for any number of replicas. An explicit `seed`
  // argument of a part goes into the stream.
  Value random(const Shape& shape, Distribution distribution = Distribution::uniform,
               std::optional<std::int64_t> seed = {}) const;

  Value mask(Value x) const;  // bool [batch, time], or null
  void set_mask(Value x, Value mask) const;
  Value step() const;                // int64 scalar: optimizer updates done so far
  void penalty(Value scalar) const;  // added to the loss, in training and evaluation
  void check(Value condition,
             const std::string& message) const;  // bool scalar; false: the step does not commit and says so
  std::int64_t rows() const { return trace_->rows; }

  Scope child(std::string_view name) const;  // path()/name

 private:
  Value declare(std::string_view name, const Type& type, const WeightOptions& options) const;

  Trace* trace_;
  std::string path_;
  Precision precision_;
  bool trainable_;
  const void* owner_;  // whose state is asked for, and its own path
  std::string owner_path_;
};

// The names of states and inputs the engine itself keeps.
namespace names {
inline constexpr const char* seed = "strata/seed";            // int64 scalar
inline constexpr const char* step = "strata/step";            // int64 scalar: optimizer updates
inline constexpr const char* faults = "strata/faults";        // int64 scalar: bit k set when check k failed
inline constexpr const char* window = "strata/window";        // int64 scalar: batches in the accumulation window
inline constexpr const char* skipped = "strata/skipped";      // int64 scalar: updates passed over for their gradients
inline constexpr const char* first_row = "strata/first_row";  // int64 scalar input: the global row of local row 0
}  // namespace names

}  // namespace strata
