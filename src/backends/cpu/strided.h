// SPDX-License-Identifier: Apache-2.0
// Copies between arrays walked in different orders: transposes, slices, reversals, paddings, repetitions.
#pragma once

#include <cstdint>
#include <vector>

namespace strata::cpu {

// One axis of the walk; strides in elements, of either sign. An axis with from = 0 repeats.
struct Stride {
  std::int64_t extent, from, to;
};

// A prepared walk over up to eight axes.
class StridedCopy {
 public:
  StridedCopy(std::vector<Stride> axes, std::int64_t width_bytes);
  void run(const void* from, void* to) const;  // the addresses of the walk's first elements

 private:
  template <class T> void run_as(const T* from, T* to) const;
  template <class T>
  void row(const T* from, T* to) const;  // the innermost axis, or a stripe of the two that are turned

  std::vector<Stride> outer_;  // outermost first
  Stride inner_{1, 1, 1};      // along `to`
  Stride turned_{1, 0, 0};     // along `from`, when that is another axis
  std::int64_t width_, outer_size_ = 1, stripes_ = 1;
};

}  // namespace strata::cpu
