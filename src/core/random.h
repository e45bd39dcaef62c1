// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of (seed, stream, step, row, element): the same on every device, for any number of
// threads and replicas, and at any time. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace strata {

using RandomKey = std::array<std::uint32_t, 2>;
using RandomBlock = std::array<std::uint32_t, 4>;

std::uint64_t stream_of(std::string_view path);  // a stable hash of what is drawn for
RandomKey random_key(std::uint64_t seed, std::uint64_t stream);

// Ten rounds of Philox: four words for each counter.
inline RandomBlock philox4(RandomKey key, RandomBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0], b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

// The block that holds elements 4k … 4k+3 of a row: k = element / 4. A row has at most 2^34 elements.
inline RandomBlock random_block(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t block) {
  return philox4(key,
                 {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(step),
                  static_cast<std::uint32_t>(step >> 32) ^ static_cast<std::uint32_t>(row >> 32)});
}

inline float word_to_uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }  // [0, 1)

// Box and Muller: two words give two normal numbers.
inline std::array<double, 2> words_to_normal(std::uint32_t first, std::uint32_t second) {
  const double u = (static_cast<double>(first >> 8) + 1) * 0x1p-24;  // (0, 1]
  const double radius = std::sqrt(-2 * std::log(u)),
               angle = 6.283185307179586 * (static_cast<double>(second >> 8) * 0x1p-24);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

inline std::uint32_t random_word(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t element) {
  return random_block(key, step, row, element / 4)[element % 4];
}
inline double uniform(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t element) {
  return static_cast<double>(word_to_uniform(random_word(key, step, row, element)));
}
// Elements 2k and 2k+1 share a pair of words: the even one takes the cosine.
inline double normal(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t element) {
  const RandomBlock block = random_block(key, step, row, element / 4);
  const std::size_t pair = element % 4 / 2 * 2;
  return words_to_normal(block[pair], block[pair + 1])[element % 2];
}

// The standard normal cut at two standard deviations, by the inverse of its distribution. 53 bits from two words.
double truncated_normal(RandomKey key, std::uint64_t step, std::uint64_t row, std::uint64_t element);
double truncated_quantile(double u);  // of that distribution, for u in (0, 1); error 1e-15

}  // namespace strata
