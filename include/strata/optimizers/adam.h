// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW. Kingma and Ba, 2015; Loshchilov and Hutter, 2019. Epsilon stands outside the corrected root, as in Keras.
#pragma once

#include "strata/optimizer.h"

namespace strata::optimizers {

// Both: the moments, their correction for the zeros they began with, and the move.
inline Value adam_update(Scope& s, Value weight, Value gradient, Value rate, double beta_1, double beta_2,
                         double epsilon, bool amsgrad) {
  Value m = s.state("momentum", weight.type()), v = s.state("velocity", weight.type());
  Value t = cast(s.step(), DType::float64) + 1.0;
  Value correction = sqrt(1.0 - power(full_like(t, beta_2), t)) / (1.0 - power(full_like(t, beta_1), t));
  Value m_next = m + (gradient - m) * (1 - beta_1), v_next = v + (square(gradient) - v) * (1 - beta_2);
  s.next(m, m_next);
  s.next(v, v_next);
  Value scale = v_next;
  if (amsgrad) {
    Value most = s.state("velocity_hat", weight.type());
    scale = maximum(most, v_next);
    s.next(most, scale);
  }
  return weight - m_next * (rate * cast(correction, rate.dtype())) / (sqrt(scale) + epsilon);
}

struct Adam {
  Rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  static Schema schema() {
    return Schema("Adam", "Steps scaled by running means of the gradient and of its square.")
        .arg("learning_rate", &Adam::learning_rate, "The step size.")
        .arg("beta_1", &Adam::beta_1, "How slowly the mean of the gradient changes.", from_up_to(0, 1))
        .arg("beta_2", &Adam::beta_2, "How slowly the mean of its square changes.", from_up_to(0, 1))
        .arg("epsilon", &Adam::epsilon, "Added to the root of the mean square.", at_least(0))
        .arg("amsgrad", &Adam::amsgrad, "Whether the mean square may only grow. Reddi et al., 2018.")
        .example(+[] { return Adam{.learning_rate = 0.1}; })
        .example(+[] { return Adam{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9, .amsgrad = true}; });
  }
  static SlotOrder slots() { return {{"momentum", "velocity"}, {"velocity_hat"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    return adam_update(s, weight, gradient, rate, beta_1, beta_2, epsilon, amsgrad);
  }
};

struct AdamW {
  Rate learning_rate = 0.001;
  double weight_decay = 0.004, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  static Schema schema() {
    return Schema("AdamW", "Adam with weight decay apart from the gradient.")
        .alias("adamw")
        .arg("learning_rate", &AdamW::learning_rate, "The step size.")
        .arg("weight_decay", &AdamW::weight_decay,
             "Part of each weight taken off at each step, times the learning rate.", at_least(0))
        .arg("beta_1", &AdamW::beta_1, "How slowly the mean of the gradient changes.", from_up_to(0, 1))
        .arg("beta_2", &AdamW::beta_2, "How slowly the mean of its square changes.", from_up_to(0, 1))
        .arg("epsilon", &AdamW::epsilon, "Added to the root of the mean square.", at_least(0))
        .arg("amsgrad", &AdamW::amsgrad, "Whether the mean square may only grow.")
        .example(+[] { return AdamW{.learning_rate = 0.1, .weight_decay = 0.01}; })
        .example(+[] { return AdamW{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9, .amsgrad = true}; });
  }
  static SlotOrder slots() { return {{"momentum", "velocity"}, {"velocity_hat"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    return adam_update(s, weight, gradient, rate, beta_1, beta_2, epsilon, amsgrad);
  }
};

inline void register_adam(Registry<Optimizer>& r) {
  r.add<Adam>();
  r.add<AdamW>();
}

}  // namespace strata::optimizers
