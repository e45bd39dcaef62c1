// SPDX-License-Identifier: Apache-2.0
// Shuffling by formula.
#include "core/epoch_order.h"

#include "base/text.h"
#include "strata/error.h"

namespace strata {

EpochOrder::EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::uint64_t count) : count_(count) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
  std::uint64_t key = combine64(mix64(seed), epoch);
  for (auto& round : keys_) round = key = mix64(key + 0x9E3779B97F4A7C15ULL);
}

std::uint64_t EpochOrder::at(std::uint64_t position) const {
  STRATA_CHECK(position < count_, "position ", position, " of ", count_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t mixed = left ^ (mix64(right ^ key) & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= count_);
  return value;
}

}  // namespace strata
