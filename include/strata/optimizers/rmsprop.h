// SPDX-License-Identifier: Apache-2.0
// RMSprop. Tieleman and Hinton, 2012. Epsilon stands inside the root, as in Keras.
#pragma once

#include "strata/optimizer.h"

namespace strata::optimizers {

struct RMSprop {
  Rate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  static Schema schema() {
    return Schema("RMSprop", "Steps divided by the root of the running mean of squared gradients.")
        .alias("rmsprop")
        .arg("learning_rate", &RMSprop::learning_rate, "The step size.")
        .arg("rho", &RMSprop::rho, "How slowly the mean changes.", from_up_to(0, 1))
        .arg("momentum", &RMSprop::momentum, "How much of the last step goes into the next.", between(0, 1))
        .arg("epsilon", &RMSprop::epsilon, "Added to the mean square.", at_least(0))
        .arg("centered", &RMSprop::centered, "Whether the mean gradient's square is taken off first.")
        .example(+[] { return RMSprop{.learning_rate = 0.1}; })
        .example(+[] { return RMSprop{.learning_rate = 0.05, .rho = 0.8, .momentum = 0.5, .centered = true}; });
  }
  static SlotOrder slots() { return {{"velocity"}, {"momentum"}, {"average_gradient"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value v = s.state("velocity", weight.type());
    Value v_next = v * rho + square(gradient) * (1 - rho);
    s.next(v, v_next);
    Value below = v_next;
    if (centered) {
      Value mean = s.state("average_gradient", weight.type());
      Value mean_next = mean * rho + gradient * (1 - rho);
      s.next(mean, mean_next);
      below = v_next - square(mean_next);
    }
    Value move = gradient * rate * rsqrt(below + epsilon);
    if (momentum == 0) return weight - move;
    Value m = s.state("momentum", weight.type());
    Value m_next = m * momentum + move;
    s.next(m, m_next);
    return weight - m_next;
  }
};

inline void register_rmsprop(Registry<Optimizer>& r) { r.add<RMSprop>(); }

}  // namespace strata::optimizers
