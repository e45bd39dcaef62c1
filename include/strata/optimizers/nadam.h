// SPDX-License-Identifier: Apache-2.0
// Adam's relatives: Adamax (Kingma and Ba, 2015), Nadam (Dozat, 2016), Lamb (You et al., 2020).
#pragma once

#include "strata/optimizer.h"

namespace strata::optimizers {

// 1, 2, 3, … in float64: powers of the decays are exact enough after many steps.
inline Value step_number(Scope& s) { return cast(s.step(), DType::float64) + 1.0; }
inline Value raised(double base, Value exponent) { return power(full_like(exponent, base), exponent); }

struct Adamax {
  Rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  static Schema schema() {
    return Schema("Adamax", "Adam with the largest recent gradient in place of the root of the mean square.")
        .arg("learning_rate", &Adamax::learning_rate, "The step size.")
        .arg("beta_1", &Adamax::beta_1, "How slowly the mean of the gradient changes.", from_up_to(0, 1))
        .arg("beta_2", &Adamax::beta_2, "How slowly the largest fades.", from_up_to(0, 1))
        .arg("epsilon", &Adamax::epsilon, "Added to the largest.", at_least(0))
        .example(+[] { return Adamax{.learning_rate = 0.1}; })
        .example(+[] { return Adamax{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9}; });
  }
  static SlotOrder slots() { return {{"momentum", "norm"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    Value m = s.state("momentum", weight.type()), u = s.state("norm", weight.type());
    Value m_next = m + (gradient - m) * (1 - beta_1), u_next = maximum(u * beta_2, absolute(gradient));
    s.next(m, m_next);
    s.next(u, u_next);
    Value correction = cast(1.0 - raised(beta_1, step_number(s)), rate.dtype());
    return weight - m_next * (rate / correction) / (u_next + epsilon);
  }
};

struct Nadam {
  Rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  static Schema schema() {
    return Schema("Nadam", "Adam that looks ahead, as Nesterov's momentum does.")
        .arg("learning_rate", &Nadam::learning_rate, "The step size.")
        .arg("beta_1", &Nadam::beta_1, "How slowly the mean of the gradient changes.", from_up_to(0, 1))
        .arg("beta_2", &Nadam::beta_2, "How slowly the mean of its square changes.", from_up_to(0, 1))
        .arg("epsilon", &Nadam::epsilon, "Added to the root of the mean square.", at_least(0))
        .example(+[] { return Nadam{.learning_rate = 0.1}; })
        .example(+[] { return Nadam{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9}; });
  }
  static SlotOrder slots() { return {{"momentum", "velocity"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    const DType dtype = weight.dtype();
    Value m = s.state("momentum", weight.type()), v = s.state("velocity", weight.type());
    // The momentum of step t is beta_1 (1 - 0.96^t / 2); their product is kept.
    Value product = s.state("u_product", {{}, DType::float64}, "ones"), t = step_number(s);
    Value now = beta_1 * (1.0 - 0.5 * raised(0.96, t)), then = beta_1 * (1.0 - 0.5 * raised(0.96, t + 1.0));
    Value product_now = product * now, product_then = product_now * then;
    s.next(product, product_now);
    Value m_next = m + (gradient - m) * (1 - beta_1), v_next = v + (square(gradient) - v) * (1 - beta_2);
    s.next(m, m_next);
    s.next(v, v_next);
    Value ahead =
        m_next * cast(then / (1.0 - product_then), dtype) + gradient * cast((1.0 - now) / (1.0 - product_now), dtype);
    Value scale = sqrt(v_next / cast(1.0 - raised(beta_2, t), dtype)) + epsilon;
    return weight - ahead * rate / scale;
  }
};

struct Lamb {
  Rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  static Schema schema() {
    return Schema("Lamb", "Adam whose steps are as large as the weight they change.")
        .arg("learning_rate", &Lamb::learning_rate, "The step, as a part of the weight's norm.")
        .arg("beta_1", &Lamb::beta_1, "How slowly the mean of the gradient changes.", from_up_to(0, 1))
        .arg("beta_2", &Lamb::beta_2, "How slowly the mean of its square changes.", from_up_to(0, 1))
        .arg("epsilon", &Lamb::epsilon, "Added to the root of the mean square.", at_least(0))
        .example(+[] { return Lamb{.learning_rate = 0.05}; })
        .example(+[] { return Lamb{.learning_rate = 0.05, .beta_1 = 0.5, .beta_2 = 0.9}; });
  }
  static SlotOrder slots() { return {{"momentum", "velocity"}}; }
  Value update(Scope& s, Value weight, Value gradient, Value rate) const {
    const DType dtype = weight.dtype();
    Value m = s.state("momentum", weight.type()), v = s.state("velocity", weight.type()), t = step_number(s);
    Value m_next = m + (gradient - m) * (1 - beta_1), v_next = v + (square(gradient) - v) * (1 - beta_2);
    s.next(m, m_next);
    s.next(v, v_next);
    Value move =
        m_next / cast(1.0 - raised(beta_1, t), dtype) / (sqrt(v_next / cast(1.0 - raised(beta_2, t), dtype)) + epsilon);
    Value own = sqrt(sum(square(weight))), size = sqrt(sum(square(move))), zero = full_like(own, 0);
    Value both = logical_and(greater(own, zero), greater(size, zero));
    Value ratio = select(both, own / select(both, size, full_like(size, 1)), full_like(own, 1));
    return weight - move * (ratio * rate);
  }
};

inline void register_nadam(Registry<Optimizer>& r) {
  r.add<Adamax>();
  r.add<Nadam>();
  r.add<Lamb>();
}

}  // namespace strata::optimizers
