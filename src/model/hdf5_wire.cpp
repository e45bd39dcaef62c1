// SPDX-License-Identifier: Apache-2.0
#include "model/hdf5_wire.h"

#include <cstring>

#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

// Both ends are one machine's: numbers go as they lie in memory.
class Packer {
 public:
  template <class T> void number(T value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    text_ += value;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  bool flag() { return within<std::uint8_t>(1) != 0; }
  template <class T> T within(T most) {
    const T value = number<T>();
    if (value > most) wrong();
    return value;
  }
  // A count of things that take at least so many bytes each.
  std::size_t count(std::size_t least_bytes) {
    const auto value = number<std::uint32_t>();
    if (value > rest_.size() / least_bytes) wrong();
    return value;
  }
  void end() const {
    if (!rest_.empty()) wrong();
  }
  [[noreturn]] static void wrong() { throw Error("cannot be read: it is damaged or hostile"); }

 private:
  std::string_view take(std::size_t bytes) {
    if (bytes > rest_.size()) wrong();
    const auto taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
};

void check(const StoredObject& object, std::uint64_t file_size) {
  if (object.is_direct && (object.offset > file_size || object.bytes > file_size - object.offset)) Unpacker::wrong();
  if (object.kind != StoredObject::Kind::dataset || !object.refusal.empty() || object.is_text) return;
  std::uint64_t bytes = size_of(object.dtype);
  if (bytes == 0) Unpacker::wrong();
  bool is_empty = false;
  for (const std::int64_t extent : object.shape) {
    if (extent < 0) Unpacker::wrong();
    is_empty = is_empty || extent == 0;
    if (extent > 0 && __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) Unpacker::wrong();
  }
  if ((is_empty ? 0 : bytes) != object.bytes || bytes > INT64_MAX) Unpacker::wrong();
}

}  // namespace

std::string pack(const Catalogue& catalogue) {
  Packer out;
  out.text(catalogue.failure);
  out.number(static_cast<std::uint32_t>(catalogue.objects.size()));
  for (const StoredObject& object : catalogue.objects) {
    out.text(object.path);
    out.number(object.kind);
    out.text(object.refusal);
    out.number(static_cast<std::uint8_t>(object.is_text));
    out.number(object.dtype);
    out.number(static_cast<std::uint8_t>(object.shape.size()));
    for (const std::int64_t extent : object.shape) out.number(extent);
    out.number(object.bytes);
    out.number(static_cast<std::uint8_t>(object.is_direct));
    out.number(object.offset);
    out.number(static_cast<std::uint32_t>(object.attributes.size()));
    for (const StoredAttribute& attribute : object.attributes) {
      out.text(attribute.name);
      out.text(attribute.text);
      out.text(attribute.refusal);
    }
  }
  return out.take();
}

Catalogue unpack(std::string_view bytes, std::uint64_t file_size) {
  Unpacker in(bytes);
  Catalogue catalogue;
  catalogue.failure = in.text();
  catalogue.objects.resize(in.count(32));
  for (StoredObject& object : catalogue.objects) {
    object.path = in.text();
    object.kind = static_cast<StoredObject::Kind>(in.within(static_cast<std::uint8_t>(StoredObject::Kind::refused)));
    object.refusal = in.text();
    object.is_text = in.flag();
    object.dtype = static_cast<DType>(in.within(static_cast<std::uint8_t>(DType::opaque)));
    object.shape.resize(in.within(static_cast<std::uint8_t>(Shape::max_rank)));
    for (std::int64_t& extent : object.shape) extent = in.number<std::int64_t>();
    object.bytes = in.number<std::uint64_t>();
    object.is_direct = in.flag();
    object.offset = in.number<std::uint64_t>();
    object.attributes.resize(in.count(12));
    for (StoredAttribute& attribute : object.attributes) {
      attribute.name = in.text();
      attribute.text = in.text();
      attribute.refusal = in.text();
    }
    check(object, file_size);
  }
  in.end();
  return catalogue;
}

std::uint64_t most_unpacked(std::uint64_t file_size, std::uint64_t wanted) {
  constexpr std::uint64_t spare = 256 << 20;
  std::uint64_t most = 0;
  if (__builtin_mul_overflow(file_size, std::uint64_t{2}, &most) || __builtin_add_overflow(most, wanted, &most) ||
      __builtin_add_overflow(most, spare, &most) || most > INT64_MAX)
    return INT64_MAX;
  return most;
}

}  // namespace strata
