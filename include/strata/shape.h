// SPDX-License-Identifier: Apache-2.0
// The extents of a tensor: a small value, always concrete, never "unknown".
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace strata {

// Up to eight extents, outermost first. Axes count from the end when negative: shape[-1] is the innermost extent.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);  // Error: rank above max_rank, or a negative extent

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(this->axis(axis))]; }
  std::int64_t size() const;  // the product of the extents; 1 for a scalar
  int axis(int axis) const;   // the axis counted from the front; Error when there is none
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }
  std::span<const std::int64_t> extents() const { return {begin(), end()}; }

  Shape with(int axis, std::int64_t extent) const;  // one extent replaced
  Shape without(int axis) const;                    // one axis removed
  Shape prepend(std::int64_t extent) const;         // [extent, …this]
  Shape append(std::int64_t extent) const;          // […this, extent]
  Shape slice(int begin, int end) const;            // axes begin … end-1

  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  std::int8_t rank_ = 0;
};

std::string to_text(const Shape& shape);  // "[128, 7, 7, 32]"

// The common shape of two under NumPy's broadcasting, or an Error that names both.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace strata
