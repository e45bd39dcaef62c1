// SPDX-License-Identifier: Apache-2.0
// Learning rates that fall with the step.
#pragma once

#include <cmath>

#include "strata/schedule.h"

namespace strata::schedules {

struct ExponentialDecay {
  double initial_learning_rate = -1;
  std::int64_t decay_steps = 0;
  double decay_rate = -1;
  bool staircase = false;
  static Schema schema() {
    return Schema("ExponentialDecay", "initial_learning_rate * decay_rate ^ (step / decay_steps).")
        .arg("initial_learning_rate", &ExponentialDecay::initial_learning_rate, "The rate at step 0.", at_least(0))
        .arg("decay_steps", &ExponentialDecay::decay_steps, "Steps for one factor.", at_least(1))
        .arg("decay_rate", &ExponentialDecay::decay_rate, "The factor.", at_least(0))
        .arg("staircase", &ExponentialDecay::staircase, "Whether it falls in whole steps.")
        .example(+[] { return ExponentialDecay{.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5}; })
        .example(+[] {
          return ExponentialDecay{
              .initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5, .staircase = true};
        });
  }
  Value at(Scope&, Value step) const {
    // In float64 until the last: a float32 step count is exact only to 2^24.
    Value p = cast(step, DType::float64) / static_cast<double>(decay_steps);
    if (staircase) p = floor(p);
    return cast(initial_learning_rate * power(full_like(p, decay_rate), p), DType::float32);
  }
};

struct InverseTimeDecay {
  double initial_learning_rate = -1;
  std::int64_t decay_steps = 0;
  double decay_rate = -1;
  bool staircase = false;
  static Schema schema() {
    return Schema("InverseTimeDecay", "initial_learning_rate / (1 + decay_rate * step / decay_steps).")
        .arg("initial_learning_rate", &InverseTimeDecay::initial_learning_rate, "The rate at step 0.", at_least(0))
        .arg("decay_steps", &InverseTimeDecay::decay_steps, "Steps for one decay_rate.", at_least(1))
        .arg("decay_rate", &InverseTimeDecay::decay_rate, "How fast it falls.", at_least(0))
        .arg("staircase", &InverseTimeDecay::staircase, "Whether it falls in whole steps.")
        .example(+[] { return InverseTimeDecay{.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5}; })
        .example(+[] {
          return InverseTimeDecay{
              .initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5, .staircase = true};
        });
  }
  Value at(Scope&, Value step) const {
    Value p = cast(step, DType::float64) / static_cast<double>(decay_steps);
    if (staircase) p = floor(p);
    return cast(initial_learning_rate / (1.0 + decay_rate * p), DType::float32);
  }
};

struct CosineDecay {
  double initial_learning_rate = -1;
  std::int64_t decay_steps = 0;
  double alpha = 0;
  std::string name = "CosineDecay";
  Optional<double> warmup_target = {};
  std::int64_t warmup_steps = 0;
  static Schema schema() {
    return Schema("CosineDecay",
                  "Half a cosine down to alpha of the rate, after an optional linear warm-up. Loshchilov and Hutter, "
                  "2017.")
        .arg("initial_learning_rate", &CosineDecay::initial_learning_rate, "The rate at step 0.", at_least(0))
        .arg("decay_steps", &CosineDecay::decay_steps, "Steps of the half cosine.", at_least(1))
        .arg("alpha", &CosineDecay::alpha, "What is left, as a part of the rate.", at_least(0))
        .arg("name", &CosineDecay::name, "Its name.")
        .arg("warmup_target", &CosineDecay::warmup_target, "The rate the warm-up reaches; without it there is none.")
        .arg("warmup_steps", &CosineDecay::warmup_steps, "Steps of the warm-up.", at_least(0))
        .example(+[] { return CosineDecay{.initial_learning_rate = 0.1, .decay_steps = 100}; })
        .example(+[] {
          return CosineDecay{.initial_learning_rate = 0.01,
                             .decay_steps = 100,
                             .alpha = 0.1,
                             .warmup_target = 0.1,
                             .warmup_steps = 10};
        });
  }
  Value at(Scope&, Value step) const {
    Value s = cast(step, DType::float64);
    const double top = warmup_target ? *warmup_target : initial_learning_rate,
                 warm = warmup_target ? static_cast<double>(warmup_steps) : 0;
    Value past = minimum(s - warm, full_like(s, static_cast<double>(decay_steps))) / static_cast<double>(decay_steps);
    Value rate = top * ((1 - alpha) * (0.5 * (1.0 + cos(3.14159265358979323846 * past))) + alpha);
    if (warm > 0)
      rate =
          select(less(s, full_like(s, warm)), initial_learning_rate + (top - initial_learning_rate) / warm * s, rate);
    return cast(rate, DType::float32);
  }
};

struct PolynomialDecay {
  double initial_learning_rate = -1;
  std::int64_t decay_steps = 0;
  double end_learning_rate = 1e-4, power = 1;
  bool cycle = false;
  static Schema schema() {
    return Schema("PolynomialDecay", "From one rate to another along a power of the step.")
        .arg("initial_learning_rate", &PolynomialDecay::initial_learning_rate, "The rate at step 0.", at_least(0))
        .arg("decay_steps", &PolynomialDecay::decay_steps, "Steps to the end.", at_least(1))
        .arg("end_learning_rate", &PolynomialDecay::end_learning_rate, "The rate at the end.", at_least(0))
        .arg("power", &PolynomialDecay::power, "1 is a straight line.", above(0))
        .arg("cycle", &PolynomialDecay::cycle, "Whether it starts again, each time longer.")
        .example(+[] { return PolynomialDecay{.initial_learning_rate = 0.1, .decay_steps = 50, .power = 2}; })
        .example(+[] {
          return PolynomialDecay{
              .initial_learning_rate = 0.1, .decay_steps = 50, .end_learning_rate = 0.01, .cycle = true};
        });
  }
  Value at(Scope&, Value step) const {
    Value s = cast(step, DType::float64), total = full_like(s, static_cast<double>(decay_steps));
    if (cycle) {
      Value rounds = negate(floor(negate(s / total)));  // rounded up
      total = total * maximum(rounds, full_like(rounds, 1));
    } else {
      s = minimum(s, total);
    }
    Value left = 1.0 - s / total;
    return cast(
        (initial_learning_rate - end_learning_rate) * strata::power(left, full_like(left, power)) + end_learning_rate,
        DType::float32);
  }
};

struct PiecewiseConstantDecay {
  std::vector<std::int64_t> boundaries = {};
  std::vector<double> values = {};
  static Schema schema() {
    return Schema("PiecewiseConstantDecay",
                  "One rate up to and at the first boundary, another up to the second, and so on.")
        .arg("boundaries", &PiecewiseConstantDecay::boundaries, "The last step of each rate but the last.", not_empty())
        .arg("values", &PiecewiseConstantDecay::values, "The rates: one more than boundaries.", not_empty())
        .example(+[] {
          return PiecewiseConstantDecay{.boundaries = {5, 10}, .values = {0.1, 0.05, 0.01}};
        });
  }
  Value at(Scope& s, Value step) const {
    if (values.size() != boundaries.size() + 1)
      throw Error(cat("PiecewiseConstantDecay takes one more of values than of boundaries, got ", values.size(),
                      " and ", boundaries.size()));
    for (std::size_t i = 1; i < boundaries.size(); ++i)
      if (boundaries[i] <= boundaries[i - 1])
        throw Error(
            cat("PiecewiseConstantDecay's boundaries must rise, got ", boundaries[i - 1], " before ", boundaries[i]));
    Value rate = full(s.graph(), values.back());
    for (std::size_t i = boundaries.size(); i-- > 0;)
      rate = select(less_equal(step, full_like(step, static_cast<double>(boundaries[i]))), full(s.graph(), values[i]),
                    rate);
    return rate;
  }
};

struct CosineDecayRestarts {
  double initial_learning_rate = -1;
  std::int64_t first_decay_steps = 0;
  double t_mul = 2, m_mul = 1, alpha = 0;
  static Schema schema() {
    return Schema("CosineDecayRestarts", "Half cosines one after the other. Loshchilov and Hutter, 2017.")
        .arg("initial_learning_rate", &CosineDecayRestarts::initial_learning_rate, "The rate at step 0.", at_least(0))
        .arg("first_decay_steps", &CosineDecayRestarts::first_decay_steps, "Steps of the first half cosine.",
             at_least(1))
        .arg("t_mul", &CosineDecayRestarts::t_mul, "How many times longer each is than the last.", at_least(1))
        .arg("m_mul", &CosineDecayRestarts::m_mul, "How many times higher each begins.", at_least(0))
        .arg("alpha", &CosineDecayRestarts::alpha, "What is left, as a part of the rate.", at_least(0))
        .example(+[] { return CosineDecayRestarts{.initial_learning_rate = 0.1, .first_decay_steps = 7}; })
        .example(+[] {
          return CosineDecayRestarts{
              .initial_learning_rate = 0.1, .first_decay_steps = 7, .t_mul = 1, .m_mul = 0.9, .alpha = 0.1};
        });
  }
  Value at(Scope&, Value step) const {
    Value done = cast(step, DType::float64) / static_cast<double>(first_decay_steps), round;
    if (t_mul == 1) {
      round = floor(done);
      done = done - round;
    } else {
      // Rounds last 1, t, t², … of the first: round n begins at (t^n - 1) / (t - 1).
      round = floor(log(done * (t_mul - 1) + 1.0) / std::log(t_mul));
      Value length = strata::power(full_like(round, t_mul), round);
      done = (done - (length - 1.0) / (t_mul - 1)) / length;
    }
    Value height = strata::power(full_like(round, m_mul), round);
    Value cosine = height * (0.5 * (1.0 + cos(3.14159265358979323846 * done)));
    return cast(initial_learning_rate * ((1 - alpha) * cosine + alpha), DType::float32);
  }
};

inline void register_decay(Registry<Schedule>& r) {
  r.add<PiecewiseConstantDecay>();
  r.add<CosineDecayRestarts>();
  r.add<ExponentialDecay>();
  r.add<InverseTimeDecay>();
  r.add<CosineDecay>();
  r.add<PolynomialDecay>();
}

}  // namespace strata::schedules
