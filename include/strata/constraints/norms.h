// SPDX-License-Identifier: Apache-2.0
// What weights must satisfy after each update.
#pragma once

#include "strata/constraint.h"
#include "strata/ops.h"

namespace strata::constraints {

inline Value norms(Value w, const Ints& axis) { return sqrt(reduce_sum(square(w), axis.values, true)); }
inline constexpr double tiny = 1e-7;

struct MaxNorm {
  double max_value = 2;
  Ints axis = 0;
  static Schema schema() {
    return Schema("MaxNorm", "Weights whose norm along an axis is larger are scaled down.")
        .arg("max_value", &MaxNorm::max_value, "The largest norm.", at_least(0))
        .arg("axis", &MaxNorm::axis, "Along which axes.")
        .example(+[] { return MaxNorm{.max_value = 0.5}; })
        .example(+[] {
          return MaxNorm{.axis = Ints{0, 1}};
        });
  }
  Value apply(Value w) const {
    Value n = norms(w, axis);
    return w * (minimum(n, full_like(n, max_value)) / (n + tiny));
  }
};

struct UnitNorm {
  Ints axis = 0;
  static Schema schema() {
    return Schema("UnitNorm", "The norm along an axis is 1.")
        .arg("axis", &UnitNorm::axis, "Along which axes.")
        .example(+[] { return UnitNorm{.axis = 1}; });
  }
  Value apply(Value w) const { return w / (norms(w, axis) + tiny); }
};

struct MinMaxNorm {
  double min_value = 0, max_value = 1, rate = 1;
  Ints axis = 0;
  static Schema schema() {
    return Schema("MinMaxNorm", "The norm along an axis is drawn between two bounds.")
        .arg("min_value", &MinMaxNorm::min_value, "The least norm.", at_least(0))
        .arg("max_value", &MinMaxNorm::max_value, "The largest.", at_least(0))
        .arg("rate", &MinMaxNorm::rate, "How much of the way: 1 is all of it.", between(0, 1))
        .arg("axis", &MinMaxNorm::axis, "Along which axes.")
        .example(+[] { return MinMaxNorm{.min_value = 0.5, .max_value = 0.8, .rate = 0.5, .axis = 1}; });
  }
  Value apply(Value w) const {
    Value n = norms(w, axis), clipped = minimum(maximum(n, full_like(n, min_value)), full_like(n, max_value));
    return w * ((clipped * rate + n * (1 - rate)) / (n + tiny));
  }
};

struct NonNeg {
  static Schema schema() {
    return Schema("NonNeg", "Negative weights become 0.").example(+[] { return NonNeg{}; });
  }
  Value apply(Value w) const { return relu(w); }
};

inline void register_norms(Registry<Constraint>& r) {
  r.add<MaxNorm>();
  r.add<UnitNorm>();
  r.add<MinMaxNorm>();
  r.add<NonNeg>();
}

}  // namespace strata::constraints
