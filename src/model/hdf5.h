// SPDX-License-Identifier: Apache-2.0
// HDF5 files as trees of tensors and texts, the way Keras writes and reads them. Writing makes the structure with libhdf5
// and the rest by hand; reading leaves libhdf5 to a program of its own, strata-guard, because a damaged or hostile file
// can crash it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata {

// A file being written. Nothing is on the disk before close(), and the file appears under its name only when that has
// succeeded; every failure is a RunFailed that names file, object and reason. Equal calls give equal bytes. Writers on
// several threads do not disturb each other; one writer is not for two threads at once.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(std::string path);
  void group(const std::string& path);                          // with those above it
  void dataset(const std::string& path, const Tensor& tensor);  // its buffer is shared until close()
  // A dataset of one text of UTF-8, of any length; it ends before its last letter that is not '\0'.
  void text(const std::string& path, const std::string& text);
  // Text of variable length, as Keras has it. Libhdf5 does not survive reading such text from a damaged file, so what we
  // read ourselves is of fixed length. Neither may be longer than 64,000 bytes.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  void fixed_attribute(const std::string& object, const std::string& name, const std::string& value);
  void close(std::int64_t step = 0);  // written, synced and renamed; call it once

 private:
  enum class Kind { group, dataset, text, attribute, fixed_attribute };
  struct Entry {
    Kind kind;
    std::string path, name, value;
    Tensor tensor;
  };
  friend class StructureBuilder;
  void add(Entry entry);

  std::string path_;
  std::vector<Entry> entries_;
  bool closed_ = false;
};

// The first 512 bytes of a file of ours, as text; HDF5 readers skip them.
struct FileBlock {
  std::int64_t format = 1, step = 0;
  std::uint64_t length = 0;  // of the whole file
  std::string digest;        // of all of it but this line, in hex
};
enum class FileState { whole, damaged, foreign };

// Reads the file from end to end and compares: whole, ours but not what was written, or not ours. Libhdf5 has no part in
// it. `block` receives what the first bytes say (for a foreign file nothing), `why` what is wrong. Error: cannot be read.
FileState check_file(const std::string& path, FileBlock* block = nullptr, std::string* why = nullptr);

// A file being read. Error, always with the file's name: no HDF5 file, damaged, hostile; and from the questions below:
// what is not there, what is not held by the file alone (links, external and virtual datasets), what claims more numbers
// than are stored. Not for two threads at once.
class Hdf5Reader {
 public:
  // Datasets that are packed are read up to 256 MiB, twice the file's size and `most_bytes_wanted` together.
  explicit Hdf5Reader(const std::string& path, std::uint64_t most_bytes_wanted = 0);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;

  bool has(const std::string& path) const;
  Type type(const std::string& path) const;    // without reading it
  Tensor read(const std::string& path) const;  // integers without a dtype of their own come in the next wider one
  std::string text(const std::string& path) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string attribute(const std::string& object, const std::string& name) const;  // Error: not of fixed length
  std::vector<std::string> datasets_under(const std::string& group) const;          // full paths, sorted

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace strata
