// SPDX-License-Identifier: Apache-2.0
// Penalties on the size of weights.
#pragma once

#include "strata/ops.h"
#include "strata/regularizer.h"

namespace strata::regularizers {

struct L1 {
  double l1 = 0.01;
  static Schema schema() {
    return Schema("L1", "l1 times the sum of sizes.").arg("l1", &L1::l1, "The factor.", at_least(0)).example(+[] {
      return L1{.l1 = 0.1};
    });
  }
  Value of(Value x) const { return sum(absolute(x)) * l1; }
};

struct L2 {
  double l2 = 0.01;
  static Schema schema() {
    return Schema("L2", "l2 times the sum of squares.").arg("l2", &L2::l2, "The factor.", at_least(0)).example(+[] {
      return L2{.l2 = 0.1};
    });
  }
  Value of(Value x) const { return sum(square(x)) * l2; }
};

struct L1L2 {
  double l1 = 0, l2 = 0;
  static Schema schema() {
    return Schema("L1L2", "Both penalties.")
        .alias("l1l2")
        .arg("l1", &L1L2::l1, "The factor of sizes.", at_least(0))
        .arg("l2", &L1L2::l2, "The factor of squares.", at_least(0))
        .example(+[] { return L1L2{.l1 = 0.1, .l2 = 0.2}; });
  }
  Value of(Value x) const { return sum(absolute(x)) * l1 + sum(square(x)) * l2; }
};

inline void register_norms(Registry<Regularizer>& r) {
  r.add<L1>();
  r.add<L2>();
  r.add<L1L2>();
}

}  // namespace strata::regularizers
