// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata {
namespace {

// Kolmogorov and Smirnov's distance of sorted samples from a distribution.
template <class F> double distance(std::vector<double> samples, F cumulative) {
  std::sort(samples.begin(), samples.end());
  double most = 0;
  const auto n = static_cast<double>(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double at = cumulative(samples[i]);
    most = std::max({most, std::abs(at - static_cast<double>(i) / n), std::abs(at - static_cast<double>(i + 1) / n)});
  }
  return most;
}

double normal_cumulative(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST_CASE("Philox gives its authors' known answers") {
  CHECK(philox4({0, 0}, {0, 0, 0, 0}) == RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("numbers are the same for ever") {
  const RandomKey key = random_key(42, stream_of("dense/dropout"));
  CHECK(key == random_key(42, stream_of("dense/dropout")));
  CHECK(random_word(key, 3, 5, 7) == random_block(key, 3, 5, 1)[3]);
  CHECK(random_word(key, 3, 5, 7) == philox4(key, {1, 5, 3, 0})[3]);
  CHECK(random_word(key, std::uint64_t{6} << 32, std::uint64_t{3} << 32, 0) == philox4(key, {0, 0, 0, 5})[0]);
  CHECK(key == RandomKey{0xad60894e, 0x2fe4869c});
}

TEST_CASE("seed, stream, step, row and element each matter") {
  const std::uint64_t stream = stream_of("a");
  const auto word = [&](std::uint64_t seed, std::uint64_t s, std::uint64_t step, std::uint64_t row,
                        std::uint64_t element) { return random_word(random_key(seed, s), step, row, element); };
  const std::uint32_t first = word(1, stream, 0, 0, 0);
  CHECK(word(2, stream, 0, 0, 0) != first);
  CHECK(word(1, stream_of("b"), 0, 0, 0) != first);
  CHECK(word(1, stream, 1, 0, 0) != first);
  CHECK(word(1, stream, 0, 1, 0) != first);
  CHECK(word(1, stream, 0, 0, 1) != first);
  CHECK(word(1, stream, 0, std::uint64_t{1} << 32, 0) != first);
}

TEST_CASE("uniform numbers lie in [0, 1) and are evenly spread") {
  CHECK(word_to_uniform(0) == 0);
  CHECK(word_to_uniform(0xffffffff) == 1 - 0x1p-24f);
  const RandomKey key = random_key(1, stream_of("uniform"));
  std::vector<double> samples;
  for (std::uint64_t row = 0; row < 100; ++row)
    for (std::uint64_t element = 0; element < 200; ++element) samples.push_back(uniform(key, 9, row, element));
  CHECK(distance(samples, [](double x) { return x; }) < 1.63 / std::sqrt(20000.0));  // 1 % level
}

TEST_CASE("normal numbers come in pairs from one radius") {
  const RandomKey key = random_key(1, stream_of("normal"));
  const RandomBlock block = random_block(key, 0, 0, 0);
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(block[2] >> 8) + 1) * 0x1p-24));
  CHECK(std::hypot(normal(key, 0, 0, 2), normal(key, 0, 0, 3)) == doctest::Approx(radius));
  CHECK(std::isfinite(words_to_normal(0, 0)[0]));
  CHECK(words_to_normal(0xffffffff, 77)[0] == 0);
  std::vector<double> samples;
  for (std::uint64_t row = 0; row < 100; ++row)
    for (std::uint64_t element = 0; element < 200; ++element) samples.push_back(normal(key, 4, row, element));
  CHECK(distance(samples, normal_cumulative) < 1.63 / std::sqrt(20000.0));
}

TEST_CASE("the cut normal's quantiles invert its distribution") {
  const double low = normal_cumulative(-2), high = normal_cumulative(2);
  for (int i = 1; i < 1000; ++i) {
    const double u = i / 1000.0, x = truncated_quantile(u);
    CHECK(std::abs((normal_cumulative(x) - low) / (high - low) - u) < 2e-15);
  }
  CHECK(truncated_quantile(0.5) == 0);
  CHECK(truncated_quantile(0x1p-54) >= -2);
  CHECK(truncated_quantile(0x1p-54) == doctest::Approx(-2).epsilon(1e-14));
  CHECK(truncated_quantile(1 - 0x1p-53) <= 2);
}

TEST_CASE("cut normal numbers have the known variance and no tails") {
  const RandomKey key = random_key(1, stream_of("truncated"));
  std::vector<double> samples;
  double sum = 0, squares = 0;
  for (std::uint64_t element = 0; element < 20000; ++element) {
    const double x = truncated_normal(key, 0, 0, element);
    CHECK(std::abs(x) <= 2);
    samples.push_back(x);
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 20000) < 0.02);
  CHECK(squares / 20000 == doctest::Approx(0.77374130354992325).epsilon(0.02));
  const double low = normal_cumulative(-2), high = normal_cumulative(2);
  CHECK(distance(samples, [=](double x) { return (normal_cumulative(x) - low) / (high - low); }) <
        1.63 / std::sqrt(20000.0));
}

}  // namespace
}  // namespace strata
