// SPDX-License-Identifier: Apache-2.0
// Arrays of made-up numbers for tests, the same every time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "strata/graph.h"

namespace strata::test {

// A cheap sequence in [0, 1).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

inline Array drawn(const OpExample::Input& input, std::uint64_t seed) {
  Array array(input.type.shape);
  Numbers numbers(seed);
  for (int i = 0; i < 8; ++i) numbers.next();
  for (double& value : array.data) {
    value = input.low + (input.high - input.low) * numbers.next();
    if (!is_floating(input.type.dtype)) value = std::floor(value);
  }
  return array;
}

inline Array uniform(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  return drawn({{shape, DType::float64}, low, high}, seed);
}

// The largest difference, relative to the larger of 1 and the values; infinite when the shapes differ.
inline double difference(const Array& a, const Array& b) {
  if (!(a.shape == b.shape)) return HUGE_VAL;
  double most = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (std::isnan(a.data[i]) && std::isnan(b.data[i])) continue;
    if (a.data[i] == b.data[i]) continue;
    most = std::max(most, std::abs(a.data[i] - b.data[i]) / std::max({1.0, std::abs(a.data[i]), std::abs(b.data[i])}));
    if (std::isnan(a.data[i]) != std::isnan(b.data[i])) return HUGE_VAL;
  }
  return most;
}

}  // namespace strata::test
