// SPDX-License-Identifier: Apache-2.0
// Element types and their 16-bit floats.
#include "strata/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

struct Described {
  const char* name;
  std::size_t bytes;
  bool floating, integer;
};
constexpr std::array<Described, 10> described{{{"none", 0, false, false},
                                               {"float32", 4, true, false},
                                               {"float16", 2, true, false},
                                               {"bfloat16", 2, true, false},
                                               {"float64", 8, true, false},
                                               {"int32", 4, false, true},
                                               {"int64", 8, false, true},
                                               {"uint8", 1, false, true},
                                               {"bool", 1, false, false},
                                               {"opaque", 0, false, false}}};

const Described& of(DType dtype) { return described.at(static_cast<std::size_t>(dtype)); }

// To `digits` bits after the leading one, to nearest, ties to even; exponents no lower than `lowest`, infinite above
// `largest`. Works on the double: by way of a float it would be rounded twice.
double rounded(double value, int digits, int lowest, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int quantum = std::max(std::ilogb(value), lowest) - digits;
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::abs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

// Truncated, and kept within the type's range: what lies outside has no right answer, but one. Not-a-number becomes 0.
template <class T> double as_integer(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  const double whole = std::trunc(value);
  if (whole < low) return low;
  if (whole > high) return high;
  return whole;
}

}  // namespace

std::size_t size_of(DType dtype) { return of(dtype).bytes; }
bool is_floating(DType dtype) { return of(dtype).floating; }
bool is_integer(DType dtype) { return of(dtype).integer; }
std::string to_text(DType dtype) { return of(dtype).name; }

DType dtype_named(std::string_view name) {
  std::vector<std::string> known;
  for (std::size_t i = 1; i + 1 < described.size(); ++i) {
    if (name == described[i].name) return static_cast<DType>(i);
    known.emplace_back(described[i].name);
  }
  throw Error(cat("there is no dtype '", name, "'", did_you_mean(name, known), "; dtypes are ", listed(known)));
}

float float16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24F;  // zero and subnormals
  return sign ? -small : small;
}

std::uint16_t float_to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {                                                    // below the least normal, 2^-14
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::float32: return static_cast<double>(static_cast<float>(value));
    case DType::float16: return rounded(value, 10, -14, 65504);
    case DType::bfloat16: return rounded(value, 7, -126, 0x1.fep127);
    case DType::int32: return as_integer<std::int32_t>(value);
    case DType::int64: return as_integer<std::int64_t>(value);
    case DType::uint8: return as_integer<std::uint8_t>(value);
    case DType::boolean: return value != 0;
    default: return value;
  }
}

std::string to_text(const Type& type) { return cat(type.dtype, type.shape); }

}  // namespace strata
