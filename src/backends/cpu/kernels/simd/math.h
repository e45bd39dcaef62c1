// SPDX-License-Identifier: Apache-2.0
// Functions of one float that compilers turn into vectors: no branches, no calls. Polynomials are Chebyshev fits;
// results are within a few units in the last place. Each instruction set compiles its own copy, hence the unnamed
// namespace.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace strata::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;  // the first has 12 trailing zero bits

inline float smaller(float a, float b) { return a < b ? a : b; }
inline float larger(float a, float b) { return a > b ? a : b; }
inline float power_of_two(std::int32_t exponent) { return std::bit_cast<float>((exponent + 127) << 23); }

// x = count ln 2 + rest, |rest| <= ln 2 / 2; the number added and taken off again rounds to a whole number.
struct Exponent {
  float rest;
  std::int32_t count;
};
inline Exponent split_exponent(float x) {
  constexpr float rounder = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x * 1.44269504f + rounder;
  const float count = shifted - rounder;
  return {(x - count * ln2_high) - count * ln2_low,
          std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder)};
}
// (e^r - 1 - r) / r^2
inline float exp_tail(float r) {
  return 0.5f + r * (0.1666657703f + r * (0.04166655466f + r * (0.008363173075f + r * 0.001392617612f)));
}

inline float exp_of(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const Exponent e = split_exponent(x);
  const float value = 1.0f + (e.rest + e.rest * e.rest * exp_tail(e.rest));
  const std::int32_t half = e.count >> 1;  // in two steps: 2^128 is no float
  return value * power_of_two(half) * power_of_two(e.count - half);
}

inline float expm1_of(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -40.0f ? -40.0f : x;
  const Exponent e = split_exponent(x);
  const float scale = power_of_two(e.count - 1);  // half of it, for the same reason
  const float tail = e.rest + e.rest * e.rest * exp_tail(e.rest);
  const float value = (scale * tail + (scale - 0.5f)) * 2.0f;
  return x == 0 ? x : value;
}

// ln(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1, beside its leading f
inline float log_tail(float f) {
  const float p =
      0.3333333118f +
      f * (-0.2499999696f +
           f * (0.2000071575f +
                f * (-0.1666780232f +
                     f * (0.1424905765f +
                          f * (-0.1242568733f + f * (0.1168541992f + f * (-0.1147973385f + f * 0.06971611471f)))))));
  return f * f * (f * p - 0.5f);
}

inline float log_of(float x) {
  constexpr std::int32_t root_half = 0x3f3504f3;
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t count = (bits - root_half) >> 23;
  const float f = std::bit_cast<float>(bits - count * (1 << 23)) - 1.0f;
  const float k = static_cast<float>(count);
  float value = k * ln2_high + (f + (log_tail(f) + k * ln2_low));
  value = x == infinity ? infinity : value;
  value = x < std::numeric_limits<float>::min() ? -infinity : value;
  return x < 0 || x != x ? std::numeric_limits<float>::quiet_NaN() : value;
}

inline float log1p_of(float x) {
  const float u = 1.0f + x, rounded = u - 1.0f;
  const float value = log_of(u) * (x / rounded);  // what rounding took from u is given back in proportion
  return rounded == 0 || x == infinity ? x : value;
}

inline float tanh_of(float x) {
  const float size = std::fabs(x);
  const float e = expm1_of(-2.0f * size);
  return std::copysign(-e / (2.0f + e), x);
}

inline float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }

inline float softplus_of(float x) {
  const float e = exp_of(-std::fabs(x)), u = 1.0f + e;
  return larger(x, 0.0f) + (log_of(u) + (e - (u - 1.0f)) / u);
}

inline float erf_of(float x) {
  const float size = smaller(std::fabs(x), 4.0f), z = size * size;
  const float near =
      size +
      size * (0.1283791658f +
              z * (-0.3761262667f +
                   z * (0.1128359472f + z * (-0.02685421201f +
                                             z * (0.005189087423f + z * (-0.0008016864287f + z * 7.875875063e-5f))))));
  const float exponent =
      0.0003201380497f +
      size * (-1.130233435f +
              size * (-0.6318260516f +
                      size * (-0.1100800829f +
                              size * (0.02642113601f +
                                      size * (-0.004759596293f +
                                              size * (0.0005968056257f +
                                                      size * (-4.605804269e-5f + size * 1.637151415e-6f)))))));
  const float value = size < 1.0f ? near : 1.0f - exp_of(exponent);
  return x != x ? x : std::copysign(value, x);
}

// Sine of x plus that many quarter turns; the reduction is in double, good to |x| = 1e8.
inline float sine_of(float x, std::int64_t quarters) {
  const double wide = static_cast<double>(x);
  constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = wide * 0.63661977236758134308 + rounder;
  const double count = shifted - rounder;
  const float r = static_cast<float>(wide - count * 1.57079632679489661923);
  const std::int32_t quadrant = static_cast<std::int32_t>((std::bit_cast<std::int64_t>(shifted) + quarters) & 3);
  const float z = r * r;
  const float sine = r + r * z * (-0.1666666466f + z * (0.008332748271f + z * -0.0001958789088f));
  const float cosine = 1.0f + z * (-0.5f + z * (0.04166666466f + z * (-0.001388830304f + z * 2.454794208e-5f)));
  const float value = (quadrant & 1) != 0 ? cosine : sine;
  return (quadrant & 2) != 0 ? -value : value;
}

inline float round_of(float x) {
  constexpr float rounder = 8388608.0f;  // 2^23: larger floats are whole
  const float size = std::fabs(x);
  const float rounded = (size + rounder) - rounder;
  return size < rounder ? std::copysign(rounded, x) : x;
}
inline float floor_of(float x) {
  const float rounded = round_of(x);
  return rounded > x ? rounded - 1.0f : rounded;
}

inline std::uint16_t bfloat16_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40 : rounded);
}
inline float of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace
}  // namespace strata::cpu
