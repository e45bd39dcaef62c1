// SPDX-License-Identifier: Apache-2.0
// What strata-guard tells about a file, and how it is said over a socket: one length, then the catalogue; afterwards the
// numbers of a dataset at a time. The reader believes none of it: what it unpacks is checked against the bytes there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/dtype.h"

namespace strata {

struct StoredAttribute {
  std::string name, text;
  std::string refusal;  // why it is not read; "" when it is
};

struct StoredObject {
  enum class Kind : std::uint8_t { group, dataset, other, refused };  // refused: no one looks behind it
  std::string path;                                                   // "" is the root
  Kind kind = Kind::group;
  std::string refusal;              // of a dataset, or of what is refused
  bool is_text = false;             // one text of `bytes` bytes
  DType dtype = DType::none;        // of numbers
  std::vector<std::int64_t> shape;  // of numbers
  std::uint64_t bytes = 0;          // once read
  bool is_direct = false;           // they lie in the file as they are read, at `offset`
  std::uint64_t offset = 0;
  std::vector<StoredAttribute> attributes;
};

struct Catalogue {
  std::string failure;  // why there is none
  std::vector<StoredObject> objects;
};

constexpr std::string_view wire_greeting = "strata-guard 1\n";
constexpr std::uint64_t longest_catalogue = 64 << 20;
constexpr std::uint32_t longest_frame = 16 << 20;    // of a dataset's numbers
constexpr std::uint32_t frame_failure = 0xFFFFFFFF;  // instead of a frame's length: a message comes

std::string pack(const Catalogue& catalogue);
Catalogue unpack(std::string_view bytes,
                 std::uint64_t file_size);  // Error: it is none, or reaches behind the file's end

// Unpacked, a dataset may need so much beyond what the caller wants.
std::uint64_t most_unpacked(std::uint64_t file_size, std::uint64_t wanted);

}  // namespace strata
