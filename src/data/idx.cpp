// SPDX-License-Identifier: Apache-2.0
// Reading IDX: two zero bytes, a dtype, a rank, the extents, then the numbers, all big-endian.
#include "strata/datasets/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace strata::datasets {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{16} << 30;

// A file's bytes, unpacked when it is gzipped.
class Bytes {
 public:
  explicit Bytes(const std::string& path) : path_(path) {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) throw Error(cat(path, ": there is no such file"));
    file_ = gzopen(path.c_str(), "rb");
    if (!file_) throw Error(cat(path, ": cannot be opened"));
    gzbuffer(file_, 1 << 17);
  }
  ~Bytes() { gzclose(file_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void take(void* out, std::uint64_t bytes, const char* what) {
    auto* at = static_cast<char*>(out);
    while (bytes > 0) {
      const auto part = static_cast<unsigned>(std::min<std::uint64_t>(bytes, 1 << 30));
      const int got = gzread(file_, at, part);
      if (got < 0) fail_unpacking();
      if (got == 0) {
        int code = 0;
        const char* message = gzerror(file_, &code);
        if (code != Z_OK && code != Z_STREAM_END)
          throw Error(cat(path_, ": is damaged at byte ", read_, " of its contents (", message, ")"));
        throw Error(
            cat(path_, ": ends after ", read_, " bytes, in the middle of ", what, "; ", bytes, " more are announced"));
      }
      at += got;
      bytes -= static_cast<std::uint64_t>(got);
      read_ += static_cast<std::uint64_t>(got);
    }
  }
  void expect_end() {
    char more = 0;
    const int got = gzread(file_, &more, 1);
    if (got < 0) fail_unpacking();
    if (got > 0) throw Error(cat(path_, ": goes on after the ", read_, " bytes its header announces"));
    int code = 0;
    (void)gzerror(file_, &code);
    if (code != Z_OK && code != Z_STREAM_END)
      throw Error(cat(path_, ": is cut short: gzip's checksum at its end is missing"));
  }

 private:
  [[noreturn]] void fail_unpacking() const {
    int code = 0;
    const char* message = gzerror(file_, &code);
    throw Error(cat(path_, ": is damaged at byte ", read_, " of its contents (", message, ")"));
  }
  std::string path_;
  gzFile file_ = nullptr;
  std::uint64_t read_ = 0;
};

DType dtype_of_code(std::uint8_t code, const std::string& path) {
  switch (code) {
    case 0x08: return DType::uint8;
    case 0x0C: return DType::int32;
    case 0x0D: return DType::float32;
    case 0x0E: return DType::float64;
    default:
      throw Error(cat(path, ": its dtype code is ", static_cast<int>(code),
                      "; 8 (uint8), 12 (int32), 13 (float32) and 14 (float64) can be read"));
  }
}

Tensor read_idx(const std::string& path) {
  Bytes in(path);
  std::uint8_t magic[4];
  in.take(magic, 4, "the header");
  if (magic[0] != 0 || magic[1] != 0)
    throw Error(cat(path, ": is no IDX file: it begins with bytes ", static_cast<int>(magic[0]), " ",
                    static_cast<int>(magic[1]), ", not 0 0"));
  const DType dtype = dtype_of_code(magic[2], path);
  if (magic[3] == 0 || magic[3] > Shape::max_rank)
    throw Error(cat(path, ": has ", static_cast<int>(magic[3]), " axes; 1 to ", Shape::max_rank, " can be read"));
  std::vector<std::int64_t> extents;
  std::uint64_t bytes = size_of(dtype);
  for (int i = 0; i < magic[3]; ++i) {
    std::uint8_t big[4];
    in.take(big, 4, "the header");
    extents.push_back(static_cast<std::int64_t>(big[0]) << 24 | big[1] << 16 | big[2] << 8 | big[3]);
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extents.back()), &bytes) || bytes > most_bytes)
      throw Error(cat(path, ": announces more than ", bytes_text(most_bytes), " of numbers: ", extents.back(),
                      " along axis ", i, " after ", i ? extents[static_cast<std::size_t>(i) - 1] : 1));
  }
  // What is announced must be there before memory is taken for it: gzip packs at most about 1032 to 1.
  const std::uint64_t on_disk = std::filesystem::file_size(path);
  if (bytes > on_disk * 1100)
    throw Error(cat(path, ": announces ", bytes, " bytes of numbers, but the file has only ", on_disk));
  Tensor tensor(Type{Shape(extents), dtype});
  in.take(tensor.host_data(), bytes, "the numbers");
  in.expect_end();
  const std::size_t size = size_of(dtype);
  auto* data = static_cast<std::uint8_t*>(tensor.host_data());
  if (size > 1)
    for (std::uint64_t i = 0; i < bytes; i += size) std::reverse(data + i, data + i + size);
  return tensor;
}

class IdxReader final : public Reader {
 public:
  IdxReader(const IDX& idx, const std::string& images, const std::string& labels) : images_(read_idx(images)) {
    Shape row = images_.shape().without(0);
    if (row.rank() == 2) row = row.append(1);
    fields_.push_back({"image", DataField::Role::input, {row, images_.dtype()}, 0, {}});
    if (labels.empty()) return;
    labels_ = read_idx(labels);
    if (labels_.shape().rank() != 1) throw Error(cat(labels, ": labels are one number a row, got ", labels_.shape()));
    if (labels_.shape()[0] != images_.shape()[0])
      throw Error(cat(labels, ": ", labels_.shape()[0], " labels for ", images_.shape()[0], " images in ", images));
    std::int64_t classes = idx.classes, largest = 0;
    for (const double label : labels_.to_doubles()) largest = std::max(largest, static_cast<std::int64_t>(label));
    if (classes && largest >= classes)
      throw Error(cat(labels, ": holds label ", largest, ", but classes is ", classes));
    fields_.push_back({"label", DataField::Role::target, {{}, labels_.dtype()}, classes ? classes : largest + 1, {}});
  }
  std::int64_t size() const override { return images_.shape()[0]; }
  const std::vector<DataField>& fields() const override { return fields_; }
  void read(std::int64_t row, std::span<void* const> out) const override {
    copy(images_, fields_[0].type.bytes(), row, out[0]);
    if (labels_) copy(labels_, fields_[1].type.bytes(), row, out[1]);
  }

 private:
  static void copy(const Tensor& from, std::size_t bytes, std::int64_t row, void* out) {
    std::memcpy(out, static_cast<const char*>(from.host_data()) + static_cast<std::size_t>(row) * bytes, bytes);
  }
  Tensor images_, labels_;
  std::vector<DataField> fields_;
};

}  // namespace

std::shared_ptr<const Reader> IDX::open() const {
  if (images.empty()) throw Error("IDX needs 'images': the file of images");
  auto found = [&](const std::string& name) {
    if (name.empty() || directory.empty()) return name;
    return (std::filesystem::path(directory) / name).string();
  };
  return std::make_shared<IdxReader>(*this, found(images), found(labels));
}

}  // namespace strata::datasets
