// SPDX-License-Identifier: Apache-2.0
// A YAML file's text: what is refused before it is parsed, and places in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/config.h"

namespace strata {

inline constexpr std::size_t most_yaml_bytes = std::size_t{16} << 20;

// Error: not UTF-8, control characters, a byte order mark, too large.
class YamlText {
 public:
  YamlText(std::string_view text, const std::string& file);

  const std::string& file() const { return file_; }
  std::string_view text() const { return text_; }
  // Lines and columns as yaml-cpp counts them: from 0, columns in bytes. A negative line is no place.
  Where place(int line, int column) const;         // columns in characters
  std::size_t offset(int line, int column) const;  // of the byte; at most the text's size
  std::string_view line(int line) const;           // without its end; empty where there is none
  bool closes_quote(std::size_t offset) const;     // whether the quote that opens there is closed; true for none

  [[noreturn]] void fail(const Where& where, const std::string& what) const;  // with the source line

 private:
  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> line_starts_;
  std::vector<std::size_t> inner_bytes_;  // offsets of the bytes that continue a character
};

}  // namespace strata
