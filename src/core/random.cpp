// SPDX-License-Identifier: Apache-2.0
// Streams, keys, and the normal distribution's quantiles.
#include "core/random.h"

#include "base/text.h"

namespace strata {

std::uint64_t stream_of(std::string_view path) { return hash64(path); }

RandomKey random_key(std::uint64_t seed, std::uint64_t stream) {
  const std::uint64_t mixed = combine64(mix64(seed), stream);
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
}

namespace {

double cumulative(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

}  // namespace

// Newton's method with a second-order term on the distribution itself, from the logistic approximation.
double inverse_normal(double probability) {
  double x = std::log(probability / (1 - probability)) / 1.702;
  for (int i = 0; i < 60; ++i) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * 3.14159265358979323846);
    if (density < 1e-300) break;
    const double error = (cumulative(x) - probability) / density;
    const double step = error / (1 + 0.5 * x * error);
    x -= step;
    if (std::abs(step) < 1e-15 * (1 + std::abs(x))) break;
  }
  return x;
}

double truncated_normal(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t element) {
  const RandomBlock block = random_block(key, step, row, element / 2);
  const std::size_t at = element % 2 * 2;
  const std::uint64_t bits = (std::uint64_t{block[at]} << 32 | block[at + 1]) >> 11;
  const double u = (static_cast<double>(bits) + 0.5) * 0x1p-53;
  static const double low = cumulative(-2), high = cumulative(2);
  return inverse_normal(low + u * (high - low));
}

}  // namespace strata
