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

// x with whole channels dropped: the choice has extent 1 along the axes of space.
inline Value dropped_channels(Scope& s, Value x, double rate, const Shape& choice, const Optional<std::int64_t>& seed) {
  if (!s.training() || rate == 0) return x;
  Value keep = greater_equal(s.random(choice, Distribution::uniform, seed ? std::optional(*seed) : std::nullopt),
                             full(s.graph(), rate));
  return select(keep, x * (1 / (1 - rate)), full_like(x, 0));
}

struct SpatialDropout1D {
  double rate = -1;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("SpatialDropout1D",
                  "Dropout of whole channels of sequences [batch, time, channels]. Tompson et al., 2015.")
        .masking(Schema::Masking::passes)
        .arg("rate", &SpatialDropout1D::rate, "The part that is zeroed.", from_up_to(0, 1))
        .arg("seed", &SpatialDropout1D::seed, "A seed of its own.")
        .example(+[] { return SpatialDropout1D{.rate = 0.3}; }, {{3, 4}});
  }
  Value call(Scope& s, Value x) const {
    if (x.shape().rank() != 3) throw Error(cat("takes sequences [batch, time, channels], got ", x.shape()));
    return dropped_channels(s, x, rate, x.shape().with(1, 1), seed);
  }
};

struct SpatialDropout2D {
  double rate = -1;
  std::string data_format = "channels_last";
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("SpatialDropout2D", "Dropout of whole channels of images. Tompson et al., 2015.")
        .masking(Schema::Masking::passes)
        .arg("rate", &SpatialDropout2D::rate, "The part that is zeroed.", from_up_to(0, 1))
        .arg("data_format", &SpatialDropout2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("seed", &SpatialDropout2D::seed, "A seed of its own.")
        .example(+[] { return SpatialDropout2D{.rate = 0.3}; }, {{2, 3, 4}})
        .example(+[] { return SpatialDropout2D{.rate = 0.3, .data_format = "channels_first"}; }, {{4, 2, 3}});
  }
  Value call(Scope& s, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    const int down = data_format == "channels_first" ? 2 : 1;
    return dropped_channels(s, x, rate, x.shape().with(down, 1).with(down + 1, 1), seed);
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
  r.add<SpatialDropout1D>();
  r.add<SpatialDropout2D>();
  r.add<GaussianNoise>();
  r.add<GaussianDropout>();
  r.add<ActivityRegularization>();
}

}  // namespace strata::layers
