// SPDX-License-Identifier: Apache-2.0
// Noise and penalties while training.
#pragma once

#include <cmath>

#include "strata/layer.h"

namespace strata::layers {

struct Dropout {
  double rate = -1;
  Optional<std::vector<std::int64_t>> noise_shape = {};
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("Dropout",
                  "Zeroes a random part of its input while training, and scales up the rest. Srivastava et al., 2014.")
        .masking(Schema::Masking::passes)
        .arg("rate", &Dropout::rate, "The part that is zeroed.", from_up_to(0, 1))
        .arg("noise_shape", &Dropout::noise_shape,
             "Shape of the choice, with the batch; 1 where it is one for all, -1 for the input's extent.")
        .arg("seed", &Dropout::seed, "A seed of its own.")
        .example(+[] { return Dropout{.rate = 0.25}; }, {{8}})
        .example(
            +[] {
              return Dropout{.rate = 0.5, .noise_shape = std::vector<std::int64_t>{-1, 1, -1}};
            },
            {{3, 4}});
  }
  Value call(Scope& s, Value x) const {
    if (!s.training() || rate == 0) return x;
    Shape shape = x.shape();
    if (noise_shape) {
      if (static_cast<int>(noise_shape->size()) != shape.rank())
        throw Error(cat("noise_shape has ", noise_shape->size(), " extents, the input ", shape));
      for (int i = 0; i < shape.rank(); ++i)
        if ((*noise_shape)[static_cast<std::size_t>(i)] == 1) shape = shape.with(i, 1);
    }
    Value keep = greater_equal(s.random(shape, Distribution::uniform, seed ? std::optional(*seed) : std::nullopt),
                               full(s.graph(), rate));
    return select(keep, x * (1 / (1 - rate)), full_like(x, 0));
  }
};

struct GaussianNoise {
  double stddev = -1;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("GaussianNoise", "Adds zero-centred Gaussian noise while training.")
        .masking(Schema::Masking::passes)
        .arg("stddev", &GaussianNoise::stddev, "Standard deviation of the noise.", between(0, 1))
        .arg("seed", &GaussianNoise::seed, "A seed of its own.")
        .example(+[] { return GaussianNoise{.stddev = 0.2}; }, {{8}});
  }
  Value call(Scope& s, Value x) const {
    if (!s.training() || stddev == 0) return x;
    return x + cast(s.random(x.shape(), Distribution::normal, seed ? std::optional(*seed) : std::nullopt), x.dtype()) *
                   stddev;
  }
};

struct GaussianDropout {
  double rate = -1;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("GaussianDropout", "Multiplies by Gaussian noise of mean 1 while training.")
        .masking(Schema::Masking::passes)
        .arg("rate", &GaussianDropout::rate, "As a dropout of this rate.", from_up_to(0, 1))
        .arg("seed", &GaussianDropout::seed, "A seed of its own.")
        .example(+[] { return GaussianDropout{.rate = 0.3}; }, {{8}});
  }
  Value call(Scope& s, Value x) const {
    if (!s.training() || rate == 0) return x;
    return x * (cast(s.random(x.shape(), Distribution::normal, seed ? std::optional(*seed) : std::nullopt), x.dtype()) *
                    std::sqrt(rate / (1 - rate)) +
                1.0);
  }
};

struct ActivityRegularization {
  double l1 = 0, l2 = 0;
  static Schema schema() {
    return Schema("ActivityRegularization", "A penalty on its input, divided by the rows of the batch.")
        .masking(Schema::Masking::passes)
        .arg("l1", &ActivityRegularization::l1, "The factor of sizes.", at_least(0))
        .arg("l2", &ActivityRegularization::l2, "The factor of squares.", at_least(0))
        .example(+[] { return ActivityRegularization{.l1 = 0.1, .l2 = 0.2}; }, {{3}});
  }
  Value call(Scope& s, Value x) const {
    Value wide = cast(x, x.dtype() == DType::float64 ? DType::float64 : DType::float32);
    s.penalty((sum(absolute(wide)) * l1 + sum(square(wide)) * l2) /
              static_cast<double>(std::max<std::int64_t>(1, s.rows())));
    return x;
  }
};

inline void register_regularization(Registry<Layer>& r) {
  r.add<Dropout>();
  r.add<GaussianNoise>();
  r.add<GaussianDropout>();
  r.add<ActivityRegularization>();
}

}  // namespace strata::layers
