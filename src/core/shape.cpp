// SPDX-License-Identifier: Apache-2.0
// Shapes: axes from both ends, broadcasting.
#include "strata/shape.h"

#include <algorithm>

#include "strata/error.h"

namespace strata {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) throw Error(cat("a shape has at most ", max_rank, " axes, got ", extents.size()));
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw Error(cat("a shape's extents are at least 0, got ", extent));
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

std::int64_t Shape::size() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents())
    if (__builtin_mul_overflow(product, extent, &product))
      throw Error(cat("shape ", *this, " has more elements than fit a number"));
  return product;
}

int Shape::axis(int axis) const {
  const int from_front = axis < 0 ? axis + rank_ : axis;
  if (from_front < 0 || from_front >= rank_) throw Error(cat("shape ", *this, " has no axis ", axis));
  return from_front;
}

Shape Shape::with(int axis, std::int64_t extent) const {
  Shape changed = *this;
  changed.extents_[static_cast<std::size_t>(this->axis(axis))] = extent;
  return Shape(changed.extents());
}

Shape Shape::without(int axis) const {
  const int gone = this->axis(axis);
  Shape changed;
  for (int i = 0; i < rank_; ++i)
    if (i != gone) changed = changed.append((*this)[i]);
  return changed;
}

Shape Shape::prepend(std::int64_t extent) const {
  std::array<std::int64_t, max_rank + 1> all{extent};
  std::copy(begin(), end(), all.begin() + 1);
  return Shape(std::span(all.data(), static_cast<std::size_t>(rank_) + 1));
}

Shape Shape::append(std::int64_t extent) const {
  std::array<std::int64_t, max_rank + 1> all{};
  std::copy(begin(), end(), all.begin());
  all[static_cast<std::size_t>(rank_)] = extent;
  return Shape(std::span(all.data(), static_cast<std::size_t>(rank_) + 1));
}

Shape Shape::slice(int begin, int end) const {
  if (begin < 0 || end > rank_ || begin > end) throw Error(cat("shape ", *this, " has no axes ", begin, " to ", end));
  return Shape(extents().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(extents(), other.extents()); }

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape common = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    if (shorter[-i] == common[-i] || shorter[-i] == 1) continue;
    if (common[-i] != 1)
      throw Error(cat("shapes ", a, " and ", b, " do not broadcast: ", a[-i], " and ", b[-i], " on axis ", -i));
    common = common.with(-i, shorter[-i]);
  }
  return common;
}

}  // namespace strata
