// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/broadcast.h"

#include <algorithm>
#include <array>

namespace strata::cpu {

Broadcast::Broadcast(const Shape& from, const Shape& to) {
  std::int64_t stride = 1;
  std::vector<Axis> inner_first;
  for (int axis = to.rank() - 1, own = from.rank() - 1; axis >= 0; --axis, --own) {
    const std::int64_t extent = to[axis], size = own >= 0 ? from[own] : 1;
    if (extent != 1) {
      const Axis next{extent, size == 1 ? 0 : stride};
      Axis* last = inner_first.empty() ? nullptr : &inner_first.back();
      if (last && next.stride == last->stride * last->extent) {
        last->extent *= extent;
      } else {
        inner_first.push_back(next);
      }
    }
    stride *= size;
  }
  axes_.assign(inner_first.rbegin(), inner_first.rend());
  if (from.size() == 1) {
    kind_ = Kind::scalar;
  } else if (axes_.size() <= 1) {
    kind_ = Kind::full;
  } else if (axes_.size() == 2 && axes_[0].stride == 0 && axes_[1].stride == 1) {
    kind_ = Kind::periodic;
  } else {
    kind_ = Kind::general;
  }
}

Broadcast Broadcast::repeated() {
  Broadcast broadcast;
  broadcast.kind_ = Kind::general;
  return broadcast;
}

template <class T> void Broadcast::copy_as(const T* from, T* to, std::int64_t at, std::int64_t count) const {
  if (axes_.empty()) {
    std::fill_n(to, count, *from);
    return;
  }
  std::array<std::int64_t, Shape::max_rank> index{};
  const std::size_t rank = axes_.size();
  std::int64_t offset = 0;
  for (std::size_t axis = rank; axis-- > 0;) {
    index[axis] = at % axes_[axis].extent;
    at /= axes_[axis].extent;
    offset += index[axis] * axes_[axis].stride;
  }
  const Axis inner = axes_.back();
  while (count > 0) {
    const std::int64_t run = std::min(count, inner.extent - index[rank - 1]);
    if (inner.stride == 0) {
      std::fill_n(to, run, from[offset]);
    } else {
      std::copy_n(from + offset, run, to);
    }
    to += run;
    count -= run;
    offset -= index[rank - 1] * inner.stride;
    index[rank - 1] = 0;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      offset += axes_[axis].stride;
      if (++index[axis] < axes_[axis].extent) break;
      offset -= axes_[axis].extent * axes_[axis].stride;
      index[axis] = 0;
    }
  }
}

void Broadcast::copy(const void* from, void* to, std::int64_t width, std::int64_t at, std::int64_t count) const {
  switch (width) {
    case 1: return copy_as(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), at, count);
    case 2: return copy_as(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to), at, count);
    case 4: return copy_as(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to), at, count);
    default: return copy_as(static_cast<const std::uint64_t*>(from), static_cast<std::uint64_t*>(to), at, count);
  }
}

}  // namespace strata::cpu
