// SPDX-License-Identifier: Apache-2.0
// Philox for sixteen counters at once: the same words as core/random.h.
#pragma once

#include "backends/cpu/kernels/simd/loops.h"

namespace strata::cpu {
namespace {

constexpr int philox_lanes = 16;

inline void philox_blocks(RandomKey key, const PhiloxCounters& counters, std::uint32_t* words) {
  std::uint32_t c0[philox_lanes], c1[philox_lanes], c2[philox_lanes], c3[philox_lanes];
  for (int i = 0; i < philox_lanes; ++i) {
    c0[i] = counters.block[i];
    c1[i] = counters.row_low[i];
    c2[i] = static_cast<std::uint32_t>(counters.step);
    c3[i] = static_cast<std::uint32_t>(counters.step >> 32) ^ counters.row_high[i];
  }
  std::uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < philox_lanes; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53U} * c0[i], b = std::uint64_t{0xCD9E8D57U} * c2[i];
      const std::uint32_t next0 = static_cast<std::uint32_t>(b >> 32) ^ c1[i] ^ key0;
      const std::uint32_t next2 = static_cast<std::uint32_t>(a >> 32) ^ c3[i] ^ key1;
      c0[i] = next0;
      c1[i] = static_cast<std::uint32_t>(b);
      c2[i] = next2;
      c3[i] = static_cast<std::uint32_t>(a);
    }
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  for (int i = 0; i < philox_lanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace
}  // namespace strata::cpu
