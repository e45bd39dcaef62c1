// SPDX-License-Identifier: Apache-2.0
// Writing: libhdf5 makes the structure in memory, with a hole where each dataset's numbers go. Numbers and structure are
// then written by our own file layer, in the order of the file, and digested as they are meant to be.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "model/hdf5_block.h"
#include "model/hdf5_library.h"
#include "strata/error.h"

namespace strata {

namespace {

constexpr std::size_t longest_attribute = 64'000;  // an object's header has 64 KiB

// Libhdf5 need not be thread-safe, and a checkpoint is written on a thread of its own.
std::mutex library;

// A file in memory that has pages only where something was written.
class SparseBytes : public FileBytes {
 public:
  std::uint64_t size() const override { return size_; }
  bool resize(std::uint64_t size) override {
    size_ = size;
    return true;
  }
  bool read(std::uint64_t offset, std::span<std::byte> into) const override {
    in_pages(offset, into, [&](std::uint64_t page, std::uint64_t begin, std::span<std::byte> part) {
      const auto found = pages_.find(page);
      if (found == pages_.end()) std::memset(part.data(), 0, part.size());
      else std::memcpy(part.data(), found->second.get() + begin, part.size());
    });
    return true;
  }
  bool write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    try {
      in_pages(offset, bytes, [&](std::uint64_t page, std::uint64_t begin, std::span<const std::byte> part) {
        auto& place = pages_[page];
        if (!place) place = std::make_unique<std::byte[]>(page_bytes);
        std::memcpy(place.get() + begin, part.data(), part.size());
      });
    } catch (const std::bad_alloc&) {
      return false;
    }
    size_ = std::max(size_, offset + bytes.size());
    return true;
  }

 private:
  static constexpr std::uint64_t page_bytes = 16 * 1024;

  template <class Span, class Each> static void in_pages(std::uint64_t offset, Span bytes, Each each) {
    while (!bytes.empty()) {
      const std::uint64_t begin = offset % page_bytes;
      const auto count = std::min<std::size_t>(bytes.size(), page_bytes - begin);
      each(offset / page_bytes, begin, bytes.first(count));
      bytes = bytes.subspan(count);
      offset += count;
    }
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<std::byte[]>> pages_;
  std::uint64_t size_ = 0;
};

// Numbers or letters and where they go.
struct Payload {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
  std::string object;
};

// While it lives, a file that grows over the process's limit is an error of the call and no signal that ends everything.
class NoSignalOfSize {
 public:
  NoSignalOfSize() {
    sigemptyset(&size_);
    sigaddset(&size_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size_, &before_);
  }
  ~NoSignalOfSize() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec at_once{};
    while (sigtimedwait(&size_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignalOfSize(const NoSignalOfSize&) = delete;
  NoSignalOfSize& operator=(const NoSignalOfSize&) = delete;

 private:
  sigset_t size_, before_;
};

std::string normal(const std::string& path) { return join(parts_of(path), "/"); }

}  // namespace

// Turns a writer's entries into a structure and the payloads that belong into its holes.
class StructureBuilder {
 public:
  using Kind = Hdf5Writer::Kind;
  using Entry = Hdf5Writer::Entry;

  StructureBuilder(const std::string& path, const std::vector<Entry>& entries) : path_(path), entries_(entries) {}

  std::vector<Payload> build(SparseBytes& bytes) {
    const std::lock_guard lock(library);
    quiet_hdf5();
    {
      Handle file(checked(create_hdf5(bytes, block_bytes), "", "its structure cannot be made"), H5Fclose);
      file_ = file;
      for (const Entry& entry : entries_) add(entry);
      checked(H5Fflush(file_, H5F_SCOPE_GLOBAL), "", "its structure cannot be finished");
      checked(H5Fclose(file.release()), "", "its structure cannot be finished");
    }
    return places(bytes);
  }

 private:
  template <class T> T checked(T result, const std::string& object, const char* what) const {
    if (result < 0) fail(object, what);
    return result;
  }
  [[noreturn]] void fail(const std::string& object, const std::string& what) const {
    throw RunFailed(cat(path_, ": ", object.empty() ? "" : cat("'", object, "': "), what));
  }

  void add(const Entry& entry) {
    switch (entry.kind) {
      case Kind::group: return group(entry.path);
      case Kind::dataset: return dataset(entry.path, entry.tensor);
      case Kind::text: return text(entry.path, entry.value);
      case Kind::attribute: {
        const char* value = entry.value.c_str();
        return attribute(entry, H5T_VARIABLE, &value);
      }
      case Kind::fixed_attribute: return attribute(entry, entry.value.size() + 1, entry.value.c_str());
    }
  }

  void group(const std::string& path) {
    std::string so_far;
    for (const std::string& part : parts_of(path)) {
      so_far += "/" + part;
      if (H5Lexists(file_, so_far.c_str(), H5P_DEFAULT) > 0) continue;
      const Handle made(checked(H5Gcreate2(file_, so_far.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path,
                                "the group cannot be made"),
                        H5Gclose);
    }
  }

  void hole(const std::string& path, hid_t type, hid_t space) {
    const auto slash = path.rfind('/');
    if (slash != std::string::npos) group(path.substr(0, slash));
    const Handle plan(checked(H5Pcreate(H5P_DATASET_CREATE), path, "the dataset cannot be made"), H5Pclose);
    checked(H5Pset_obj_track_times(plan, false), path, "the dataset cannot be made");  // equal contents are equal bytes
    checked(H5Pset_layout(plan, H5D_CONTIGUOUS), path, "the dataset cannot be made");
    checked(H5Pset_alloc_time(plan, H5D_ALLOC_TIME_EARLY), path, "the dataset cannot be made");
    checked(H5Pset_fill_time(plan, H5D_FILL_TIME_NEVER), path, "the dataset cannot be made");
    const Handle set(checked(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, plan, H5P_DEFAULT), path,
                             "the dataset cannot be made"),
                     H5Dclose);
  }

  hid_t space_of(const Tensor& tensor) {
    const std::vector<hsize_t> extents(tensor.shape().begin(), tensor.shape().end());
    return extents.empty() ? H5Screate(H5S_SCALAR)
                           : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  }

  void dataset(const std::string& path, const Tensor& tensor) {
    const Handle type(checked(file_type(tensor.dtype()), path, "its dtype has no place in HDF5"), H5Tclose);
    const Handle space(checked(space_of(tensor), path, "its shape has no place in HDF5"), H5Sclose);
    hole(path, type, space);
    if (tensor.dtype() == DType::bfloat16) {
      const Entry said{Kind::attribute, path, "dtype", "bfloat16", {}};
      const char* value = said.value.c_str();
      attribute(said, H5T_VARIABLE, &value);
    }
  }

  void text(const std::string& path, const std::string& value) {
    const Handle type(checked(text_type(std::max<std::size_t>(value.size(), 1)), path, "the text is too long"),
                      H5Tclose);
    const Handle space(checked(H5Screate(H5S_SCALAR), path, "the dataset cannot be made"), H5Sclose);
    hole(path, type, space);
  }

  void attribute(const Entry& entry, std::size_t bytes, const void* value) {
    const std::string& object = entry.path;
    const Handle type(checked(H5Tcopy(H5T_C_S1), object, "an attribute cannot be made"), H5Tclose);
    checked(H5Tset_size(type, bytes), object, "an attribute cannot be made");
    checked(H5Tset_cset(type, H5T_CSET_UTF8), object, "an attribute cannot be made");
    const Handle space(checked(H5Screate(H5S_SCALAR), object, "an attribute cannot be made"), H5Sclose);
    const Handle made(checked(H5Acreate_by_name(file_, object.empty() ? "/" : object.c_str(), entry.name.c_str(), type,
                                                space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                              object, "an attribute cannot be made"),
                      H5Aclose);
    checked(H5Awrite(made, type, value), object, "an attribute cannot be written");
  }

  // Where the holes are, by the finished structure and not by what libhdf5 answered while making it: it has been seen to
  // report success after a write that failed.
  std::vector<Payload> places(SparseBytes& bytes) {
    const Handle file(checked(open_hdf5(bytes), "", "its structure does not open again"), H5Fclose);
    std::vector<Payload> payloads;
    for (const Entry& entry : entries_) {
      if (entry.kind != Kind::dataset && entry.kind != Kind::text) continue;
      const std::string& path = entry.path;
      const bool is_text = entry.kind == Kind::text;
      std::span<const std::byte> content = std::as_bytes(std::span(entry.value));
      if (is_text && content.empty()) content = std::as_bytes(std::span("", 1));
      if (!is_text) content = {static_cast<const std::byte*>(entry.tensor.host_data()), entry.tensor.bytes()};
      const Handle set(checked(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path, "is missing in its structure"),
                       H5Dclose);
      const Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
      const Handle wanted_type(is_text ? text_type(content.size()) : file_type(entry.tensor.dtype()), H5Tclose);
      const Handle wanted_space(is_text ? H5Screate(H5S_SCALAR) : space_of(entry.tensor), H5Sclose);
      if (type < 0 || space < 0 || H5Tequal(type, wanted_type) <= 0 || H5Sextent_equal(space, wanted_space) <= 0)
        fail(path, "is not in its structure as it was declared");
      if (content.empty()) continue;
      const haddr_t offset = H5Dget_offset(set);
      if (offset == HADDR_UNDEF || H5Dget_storage_size(set) != content.size())
        fail(path, "has no place in its structure");
      payloads.push_back({offset, content, path});
    }
    std::ranges::sort(payloads, {}, &Payload::offset);
    std::uint64_t end = block_bytes;
    for (const Payload& payload : payloads) {
      if (payload.offset < end || payload.bytes.size() > bytes.size() - payload.offset)
        fail(payload.object, "has no place of its own in its structure");
      end = payload.offset + payload.bytes.size();
    }
    return payloads;
  }

  const std::string& path_;
  const std::vector<Entry>& entries_;
  hid_t file_ = -1;
};

namespace {

void write_out(AtomicFile& out, const SparseBytes& structure, const std::vector<Payload>& payloads, FileBlock block) {
  constexpr std::size_t portion = 1 << 20;  // digested and written while it is in the cache
  std::vector<std::byte> gap;
  std::uint64_t offset = block_bytes;
  const std::string* object = nullptr;
  Digest digest;
  digest.add(digested_head(block));
  auto put = [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), portion));
      digest.add(part);
      out.write_at(offset, part);
      offset += part.size();
      bytes = bytes.subspan(part.size());
    }
  };
  auto put_structure = [&](std::uint64_t end) {
    while (offset < end) {
      gap.resize(std::min<std::uint64_t>(end - offset, portion));
      structure.read(offset, gap);
      put(gap);
    }
  };
  try {
    for (const Payload& payload : payloads) {
      put_structure(payload.offset);
      object = &payload.object;
      put(payload.bytes);
      object = nullptr;
    }
    put_structure(structure.size());
  } catch (const RunFailed& failure) {
    if (!object) throw;
    throw RunFailed(cat(failure.what(), "\n  while writing '", *object, "'"));
  }
  block.digest = digest.hex();
  const std::string head = block_text(block);
  out.write_at(0, std::as_bytes(std::span(head)));
}

}  // namespace

Hdf5Writer::Hdf5Writer(std::string path) : path_(std::move(path)) {}

void Hdf5Writer::add(Entry entry) {
  STRATA_CHECK(!closed_, path_, " is closed");
  entry.path = normal(entry.path);
  entries_.push_back(std::move(entry));
}

void Hdf5Writer::group(const std::string& path) { add({Kind::group, path, {}, {}, {}}); }

void Hdf5Writer::dataset(const std::string& path, const Tensor& tensor) {
  if (tensor.dtype() == DType::none || tensor.dtype() == DType::opaque)
    throw RunFailed(cat(path_, ": '", path, "': its dtype has no place in HDF5"));
  (void)tensor.host_data();  // refuses other memory
  add({Kind::dataset, path, {}, {}, tensor});
}

void Hdf5Writer::text(const std::string& path, const std::string& text) { add({Kind::text, path, {}, text, {}}); }

void Hdf5Writer::attribute(const std::string& object, const std::string& name, const std::string& value) {
  if (value.size() > longest_attribute)
    throw RunFailed(cat(path_, ": '", object, "': attribute ", name, " has ", value.size(), " bytes; at most ",
                        longest_attribute, " have a place"));
  add({Kind::attribute, object, name, value, {}});
}

void Hdf5Writer::fixed_attribute(const std::string& object, const std::string& name, const std::string& value) {
  attribute(object, name, value);
  entries_.back().kind = Kind::fixed_attribute;
}

void Hdf5Writer::close(std::int64_t step) {
  STRATA_CHECK(!closed_, path_, " is closed");
  closed_ = true;
  SparseBytes structure;
  const auto payloads = StructureBuilder(path_, entries_).build(structure);
  const NoSignalOfSize no_signal;
  AtomicFile out(path_);
  write_out(out, structure, payloads, {1, step, structure.size(), {}});
  out.commit();
  entries_.clear();  // lets go of the buffers
}

}  // namespace strata
