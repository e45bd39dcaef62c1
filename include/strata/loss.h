// SPDX-License-Identifier: Apache-2.0
// Losses. A part here is a struct with
//   Value of(Scope&, Value predicted, Value target) const       per sample: the last axis is gone
// Reduction, sample weights, masks and counts are the engine's. `ignored` (optional) says which samples do not count:
//   Value counted(Scope&, Value target) const                   bool, shaped as the result of `of`
#pragma once

#include "strata/part.h"
#include "strata/scope.h"

namespace strata {

struct LossCommon {
  std::string reduction = "sum_over_batch_size";  // or sum, mean_with_sample_weight, none
  std::string name = {};
  std::string dtype = {};
  static Schema schema();
};

// What a target must look like for a loss or metric, so that mistakes are found before the first step.
enum class Target { like_prediction, classes, any };

struct LossKind {
  static constexpr std::string_view word = "loss";
  using Common = LossCommon;
  template <class T> static constexpr bool fits = requires(const T& t, Scope& s, Value x) {
    { t.of(s, x, x) } -> std::same_as<Value>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    Value of(Scope& scope, Value predicted, Value target) const override { return part.of(scope, predicted, target); }
    Value counted(Scope& scope, Value target) const override {
      if constexpr (requires { part.counted(scope, target); }) return part.counted(scope, target);
      else return {};
    }
    Target target() const override {
      if constexpr (requires { T::target; }) return T::target;
      else return Target::like_prediction;
    }
  };
  virtual ~LossKind() = default;
  virtual Value of(Scope& scope, Value predicted, Value target) const = 0;
  virtual Value counted(Scope& scope, Value target) const = 0;  // null: all
  virtual Target target() const = 0;
};

using Loss = Part<LossKind>;
template <> struct FieldTypeOf<Loss> { static const FieldType& get(); };

// What a loss says of one batch, reduced as its `reduction` says: numerator / denominator is the value. Both scalars,
// float32; the denominator depends on feeds only (rows, weights, masks), so that it is known before backward.
struct Reduced {
  Value numerator, denominator;
  Value per_sample;  // weighted, unreduced
  // What the denominators of a batch's parts add up to: 0 where nothing counts. Null when it is 1, whatever the parts.
  Value count = {};
};
// Prediction and target in shapes that fit: a trailing 1 is added to or taken from the target. Error: they would
// broadcast silently.
std::pair<Value, Value> fitted(Value predicted, Value target, const std::string& name, Target kind);
// What "crossentropy" means for these shapes: binary for one number, sparse for class numbers, else categorical.
Loss crossentropy_for(const Type& predicted, const Type& target);
Reduced reduce_loss(Scope& scope, const Loss& loss, Value predicted, Value target, Value sample_weight, Value mask);

}  // namespace strata
