// SPDX-License-Identifier: Apache-2.0
// Philox for sixteen counters at once: the same words as core/random.h.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/kernels/simd/vectors.h"

namespace strata::cpu {
namespace {

using Unsigned = std::uint32_t __attribute__((vector_size(64)));
using Longs = std::uint64_t __attribute__((vector_size(64)));

// Products of the low halves of 64-bit elements. Compilers would multiply the whole.
inline void multiply_low(const Longs& a, const Longs& b, Longs& product) {
#if defined(__AVX512F__)
  product =
      reinterpret_cast<Longs>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  __m256i halves_a[2], halves_b[2];
  std::memcpy(halves_a, &a, sizeof a);
  std::memcpy(halves_b, &b, sizeof b);
  for (int i = 0; i < 2; ++i) halves_a[i] = _mm256_mul_epu32(halves_a[i], halves_b[i]);
  std::memcpy(&product, halves_a, sizeof product);
#else
  product = (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU);
#endif
}

// High and low words of all products with one factor: those of even and of odd elements are made apart.
inline void multiply_wide(const Unsigned& a, std::uint32_t factor, Unsigned& high, Unsigned& low) {
  constexpr std::uint64_t low_words = 0xFFFFFFFFU;
  const Longs all = reinterpret_cast<Longs>(a), factors = Longs{} + factor;
  Longs even, odd;
  multiply_low(all, factors, even);
  multiply_low(all >> 32, factors, odd);
  const Longs highs = (even >> 32) | (odd & ~low_words), lows = (even & low_words) | (odd << 32);
  high = reinterpret_cast<Unsigned>(highs);
  low = reinterpret_cast<Unsigned>(lows);
}

inline void philox_blocks(RandomKey key, const PhiloxCounters& counters, std::uint32_t* words) {
  Unsigned c0, c1, c2, c3;
  load_vector(counters.block, c0);
  load_vector(counters.row_low, c1);
  load_vector(counters.row_high, c3);
  c2 = Unsigned{} + static_cast<std::uint32_t>(counters.step);
  c3 ^= static_cast<std::uint32_t>(counters.step >> 32);
  std::uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    Unsigned high_a, low_a, high_b, low_b;
    multiply_wide(c0, 0xD2511F53U, high_a, low_a);
    multiply_wide(c2, 0xCD9E8D57U, high_b, low_b);
    c0 = high_b ^ c1 ^ key0;
    c1 = low_b;
    c2 = high_a ^ c3 ^ key1;
    c3 = low_a;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  std::uint32_t planes[4][vector_width];
  store_vector(c0, planes[0]);
  store_vector(c1, planes[1]);
  store_vector(c2, planes[2]);
  store_vector(c3, planes[3]);
  for (std::int64_t i = 0; i < vector_width; ++i) {
    for (int word = 0; word < 4; ++word) words[4 * i + word] = planes[word][i];
  }
}

}  // namespace
}  // namespace strata::cpu
