// SPDX-License-Identifier: Apache-2.0
// Lion. Chen et al., 2023.
#pragma once

#include "strata/optimizer.h"

namespace strata::optimizers {

struct Lion {
  Rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.99;
  static Schema schema() {
    return Schema("Lion", "Steps of one size: only the sign of a mean gradient counts.")
        .arg("learning_rate", &Lion::learning_rate, "The size of each step.")
        .arg("beta_1", &Lion::beta_1, "How much of the mean goes into the sign.", from_up_to(0, 1))
        .arg("beta_2", &Lion::beta_2, "How slowly the mean changes.", from_up_to(0, 1))
        .example(+[] { return Lion{.learning_rate = 0.02}; })
        .example(+[] { return Lion{.learning_rate = 0.02, .beta_1 = 0.5, .beta_2 = 0.9}; });
  }
  static SlotOrder slots() { return {{"momentum"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value m = s.state("momentum", weight.type());
    Value direction = m * beta_1 + gradient * (1 - beta_1);
    s.next(m, m * beta_2 + gradient * (1 - beta_2));
    return weight - sign(direction) * rate;
  }
};

inline void register_lion(Registry<Optimizer>& r) { r.add<Lion>(); }

}  // namespace strata::optimizers
