// SPDX-License-Identifier: Apache-2.0
// A digest of many bytes, XXH3 of 128 bits: it finds damage, and is no protection against intent. The only door to xxhash.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace strata {

class Digest {
 public:
  Digest();
  ~Digest();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  std::string hex() const;  // of what was added so far: 32 letters, the same on every machine

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata
