// SPDX-License-Identifier: Apache-2.0
// Sixteen floats at once, for loops that compilers do not see through: one register with AVX-512, several elsewhere.
#pragma once

#include <cstdint>
#include <cstring>

namespace strata::cpu {
namespace {

constexpr std::int64_t vector_width = 16;
using Floats = float __attribute__((vector_size(64)));
using Words = std::int32_t __attribute__((vector_size(64)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));
using Shorts = std::uint16_t __attribute__((vector_size(32)));

template <class Vector> inline void load_vector(const void* from, Vector& to) {
  std::memcpy(&to, from, sizeof(Vector));
}
template <class Vector> inline void store_vector(const Vector& from, void* to) {
  std::memcpy(to, &from, sizeof(Vector));
}

inline void widen(const Bytes& from, Words& to) { to = __builtin_convertvector(from, Words); }
inline void widen(const Shorts& from, Words& to) { to = __builtin_convertvector(from, Words); }
inline void narrow(const Words& from, Bytes& to) { to = __builtin_convertvector(from, Bytes); }
inline void narrow(const Words& from, Shorts& to) { to = __builtin_convertvector(from, Shorts); }

}  // namespace
}  // namespace strata::cpu
