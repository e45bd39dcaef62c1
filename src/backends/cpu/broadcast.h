// SPDX-License-Identifier: Apache-2.0
// How a smaller array is repeated to fill a larger one, reduced to as few axes as describe it.
#pragma once

#include <vector>

#include "strata/shape.h"

namespace strata::cpu {

class Broadcast {
 public:
  enum class Kind {
    full,      // element by element
    scalar,    // one element
    periodic,  // the whole array over and over: a bias over the last axes
    general,
  };

  Broadcast() = default;
  Broadcast(const Shape& from, const Shape& to);  // `from` must broadcast to `to`
  static Broadcast repeated();                    // one element, whatever the size, as a general one

  Kind kind() const { return kind_; }
  std::int64_t period() const { return axes_.back().extent; }  // of a periodic one

  // Elements [at, at + count) of the repeated array, each `width` bytes (1, 2, 4 or 8).
  void copy(const void* from, void* to, std::int64_t width, std::int64_t at, std::int64_t count) const;

 private:
  struct Axis {
    std::int64_t extent, stride;
  };
  template <class T> void copy_as(const T* from, T* to, std::int64_t at, std::int64_t count) const;

  std::vector<Axis> axes_;  // outermost first
  Kind kind_ = Kind::full;
};

}  // namespace strata::cpu
