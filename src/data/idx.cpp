// SPDX-License-Identifier: Apache-2.0
// Reading IDX: two zero bytes, a dtype, a rank, the extents, then the numbers, all big-endian.
#include "strata/datasets/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

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

// What the numbers are and how many bytes each takes. 8 and 16 bits with a sign become int32: there is no such dtype.
struct Coding {
  DType dtype;
  std::size_t stored;
};

Coding coding_of(std::uint8_t code, const std::string& path) {
  switch (code) {
    case 0x08: return {DType::uint8, 1};
    case 0x09: return {DType::int32, 1};
    case 0x0B: return {DType::int32, 2};
    case 0x0C: return {DType::int32, 4};
    case 0x0D: return {DType::float32, 4};
    case 0x0E: return {DType::float64, 8};
    default:
      throw Error(cat(path, ": byte 2, the dtype, is ", static_cast<int>(code),
                      "; IDX knows 8 (uint8), 9 (int8), 11 (int16), 12 (int32), 13 (float32) and 14 (float64)"));
  }
}

// Turns big-endian numbers around, and widens those that are stored in fewer bytes than they take.
void decode(const Coding& coding, std::span<std::uint8_t> stored, Tensor& tensor) {
  if (coding.stored == size_of(coding.dtype)) {
    if (coding.stored > 1)
      for (auto at = stored.begin(); at != stored.end(); at += static_cast<std::ptrdiff_t>(coding.stored))
        std::reverse(at, at + static_cast<std::ptrdiff_t>(coding.stored));
    return;
  }
  const auto out = tensor.as<std::int32_t>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = coding.stored == 1 ? static_cast<std::int8_t>(stored[i])
                                : static_cast<std::int16_t>(stored[2 * i] << 8 | stored[2 * i + 1]);
}

Tensor read_idx(const std::string& path) {
  Bytes in(path);
  std::uint8_t magic[4];
  in.take(magic, 4, "the header");
  if (magic[0] != 0 || magic[1] != 0)
    throw Error(cat(path, ": is no IDX file: it begins with bytes ", static_cast<int>(magic[0]), " ",
                    static_cast<int>(magic[1]), ", not 0 0"));
  const Coding coding = coding_of(magic[2], path);
  if (magic[3] == 0 || magic[3] > Shape::max_rank)
    throw Error(cat(path, ": has ", static_cast<int>(magic[3]), " axes; 1 to ", Shape::max_rank, " can be read"));
  std::vector<std::int64_t> extents;
  std::uint64_t bytes = coding.stored;
  for (int i = 0; i < magic[3]; ++i) {
    std::uint8_t big[4];
    in.take(big, 4, "the header");
    extents.push_back(static_cast<std::int64_t>(big[0]) << 24 | big[1] << 16 | big[2] << 8 | big[3]);
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extents.back()), &bytes) || bytes > most_bytes)
      throw Error(cat(path, ": announces more than ", bytes_text(most_bytes), " of numbers: ", extents.back(),
                      " along axis ", i, " after ", i ? extents[static_cast<std::size_t>(i) - 1] : 1));
  }
  // What is announced must be there before memory is taken for it: gzip packs at most about 1032 to 1.
  const std::uint64_t on_disk = file_bytes(path);
  if (bytes > on_disk * 1100)
    throw Error(cat(path, ": announces ", bytes, " bytes of numbers, but the file has only ", on_disk));
  Tensor tensor(Type{Shape(extents), coding.dtype});
  std::vector<std::uint8_t> narrow;  // what is widened needs a place to be read to
  if (coding.stored < size_of(coding.dtype)) narrow.resize(bytes);
  const std::span stored(narrow.empty() ? static_cast<std::uint8_t*>(tensor.host_data()) : narrow.data(), bytes);
  in.take(stored.data(), bytes, "the numbers");
  in.expect_end();
  decode(coding, stored, tensor);
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
    const std::int64_t classes = is_integer(labels_.dtype()) ? count_classes(idx.classes, labels) : 0;
    fields_.push_back({"label", DataField::Role::target, {{}, labels_.dtype()}, classes, {}});
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
  // The classes there are; Error for a label that is none.
  std::int64_t count_classes(std::int64_t announced, const std::string& path) const {
    std::int64_t largest = -1, row = 0;
    for (const double number : labels_.to_doubles()) {
      const auto label = static_cast<std::int64_t>(number);
      if (label < 0) throw Error(cat(path, ": row ", row, ": label ", label, " is negative; classes count from 0"));
      if (announced && label >= announced)
        throw Error(cat(path, ": row ", row, ": label ", label, ", but classes is ", announced));
      largest = std::max(largest, label);
      ++row;
    }
    return announced ? announced : largest + 1;
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
