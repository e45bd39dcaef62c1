// SPDX-License-Identifier: Apache-2.0
// Losses between numbers: the mean over the last axis.
#pragma once

#include "strata/loss.h"

namespace strata::losses {

struct MeanSquaredError {
  static Schema schema() {
    return Schema("MeanSquaredError", "The mean of squared differences.").alias("mse").alias("MSE").example(+[] {
      return MeanSquaredError{};
    });
  }
  Value of(Scope&, Value predicted, Value target) const { return reduce_mean(square(predicted - target), {-1}); }
};

struct MeanAbsoluteError {
  static Schema schema() {
    return Schema("MeanAbsoluteError", "The mean size of the differences.").alias("mae").alias("MAE").example(+[] {
      return MeanAbsoluteError{};
    });
  }
  Value of(Scope&, Value predicted, Value target) const { return reduce_mean(absolute(predicted - target), {-1}); }
};

struct Huber {
  double delta = 1;
  static Schema schema() {
    return Schema("Huber", "Half the square of small differences, straight beyond delta.")
        .arg("delta", &Huber::delta, "Where it becomes straight.", above(0))
        .example(+[] { return Huber{.delta = 0.5}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    Value e = predicted - target, size = absolute(e);
    return reduce_mean(
        select(less_equal(size, full_like(size, delta)), square(e) * 0.5, size * delta - 0.5 * delta * delta), {-1});
  }
};

inline void register_regression(Registry<Loss>& r) {
  r.add<MeanSquaredError>();
  r.add<MeanAbsoluteError>();
  r.add<Huber>();
}

}  // namespace strata::losses
