// SPDX-License-Identifier: Apache-2.0
// An array around one axis, and element types by dtype.
#pragma once

#include "strata/dtype.h"

namespace strata::cpu {

// [outer, length, inner]
struct AxisView {
  std::int64_t outer, length, inner;
  AxisView(const Shape& shape, std::int64_t around)
      : outer(shape.slice(0, shape.axis(static_cast<int>(around))).size()),
        length(shape[static_cast<int>(around)]),
        inner(shape.slice(shape.axis(static_cast<int>(around)) + 1, shape.rank()).size()) {}
};

// Calls f(T{}) with the C++ type of the dtype's elements; false where there is none to compute with (16-bit floats).
template <class F> bool with_element(DType dtype, F f) {
  switch (dtype) {
    case DType::float32: f(float{}); return true;
    case DType::float64: f(double{}); return true;
    case DType::int32: f(std::int32_t{}); return true;
    case DType::int64: f(std::int64_t{}); return true;
    case DType::uint8: f(std::uint8_t{}); return true;
    default: return false;
  }
}

// Integers of any width, read one by one.
inline std::int64_t integer_at(const void* from, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::int32: return static_cast<const std::int32_t*>(from)[i];
    case DType::int64: return static_cast<const std::int64_t*>(from)[i];
    default: return static_cast<const std::uint8_t*>(from)[i];
  }
}

}  // namespace strata::cpu
