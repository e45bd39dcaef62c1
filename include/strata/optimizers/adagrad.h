// SPDX-License-Identifier: Apache-2.0
// Adagrad and Adadelta. Duchi et al., 2011; Zeiler, 2012. Epsilon stands inside the roots, as in Keras.
#pragma once

#include "strata/initializers/constant.h"
#include "strata/optimizer.h"

namespace strata::optimizers {

struct Adagrad {
  Rate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  static Schema schema() {
    return Schema("Adagrad", "Steps divided by the root of the sum of all squared gradients.")
        .arg("learning_rate", &Adagrad::learning_rate, "The step size.")
        .arg("initial_accumulator_value", &Adagrad::initial_accumulator_value, "What the sum begins with.", at_least(0))
        .arg("epsilon", &Adagrad::epsilon, "Added to the sum.", at_least(0))
        .example(+[] { return Adagrad{.learning_rate = 0.5}; })
        .example(+[] { return Adagrad{.learning_rate = 0.5, .initial_accumulator_value = 1}; });
  }
  static SlotOrder slots() { return {{"accumulator"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value sum = s.state("accumulator", weight.type(), initializers::Constant{.value = initial_accumulator_value});
    Value next = sum + square(gradient);
    s.next(sum, next);
    return weight - gradient * rate / sqrt(next + epsilon);
  }
};

struct Adadelta {
  Rate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  static Schema schema() {
    return Schema("Adadelta", "Steps as large as the recent steps were, against the recent gradients.")
        .arg("learning_rate", &Adadelta::learning_rate, "A factor of the step.")
        .arg("rho", &Adadelta::rho, "How slowly both means change.", from_up_to(0, 1))
        .arg("epsilon", &Adadelta::epsilon, "Added to both mean squares.", at_least(0))
        .example(+[] { return Adadelta{.learning_rate = 100}; })
        .example(+[] { return Adadelta{.learning_rate = 3, .rho = 0.8, .epsilon = 1e-4}; });
  }
  static SlotOrder slots() { return {{"accumulated_grad", "accumulated_delta_var"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value squares = s.state("accumulated_grad", weight.type()), moves = s.state("accumulated_delta_var", weight.type());
    Value squares_next = squares * rho + square(gradient) * (1 - rho);
    Value move = negate(sqrt(moves + epsilon) * gradient / sqrt(squares_next + epsilon));
    s.next(squares, squares_next);
    s.next(moves, moves * rho + square(move) * (1 - rho));
    return weight + move * rate;
  }
};

inline void register_adagrad(Registry<Optimizer>& r) {
  r.add<Adagrad>();
  r.add<Adadelta>();
}

}  // namespace strata::optimizers
