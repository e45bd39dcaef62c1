// SPDX-License-Identifier: Apache-2.0
// The inside of strata-guard: libhdf5 looks through a file nobody trusts. Nothing else reads with libhdf5.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "model/hdf5_wire.h"

namespace strata {

class FileBytes;

class GuardedFile {
 public:
  explicit GuardedFile(FileBytes& bytes, std::uint64_t most_bytes_unpacked);
  ~GuardedFile();
  const Catalogue& catalogue() const { return catalogue_; }
  // The numbers of a dataset that does not lie in the file as it is read, in frames. Error: they cannot be read.
  void stream(std::size_t object, const std::function<void(std::span<const std::byte>)>& frame) const;

 private:
  std::int64_t file_ = -1;
  Catalogue catalogue_;
};

// Answers over a socket until the other end closes it.
void serve_guarded(int socket, FileBytes& bytes, std::uint64_t most_bytes_unpacked);

}  // namespace strata
