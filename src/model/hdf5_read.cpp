// SPDX-License-Identifier: Apache-2.0
// Reading: strata-guard says what is in a file; numbers that lie there as they are read are taken by ourselves, packed or
// turned ones come from it.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "model/hdf5.h"
#include "model/hdf5_block.h"
#include "model/hdf5_process.h"
#include "model/hdf5_wire.h"
#include "strata/error.h"

namespace strata {

namespace {

using Kind = StoredObject::Kind;

// As HDF5 looks for it: at the start, or behind a block of 512 bytes or that times a power of two.
bool is_hdf5(const InputFile& file) {
  const std::string_view signature = "\x89HDF\r\n\x1a\n";
  std::string here(signature.size(), '\0');
  for (std::uint64_t at = 0; at <= file.size() - std::min<std::uint64_t>(file.size(), here.size());
       at = std::max<std::uint64_t>(512, 2 * at)) {
    if (file.size() < here.size()) return false;
    file.read(at, std::as_writable_bytes(std::span(here)));
    if (here == signature) return true;
  }
  return false;
}

std::string normal(const std::string& path) {
  std::vector<std::string> parts;
  for (std::string& part : split(path, '/'))
    if (!part.empty()) parts.push_back(std::move(part));
  return join(parts, "/");
}

}  // namespace

struct Hdf5Reader::Parts {
  Parts(std::string name, std::uint64_t bytes_wanted) : path(std::move(name)), file(path), wanted(bytes_wanted) {
    if (!is_hdf5(file)) fail("", "is no HDF5 file");
    guard.emplace(path, file.descriptor(), file.size(), wanted);
    guard->allow(file.size());
    std::string greeting(wire_greeting.size(), '\0');
    guard->receive(std::as_writable_bytes(std::span(greeting)));
    if (greeting != wire_greeting) fail("", "cannot be read: strata-guard is of another version; install strata anew");
    std::uint64_t size = 0;
    guard->receive(std::as_writable_bytes(std::span(&size, 1)));
    if (size > longest_catalogue + longest_catalogue / 8) fail("", "cannot be read: it is damaged or hostile");
    std::string bytes(size, '\0');
    guard->receive(std::as_writable_bytes(std::span(bytes)));
    Catalogue catalogue;
    try {
      catalogue = unpack(bytes, file.size());
    } catch (const Error& error) {
      fail("", error.what());
    }
    if (!catalogue.failure.empty()) fail("", catalogue.failure);
    bool is_needed = false;
    for (std::uint32_t i = 0; i < catalogue.objects.size(); ++i) {
      StoredObject& object = catalogue.objects[i];
      is_needed = is_needed || (object.kind == Kind::dataset && object.refusal.empty() && !object.is_direct);
      std::string at = object.path;
      objects.try_emplace(std::move(at), i, std::move(object));
    }
    if (!is_needed) guard->end();
  }

  [[noreturn]] void fail(const std::string& object, const std::string& what) const {
    throw Error(cat(path, ": ", object.empty() ? "" : cat("'", object, "': "), what));
  }

  // The object, or null; Error when something on the way to it is refused.
  const std::pair<std::uint32_t, StoredObject>* find(const std::string& name) const {
    std::string so_far;
    for (const std::string& part : split(name, '/')) {
      so_far += so_far.empty() ? part : "/" + part;
      const auto found = objects.find(so_far);
      if (found == objects.end()) return nullptr;
      if (found->second.second.kind == Kind::refused) fail(so_far, found->second.second.refusal);
      if (so_far.size() == name.size()) return &found->second;
    }
    return nullptr;
  }

  const std::pair<std::uint32_t, StoredObject>& dataset(const std::string& name, bool as_text) const {
    const auto* found = find(normal(name));
    if (!found) fail(name, "is not in the file");
    if (found->second.kind != Kind::dataset) fail(name, "is no dataset");
    if (!found->second.refusal.empty()) fail(name, found->second.refusal);
    if (found->second.is_text != as_text) fail(name, as_text ? "holds no text" : "holds text, not numbers");
    return *found;
  }

  void read(const std::pair<std::uint32_t, StoredObject>& place, std::span<std::byte> into) const {
    const auto& [number, object] = place;
    if (object.is_direct) return file.read(object.offset, into);
    if (into.empty()) return;
    guard->allow(into.size());
    guard->send(number);
    std::uint32_t size = 0;
    do {
      guard->receive(std::as_writable_bytes(std::span(&size, 1)));
      if (size == frame_failure) {
        guard->receive(std::as_writable_bytes(std::span(&size, 1)));
        std::string text(std::min<std::uint32_t>(size, 1000), '\0');
        guard->receive(std::as_writable_bytes(std::span(text)));
        if (text.size() < size) guard->end();
        fail(object.path, text);
      }
      if (size > into.size() || (size == 0 && !into.empty())) {
        guard->end();
        fail(object.path, "cannot be read: the file is damaged or hostile");
      }
      guard->receive(into.first(size));
      into = into.subspan(size);
    } while (size > 0);
  }

  const StoredAttribute* find_attribute(const std::string& object, const std::string& name) const {
    const auto* found = find(normal(object));
    if (!found) return nullptr;
    for (const auto& attribute : found->second.attributes)
      if (attribute.name == name) return &attribute;
    return nullptr;
  }

  std::string path;
  InputFile file;
  std::uint64_t wanted;
  mutable std::optional<GuardProcess> guard;
  std::map<std::string, std::pair<std::uint32_t, StoredObject>> objects;
};

Hdf5Reader::Hdf5Reader(const std::string& path, std::uint64_t most_bytes_wanted)
    : parts_(std::make_unique<Parts>(path, most_bytes_wanted)) {}
Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;

bool Hdf5Reader::has(const std::string& path) const { return parts_->find(normal(path)) != nullptr; }

Type Hdf5Reader::type(const std::string& path) const {
  const StoredObject& object = parts_->dataset(path, false).second;
  return {Shape(object.shape), object.dtype};
}

Tensor Hdf5Reader::read(const std::string& path) const {
  const auto& place = parts_->dataset(path, false);
  const StoredObject& object = place.second;
  if (!object.is_direct && object.bytes > most_unpacked(parts_->file.size(), parts_->wanted))
    parts_->fail(path, "cannot be read: the file is damaged or hostile");
  Tensor tensor(type(path));
  parts_->read(place, {static_cast<std::byte*>(tensor.host_data()), tensor.bytes()});
  if (object.dtype == DType::boolean) {
    const auto* values = static_cast<const std::uint8_t*>(tensor.host_data());
    if (std::any_of(values, values + tensor.bytes(), [](std::uint8_t value) { return value > 1; }))
      parts_->fail(path, "should hold false and true, and holds other values");
  }
  return tensor;
}

std::string Hdf5Reader::text(const std::string& path) const {
  const auto& place = parts_->dataset(path, true);
  if (place.second.bytes > parts_->file.size()) parts_->fail(path, "cannot be read: the file is damaged or hostile");
  std::string text(place.second.bytes, '\0');
  parts_->read(place, std::as_writable_bytes(std::span(text)));
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

bool Hdf5Reader::has_attribute(const std::string& object, const std::string& name) const {
  return parts_->find_attribute(object, name) != nullptr;
}

std::string Hdf5Reader::attribute(const std::string& object, const std::string& name) const {
  const StoredAttribute* attribute = parts_->find_attribute(object, name);
  if (!attribute) parts_->fail(object, cat("has no attribute ", name));
  if (!attribute->refusal.empty()) parts_->fail(object, cat("attribute ", name, " ", attribute->refusal));
  return attribute->text;
}

std::vector<std::string> Hdf5Reader::datasets_under(const std::string& group) const {
  std::vector<std::string> found;
  const std::string at = normal(group);
  const auto* here = parts_->find(at);
  if (!here || here->second.kind != Kind::group) return found;
  const std::string below = at.empty() ? "" : at + "/";
  for (auto place = parts_->objects.lower_bound(below); place != parts_->objects.end(); ++place) {
    if (!place->first.starts_with(below)) break;
    const StoredObject& object = place->second.second;
    if (object.kind == Kind::refused) parts_->fail(place->first, object.refusal);
    if (object.kind == Kind::dataset) found.push_back(place->first);
  }
  return found;  // sorted, as the map is
}

}  // namespace strata
