// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/machine.h"

namespace strata::cpu {
namespace {

constexpr std::int64_t stripe =
    32;  // rows of a turned pair of axes that are read together, so that whole lines are used

}  // namespace

StridedCopy::StridedCopy(std::vector<Stride> axes, std::int64_t width_bytes) : width_(width_bytes) {
  std::erase_if(axes, [](const Stride& axis) { return axis.extent == 1; });
  std::vector<Stride> merged;  // neighbours that both sides walk as one
  for (const Stride& axis : axes) {
    if (!merged.empty() && merged.back().from == axis.from * axis.extent && merged.back().to == axis.to * axis.extent) {
      merged.back() = {merged.back().extent * axis.extent, axis.from, axis.to};
    } else {
      merged.push_back(axis);
    }
  }
  if (!merged.empty()) {
    inner_ = merged.back();
    merged.pop_back();
  }
  if (inner_.from != 1 && inner_.from != 0) {
    const auto along = std::find_if(merged.begin(), merged.end(), [](const Stride& axis) { return axis.from == 1; });
    if (along != merged.end()) {
      turned_ = *along;
      merged.erase(along);
    }
  }
  outer_ = std::move(merged);
  for (const Stride& axis : outer_) outer_size_ *= axis.extent;
  stripes_ = (turned_.extent + stripe - 1) / stripe;
}

template <class T> void StridedCopy::row(const T* from, T* to) const {
  if (inner_.from == 1 && inner_.to == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(inner_.extent) * sizeof(T));
  } else if (inner_.from == 0 && inner_.to == 1) {
    std::fill_n(to, inner_.extent, *from);
  } else {
    for (std::int64_t i = 0; i < inner_.extent; ++i) to[i * inner_.to] = from[i * inner_.from];
  }
}

template <class T> void StridedCopy::run_as(const T* from, T* to) const {
  const std::int64_t units = outer_size_ * stripes_, size = outer_size_ * turned_.extent * inner_.extent;
  parallel_for(units, size, [&](std::int64_t unit) {
    std::int64_t rest = unit / stripes_;
    const T* source = from;
    T* target = to;
    for (std::size_t axis = outer_.size(); axis-- > 0;) {
      const std::int64_t index = rest % outer_[axis].extent;
      rest /= outer_[axis].extent;
      source += index * outer_[axis].from;
      target += index * outer_[axis].to;
    }
    if (turned_.extent == 1) {
      row(source, target);
      return;
    }
    const std::int64_t first = unit % stripes_ * stripe, end = std::min(first + stripe, turned_.extent);
    // Through a square that lies in the cache as a whole: rows of many arrays are apart by powers of two, which would
    // fall on the same few lines.
    T square[stripe * stripe];
    for (std::int64_t block = 0; block < inner_.extent; block += stripe) {
      const std::int64_t rows = std::min(stripe, inner_.extent - block);
      for (std::int64_t i = 0; i < rows; ++i) {
        const T* line = source + first + (block + i) * inner_.from;
        std::copy(line, line + (end - first), square + i * stripe);
      }
      for (std::int64_t t = first; t < end; ++t) {
        T* line = target + t * turned_.to + block * inner_.to;
        const T* column = square + (t - first);
        for (std::int64_t i = 0; i < rows; ++i) line[i * inner_.to] = column[i * stripe];
      }
    }
  });
}

void StridedCopy::run(const void* from, void* to) const {
  switch (width_) {
    case 1: return run_as(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to));
    case 2: return run_as(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to));
    case 4: return run_as(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to));
    default: return run_as(static_cast<const std::uint64_t*>(from), static_cast<std::uint64_t*>(to));
  }
}

}  // namespace strata::cpu
