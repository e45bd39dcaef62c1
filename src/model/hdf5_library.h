// SPDX-License-Identifier: Apache-2.0
// What the writer and the guard share of libhdf5: handles that close, the encodings of dtypes, and files that are bytes of
// ours instead of names on a disk. The only header that includes <hdf5.h>.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/dtype.h"

namespace strata {

// A handle and what closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Where libhdf5 finds a file's bytes. It opens, locks and writes no file by itself, and can reach no second one.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  virtual std::uint64_t size() const = 0;
  virtual bool resize(std::uint64_t size) = 0;
  virtual bool read(std::uint64_t offset, std::span<std::byte> into) const = 0;  // zeros behind the end
  virtual bool write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

hid_t create_hdf5(FileBytes& bytes, std::uint64_t user_block);  // in the earliest format; negative when it fails
hid_t open_hdf5(FileBytes& bytes);                              // to read only

// Without its own messages, and without its handler at exit: after a write that failed, that handler crashes.
void quiet_hdf5();

hid_t file_type(DType dtype);        // what a dtype is stored as; negative for one that is not
DType dtype_of_type(hid_t type);     // what a stored type is taken as; none when no dtype holds every value of it
hid_t text_type(std::size_t bytes);  // UTF-8 of fixed length

std::vector<std::string> parts_of(const std::string& path);  // "/a//b" -> a, b

}  // namespace strata
