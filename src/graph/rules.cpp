// SPDX-License-Identifier: Apache-2.0
// Shared pieces of the ops' definitions.
#include "graph/rules.h"

namespace strata::rules {

Types same(const Inference& in) { return {in.inputs[0]}; }

Types along_axis(const Inference& in) {
  (void)in.inputs[0].shape.axis(static_cast<int>(in.attributes.as<Axis>().axis));
  return {in.inputs[0]};
}

bool repeats(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i)
    if (from[-i] != to[-i] && from[-i] != 1) return false;
  return true;
}

void want_same_dtype(const Inference& in, std::string_view op) {
  for (const Type& type : in.inputs)
    if (type && in.inputs[0] && type.dtype != in.inputs[0].dtype)
      throw Error(cat(op, " needs one dtype: a ", in.inputs[0], ", b ", type, "; cast one of them"));
}

Types broadcast(const Inference& in, std::string_view op) {
  want_same_dtype(in, op);
  Type type = in.inputs[0];
  for (const Type& other : in.inputs) {
    if (!other) throw Error(cat(op, " needs all its operands; one is a null value"));
    type.shape = broadcast(type.shape, other.shape, op);
  }
  return {type};
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view op) {
  try {
    return strata::broadcast(a, b);
  } catch (const Error&) {
    throw Error(cat(op, " needs shapes that broadcast: a ", a, ", b ", b));
  }
}

void want_rank(const Type& type, int rank, std::string_view op, std::string_view input) {
  if (type.shape.rank() != rank) throw Error(cat(op, " needs ", input, " of rank ", rank, ", got ", type.shape));
}

void want_floating(const Type& type, std::string_view op, std::string_view input) {
  if (!is_floating(type.dtype)) throw Error(cat(op, " needs a floating ", input, ", got ", type, "; cast it"));
}

BroadcastIndex::BroadcastIndex(const Shape& in, const Shape& out) : rank_(out.rank()) {
  const auto own = rules::strides(in);
  for (int k = 1; k <= rank_; ++k) {
    const auto at = static_cast<std::size_t>(rank_ - k);
    extents_[at] = static_cast<std::size_t>(out[-k]);
    strides_[at] = k <= in.rank() && in[-k] != 1 ? own[static_cast<std::size_t>(in.rank() - k)] : 0;
  }
}

std::size_t BroadcastIndex::operator()(std::size_t i) const {
  std::size_t at = 0;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    at += i % extents_[a] * strides_[a];
    i /= extents_[a];
  }
  return at;
}

std::array<std::size_t, Shape::max_rank> strides(const Shape& shape) {
  std::array<std::size_t, Shape::max_rank> result{};
  std::size_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    result[static_cast<std::size_t>(axis)] = step;
    step *= static_cast<std::size_t>(shape[axis]);
  }
  return result;
}

std::array<std::int64_t, Shape::max_rank> coordinates(const Shape& shape, std::size_t i) {
  std::array<std::int64_t, Shape::max_rank> result{};
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    result[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(i % extent);
    i /= extent;
  }
  return result;
}

AxisView::AxisView(const Shape& shape, int axis) {
  const int at = shape.axis(axis);
  for (int i = 0; i < shape.rank(); ++i) {
    auto& part = i < at ? outer : i > at ? inner : length;
    part *= static_cast<std::size_t>(shape[i]);
  }
}

OpExample::Input floats(const Shape& shape, double low, double high) { return {{shape, DType::float32}, low, high}; }
OpExample::Input integers(const Shape& shape, double low, double high, DType dtype) {
  return {{shape, dtype}, low, high};
}
OpExample::Input bools(const Shape& shape) { return {{shape, DType::boolean}, 0, 2}; }

}  // namespace strata::rules
