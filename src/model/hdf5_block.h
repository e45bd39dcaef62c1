// SPDX-License-Identifier: Apache-2.0
// The first 512 bytes of a file of ours.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/hdf5.h"

namespace strata {

constexpr std::uint64_t block_bytes = 512;

std::string digested_head(const FileBlock& block);  // what the digest covers of the block: all lines but its own
std::string block_text(const FileBlock& block);     // the whole block

// A file open for reading. Error: cannot be read.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  void read(std::uint64_t offset, std::span<std::byte> into) const;  // Error: ends before

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace strata
