// SPDX-License-Identifier: Apache-2.0
// Optimizers: graph code that says what a weight is after a step. A part here is a struct with a member `learning_rate`
// (Rate) and
//   Value update(Scope&, Value weight, Value gradient, Value rate) const     the new weight; slots are scope.state(…)
// `scope.step()` counts the updates done before this one. A part with slots says how Keras's files order them:
//   static SlotOrder slots()     groups; within one, weight by weight
#pragma once

#include "strata/part.h"
#include "strata/schedule.h"
#include "strata/scope.h"

namespace strata {

// The arguments every optimizer takes. At most one of the three clips. Order as in Keras: gradients are clipped, weights
// decayed (weight -= weight * decay * rate), updated, averaged, constrained.
struct OptimizerCommon {
  Optional<double> weight_decay = {};
  Optional<double> clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  Optional<std::int64_t> ema_overwrite_frequency = {};
  Optional<double> loss_scale_factor = {};
  Optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = {};
  static Schema schema();
};

using SlotOrder = std::vector<std::vector<std::string>>;

struct OptimizerKind {
  static constexpr std::string_view word = "optimizer";
  using Common = OptimizerCommon;
  template <class T> static constexpr bool fits = requires(const T& t, Scope& s, Value w) {
    { t.update(s, w, w, w) } -> std::same_as<Value>;
    t.learning_rate;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    const Rate& learning_rate() const override { return part.learning_rate; }
    Optional<double> own_weight_decay() const override {
      if constexpr (requires { part.weight_decay; }) return part.weight_decay;
      else return {};
    }
    SlotOrder slots() const override {
      if constexpr (requires { T::slots(); }) return T::slots();
      else return {};
    }
    Value update(Scope& scope, Value weight, Value gradient, Value rate) const override {
      return part.update(scope, weight, gradient, rate);
    }
  };
  virtual ~OptimizerKind() = default;
  virtual const Rate& learning_rate() const = 0;
  virtual Optional<double> own_weight_decay() const = 0;  // AdamW's argument has its own default
  virtual SlotOrder slots() const = 0;
  virtual Value update(Scope& scope, Value weight, Value gradient, Value rate) const = 0;
};

using Optimizer = Part<OptimizerKind>;
template <> struct FieldTypeOf<Optimizer> { static const FieldType& get(); };

// A weight to be updated. A null gradient: nothing depends on it.
struct Trained {
  Value weight = {}, gradient = {};
  std::string path = {};
  Optional<Constraint> constraint = {};
};

// One update of all weights, in Keras's order: divide by loss_scale_factor, clip, decay, update, average, constrain. The
// averages are kept beside ("…/average"); slots live at "<scope>/<weight's path>/<slot>", the rate is asked for once, and
// the step counts on. Gradient accumulation is the engine's.
void apply_optimizer(Scope& scope, const Optimizer& optimizer, std::span<const Trained> weights);

}  // namespace strata
