// SPDX-License-Identifier: Apache-2.0
// Initializers that draw nothing: zeros, ones, one number, the identity.
#pragma once

#include <algorithm>

#include "strata/initializer.h"

namespace strata::initializers {

struct Zeros {
  static Schema schema() {
    return Schema("Zeros", "All zeros.").alias("zero").example(+[] { return Zeros{}; });
  }
  void make(const Fill&, std::span<double> out) const { std::ranges::fill(out, 0.0); }
};

struct Ones {
  static Schema schema() {
    return Schema("Ones", "All ones.").alias("one").example(+[] { return Ones{}; });
  }
  void make(const Fill&, std::span<double> out) const { std::ranges::fill(out, 1.0); }
};

struct Constant {
  double value = 0;
  static Schema schema() {
    return Schema("Constant", "One number everywhere.").arg("value", &Constant::value, "The number.").example(+[] {
      return Constant{.value = 0.5};
    });
  }
  void make(const Fill&, std::span<double> out) const { std::ranges::fill(out, value); }
};

struct Identity {
  double gain = 1;
  static Schema schema() {
    return Schema("Identity", "The identity matrix times a gain; matrices only.")
        .alias("identity_initializer")
        .arg("gain", &Identity::gain, "What stands on the diagonal.")
        .example(+[] { return Identity{.gain = 2}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    if (fill.shape.rank() != 2) throw Error(cat("Identity makes matrices only, and ", fill.path, " is ", fill.shape));
    std::ranges::fill(out, 0.0);
    for (std::int64_t i = 0; i < std::min(fill.shape[0], fill.shape[1]); ++i)
      out[static_cast<std::size_t>(i * fill.shape[1] + i)] = gain;
  }
};

inline void register_constant(Registry<Initializer>& r) {
  r.add<Zeros>();
  r.add<Ones>();
  r.add<Constant>();
  r.add<Identity>();
}

}  // namespace strata::initializers
