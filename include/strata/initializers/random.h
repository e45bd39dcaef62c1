// SPDX-License-Identifier: Apache-2.0
// Initializers that draw each number by itself. An explicit seed makes a stream of its own: equal seeds, equal numbers.
#pragma once

#include <algorithm>
#include <cmath>

#include "strata/initializer.h"

namespace strata::initializers {

// With a seed of its own, an initializer draws the same numbers wherever it is used.
inline Fill seeded(const Fill& fill, const Optional<std::int64_t>& seed) {
  if (!seed) return fill;
  Fill own = fill;
  own.seed = static_cast<std::uint64_t>(*seed);
  own.path = "seed";
  return own;
}

struct RandomNormal {
  double mean = 0, stddev = 0.05;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("RandomNormal", "Normally distributed numbers.")
        .alias("normal")
        .arg("mean", &RandomNormal::mean, "Their mean.")
        .arg("stddev", &RandomNormal::stddev, "Their standard deviation.", at_least(0))
        .arg("seed", &RandomNormal::seed, "A seed of its own.")
        .example(+[] { return RandomNormal{.mean = 1, .stddev = 0.1}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    const Fill own = seeded(fill, seed);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = mean + stddev * own.normal(static_cast<std::int64_t>(i));
  }
};

struct RandomUniform {
  double minval = -0.05, maxval = 0.05;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("RandomUniform", "Evenly distributed numbers.")
        .alias("uniform")
        .arg("minval", &RandomUniform::minval, "The least.")
        .arg("maxval", &RandomUniform::maxval, "The largest.")
        .arg("seed", &RandomUniform::seed, "A seed of its own.")
        .example(+[] { return RandomUniform{.minval = 0, .maxval = 1}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    const Fill own = seeded(fill, seed);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = minval + (maxval - minval) * own.uniform(static_cast<std::int64_t>(i));
  }
};

struct TruncatedNormal {
  double mean = 0, stddev = 0.05;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("TruncatedNormal", "Normally distributed numbers within two standard deviations.")
        .arg("mean", &TruncatedNormal::mean, "Their mean.")
        .arg("stddev", &TruncatedNormal::stddev, "Standard deviation before the cut.", at_least(0))
        .arg("seed", &TruncatedNormal::seed, "A seed of its own.")
        .example(+[] { return TruncatedNormal{.mean = 1, .stddev = 0.1}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    const Fill own = seeded(fill, seed);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = mean + stddev * own.truncated_normal(static_cast<std::int64_t>(i));
  }
};

// Fills with variance scale / fan, in one of three distributions. What Glorot, He and Lecun are made of.
inline void scaled(const Fill& fill, double scale, std::string_view mode, std::string_view distribution,
                   std::span<double> out) {
  const auto [in, outwards] = fill.fans();
  const double fan = mode == "fan_in"    ? in
                     : mode == "fan_out" ? outwards
                                         : (in + outwards) / 2,
               variance = scale / std::max(1.0, fan);
  // The cut normal has a smaller deviation than the normal it is cut from.
  const double cut = std::sqrt(variance) / 0.87962566103423978, plain = std::sqrt(variance),
               limit = std::sqrt(3 * variance);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    out[i] = distribution == "uniform"            ? limit * (2 * fill.uniform(element) - 1)
             : distribution == "truncated_normal" ? cut * fill.truncated_normal(element)
                                                  : plain * fill.normal(element);
  }
}

struct VarianceScaling {
  double scale = 1;
  std::string mode = "fan_in", distribution = "truncated_normal";
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("VarianceScaling", "Numbers whose variance is scale / fan.")
        .arg("scale", &VarianceScaling::scale, "The numerator.", above(0))
        .arg("mode", &VarianceScaling::mode, "Which fan.", one_of({"fan_in", "fan_out", "fan_avg"}))
        .arg("distribution", &VarianceScaling::distribution, "Of the numbers.",
             one_of({"truncated_normal", "untruncated_normal", "uniform"}))
        .arg("seed", &VarianceScaling::seed, "A seed of its own.")
        .example(+[] { return VarianceScaling{.scale = 2, .mode = "fan_avg", .distribution = "uniform"}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    scaled(seeded(fill, seed), scale, mode, distribution, out);
  }
};

struct GlorotUniform {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("GlorotUniform", "Even numbers within sqrt(6 / (fan in + fan out)) of 0. Glorot and Bengio, 2010.")
        .arg("seed", &GlorotUniform::seed, "A seed of its own.")
        .example(+[] { return GlorotUniform{}; });
  }
  void make(const Fill& fill, std::span<double> out) const { scaled(seeded(fill, seed), 1, "fan_avg", "uniform", out); }
};

struct GlorotNormal {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("GlorotNormal", "Cut normal numbers of variance 2 / (fan in + fan out). Glorot and Bengio, 2010.")
        .arg("seed", &GlorotNormal::seed, "A seed of its own.")
        .example(+[] { return GlorotNormal{}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    scaled(seeded(fill, seed), 1, "fan_avg", "truncated_normal", out);
  }
};

struct HeUniform {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("HeUniform", "Even numbers within sqrt(6 / fan in) of 0. He et al., 2015.")
        .arg("seed", &HeUniform::seed, "A seed of its own.")
        .example(+[] { return HeUniform{}; });
  }
  void make(const Fill& fill, std::span<double> out) const { scaled(seeded(fill, seed), 2, "fan_in", "uniform", out); }
};

struct HeNormal {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("HeNormal", "Cut normal numbers of variance 2 / fan in. He et al., 2015.")
        .arg("seed", &HeNormal::seed, "A seed of its own.")
        .example(+[] { return HeNormal{.seed = 3}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    scaled(seeded(fill, seed), 2, "fan_in", "truncated_normal", out);
  }
};

struct LecunUniform {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("LecunUniform", "Even numbers within sqrt(3 / fan in) of 0.")
        .arg("seed", &LecunUniform::seed, "A seed of its own.")
        .example(+[] { return LecunUniform{}; });
  }
  void make(const Fill& fill, std::span<double> out) const { scaled(seeded(fill, seed), 1, "fan_in", "uniform", out); }
};

struct LecunNormal {
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("LecunNormal", "Cut normal numbers of variance 1 / fan in.")
        .arg("seed", &LecunNormal::seed, "A seed of its own.")
        .example(+[] { return LecunNormal{}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    scaled(seeded(fill, seed), 1, "fan_in", "truncated_normal", out);
  }
};

inline void register_random(Registry<Initializer>& r) {
  r.add<RandomNormal>();
  r.add<RandomUniform>();
  r.add<TruncatedNormal>();
  r.add<VarianceScaling>();
  r.add<GlorotUniform>();
  r.add<GlorotNormal>();
  r.add<HeUniform>();
  r.add<HeNormal>();
  r.add<LecunUniform>();
  r.add<LecunNormal>();
}

}  // namespace strata::initializers
