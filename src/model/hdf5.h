// SPDX-License-Identifier: Apache-2.0
// HDF5 files as trees of tensors, the way Keras writes and reads them. The only door to libhdf5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata {

class AtomicFile;

// A file being written appears under its name only when close() has succeeded. Every failure is an Error (reading) or a
// RunFailed (writing) that names file and object. Not thread-safe: libhdf5 is not.
class Hdf5File {
 public:
  static Hdf5File create(const std::string& path);
  static Hdf5File open(const std::string& path);  // Error: no HDF5 file, links or storage outside the file
  ~Hdf5File();
  Hdf5File(Hdf5File&& other) noexcept;
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  void make_group(const std::string& path);  // with those above it
  void write(const std::string& path, const Tensor& tensor);
  // Text as Keras writes it, of variable length. Libhdf5 does not survive reading such text from a damaged file, so what
  // we read ourselves is of fixed length.
  void set_attribute(const std::string& object, const std::string& name, const std::string& value);
  void set_fixed_attribute(const std::string& object, const std::string& name, const std::string& value);
  void close();  // written: synced and renamed

  bool has(const std::string& path) const;
  // Integers without a dtype of their own come in the next wider one. Error: what is not there, what is not held by the
  // file alone (links, external and virtual datasets), what claims more numbers than are stored.
  Tensor read(const std::string& path) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string attribute(const std::string& object, const std::string& name) const;  // Error: not of fixed length
  std::vector<std::string> datasets_under(const std::string& group) const;          // full paths, sorted

 private:
  Hdf5File();
  void put_attribute(const std::string& object, const std::string& name, std::size_t bytes, const void* value);
  [[noreturn]] void fail(const std::string& object, const std::string& what) const;
  std::int64_t checked(std::int64_t handle, const std::string& object, const char* what) const;

  std::string path_;
  std::int64_t file_ = -1;
  std::unique_ptr<AtomicFile> written_;  // while writing
};

}  // namespace strata
