// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent.
#pragma once

#include "strata/optimizer.h"

namespace strata::optimizers {

struct SGD {
  Rate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  static Schema schema() {
    return Schema("SGD", "Gradient descent, with momentum if wanted.")
        .arg("learning_rate", &SGD::learning_rate, "The step size.")
        .arg("momentum", &SGD::momentum, "How much of the last step goes into the next.", between(0, 1))
        .arg("nesterov", &SGD::nesterov, "Whether to look ahead, as Nesterov does.")
        .example(+[] { return SGD{.learning_rate = 0.1}; })
        .example(+[] { return SGD{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}; });
  }
  static SlotOrder slots() { return {{"momentum"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value move = negate(gradient * rate);
    if (momentum == 0) return weight + move;
    Value velocity = s.state("momentum", weight.type());
    Value next = velocity * momentum + move;
    s.next(velocity, next);
    return weight + (nesterov ? next * momentum + move : next);
  }
};

inline void register_sgd(Registry<Optimizer>& r) { r.add<SGD>(); }

}  // namespace strata::optimizers
