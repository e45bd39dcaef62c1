// SPDX-License-Identifier: Apache-2.0
// Orthogonal matrices, from the QR decomposition of normal numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "strata/initializers/random.h"

namespace strata::initializers {

struct Orthogonal {
  double gain = 1;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("Orthogonal",
                  "A matrix with orthonormal rows or columns, times a gain; all axes but the last are rows. Saxe et "
                  "al., 2014.")
        .alias("orthogonal_initializer")
        .arg("gain", &Orthogonal::gain, "A factor.")
        .arg("seed", &Orthogonal::seed, "A seed of its own.")
        .example(+[] { return Orthogonal{.gain = 0.5}; });
  }
  void make(const Fill& fill, std::span<double> out) const {
    if (fill.shape.rank() < 2)
      throw Error(cat("Orthogonal needs at least two axes, and ", fill.path, " is ", fill.shape));
    const Fill own = seeded(fill, seed);
    const auto columns = static_cast<std::size_t>(fill.shape[-1]),
               rows = out.size() / std::max<std::size_t>(1, columns);
    const std::size_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
    // Gram-Schmidt, twice for rounding, on `narrow` columns of length `tall`; the sign follows R's diagonal, which this
    // keeps positive.
    std::vector<double> q(tall * narrow);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = own.normal(static_cast<std::int64_t>(i));
    auto column = [&](std::size_t c) { return q.data() + c * tall; };
    for (std::size_t c = 0; c < narrow; ++c) {
      for (int twice = 0; twice < 2; ++twice)
        for (std::size_t k = 0; k < c; ++k) {
          double dot = 0;
          for (std::size_t i = 0; i < tall; ++i) dot += column(c)[i] * column(k)[i];
          for (std::size_t i = 0; i < tall; ++i) column(c)[i] -= dot * column(k)[i];
        }
      double norm = 0;
      for (std::size_t i = 0; i < tall; ++i) norm += column(c)[i] * column(c)[i];
      norm = std::sqrt(norm);
      for (std::size_t i = 0; i < tall; ++i) column(c)[i] /= norm;
    }
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        out[r * columns + c] = gain * (rows >= columns ? column(c)[r] : column(r)[c]);
  }
};

inline void register_orthogonal(Registry<Initializer>& r) { r.add<Orthogonal>(); }

}  // namespace strata::initializers
