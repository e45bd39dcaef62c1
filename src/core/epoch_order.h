// SPDX-License-Identifier: Apache-2.0
// The order of an epoch's rows as a formula of (seed, epoch, position): no list to keep, and any position in O(1), so
// that a run goes on in the middle of an epoch.
#pragma once

#include <array>
#include <cstdint>

namespace strata {

// A bijection of 0 … count-1: a Feistel network over the least even number of bits that holds count, walked until it
// lands inside.
class EpochOrder {
 public:
  EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::uint64_t count);
  std::uint64_t at(std::uint64_t position) const;  // the row at this position
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  int half_bits_ = 1;
  std::array<std::uint64_t, 8> keys_{};  // a round each
};

}  // namespace strata
