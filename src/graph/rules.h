// SPDX-License-Identifier: Apache-2.0
// What the ops' definitions share: types checked, shapes walked, attributes named once.
#pragma once

#include <array>
#include <functional>

#include "graph/shard.h"
#include "strata/error.h"
#include "strata/ops.h"

namespace strata::rules {

// The only or first input's type.
Types same(const Inference&);
// All inputs of one dtype; their broadcast shape. Error names the op through what Graph adds.
Types broadcast(const Inference&, std::string_view op);
// The input's type, for an op along an axis of it that must be there.
Types along_axis(const Inference&);
// Whether broadcasting makes `to` of `from`.
bool repeats(const Shape& from, const Shape& to);
Shape broadcast(const Shape& a, const Shape& b, std::string_view op);
void want_same_dtype(const Inference&, std::string_view op);
void want_rank(const Type& type, int rank, std::string_view op, std::string_view input);
void want_floating(const Type& type, std::string_view op, std::string_view input);

// Where element `i` of an array of shape `out` is found in one of shape `in` that broadcasts to it.
class BroadcastIndex {
 public:
  BroadcastIndex(const Shape& in, const Shape& out);
  std::size_t operator()(std::size_t i) const;

 private:
  int rank_ = 0;
  std::array<std::size_t, Shape::max_rank> extents_{}, strides_{};
};

// Row-major strides of a shape.
std::array<std::size_t, Shape::max_rank> strides(const Shape& shape);
// The coordinates of element i.
std::array<std::int64_t, Shape::max_rank> coordinates(const Shape& shape, std::size_t i);

// An array seen as [outer, length, inner] around one axis.
struct AxisView {
  std::size_t outer = 1, length = 1, inner = 1;
  AxisView(const Shape& shape, int axis);
};

OpExample::Input floats(const Shape& shape, double low = -1, double high = 1);
OpExample::Input integers(const Shape& shape, double low, double high, DType dtype = DType::int32);
OpExample::Input bools(const Shape& shape);

}  // namespace strata::rules
