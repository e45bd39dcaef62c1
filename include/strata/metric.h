// SPDX-License-Identifier: Apache-2.0
// Metrics. A metric's state is a few arrays that add up over batches and replicas; the engine keeps, adds and resets
// them. A part here is a struct with either
//   Value of(Scope&, Value predicted, Value target) const       per sample; the metric is its weighted mean
// or
//   Values statistics(Scope&, Value predicted, Value target, Value weight) const     what this batch adds
//   double result(std::span<const Array> totals) const                               the figure
// `up` (static constexpr bool) says whether larger is better, where that can be said.
#pragma once

#include "strata/loss.h"

namespace strata {

struct MetricCommon {
  std::string name = {};
  std::string dtype = {};
  static Schema schema();
};

enum class Direction { unknown, up, down };

// For a mean over samples: sum of weight x value, and sum of weight. `weight` may be null (ones) or of fewer axes.
Values mean_statistics(Scope& scope, Value values, Value weight);
double mean_result(std::span<const Array> totals);      // 0 when nothing was counted
Value weights_like(Value weight, const Shape& values);  // float32, one for each value

struct MetricKind {
  static constexpr std::string_view word = "metric";
  using Common = MetricCommon;
  template <class T> static constexpr bool averages = requires(const T& t, Scope& s, Value x) {
    { t.of(s, x, x) } -> std::same_as<Value>;
  };
  template <class T> static constexpr bool counts = requires(const T& t, Scope& s, Value x) {
    { t.statistics(s, x, x, x) } -> std::same_as<Values>;
  };
  template <class T> static constexpr bool fits = averages<T> || counts<T>;
  template <class T, class Base> struct Holds : Base {
    T part;
    Values statistics(Scope& scope, Value predicted, Value target, Value weight) const override {
      if constexpr (counts<T>) return part.statistics(scope, predicted, target, weight);
      else return mean_statistics(scope, part.of(scope, predicted, target), weight);
    }
    double result(std::span<const Array> totals) const override {
      if constexpr (requires { part.result(totals); }) return part.result(totals);
      else return mean_result(totals);
    }
    Direction direction() const override {
      if constexpr (requires { T::up; }) return T::up ? Direction::up : Direction::down;
      else return Direction::unknown;
    }
    Target target() const override {
      if constexpr (requires { T::target; }) return T::target;
      else return Target::like_prediction;
    }
  };
  virtual ~MetricKind() = default;
  virtual Values statistics(Scope& scope, Value predicted, Value target, Value weight) const = 0;
  virtual double result(std::span<const Array> totals) const = 0;
  virtual Direction direction() const = 0;
  virtual Target target() const = 0;
};

using Metric = Part<MetricKind>;
template <> struct FieldTypeOf<Metric> { static const FieldType& get(); };

// What "accuracy" means for these shapes, as Keras settles it.
Metric accuracy_for(const Type& predicted, const Type& target);

}  // namespace strata
