// SPDX-License-Identifier: Apache-2.0
// Element types, and Type = Shape + DType.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "strata/shape.h"

namespace strata {

// `opaque` is memory whose format only the kernel that wrote it and its gradient know; `none` stands for "no value".
enum class DType : std::uint8_t { none, float32, float16, bfloat16, float64, int32, int64, uint8, boolean, opaque };

std::size_t size_of(DType dtype);  // bytes of one element; 0 for none and opaque
bool is_floating(DType dtype);
bool is_integer(DType dtype);              // int32, int64, uint8
std::string to_text(DType dtype);          // "float32"; boolean is "bool"
DType dtype_named(std::string_view name);  // Error with the nearest name

float float16_to_float(std::uint16_t bits);
std::uint16_t float_to_float16(float value);  // to nearest, ties to even
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);  // to nearest, ties to even; NaN stays NaN
double round_to(DType dtype, double value);    // the value as that type would hold it (integers truncate)

// What a tensor is, apart from its contents.
struct Type {
  Shape shape;
  DType dtype = DType::none;

  std::int64_t size() const { return shape.size(); }
  std::size_t bytes() const { return static_cast<std::size_t>(shape.size()) * size_of(dtype); }
  explicit operator bool() const { return dtype != DType::none; }
  bool operator==(const Type&) const = default;
};

std::string to_text(const Type& type);  // "float32[128, 10]"

}  // namespace strata
