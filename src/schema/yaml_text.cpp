// SPDX-License-Identifier: Apache-2.0
#include "schema/yaml_text.h"

#include <algorithm>

#include "base/text.h"
#include "schema/excerpt.h"
#include "strata/error.h"

namespace strata {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The bytes of the UTF-8 character at the front, 0 where there is none: no overlong form, surrogate or code above
// 10ffff.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second >= 0x90))
    return 0;
  return size;
}

std::string hex(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'0', 'x', digits[static_cast<unsigned char>(c) >> 4], digits[static_cast<unsigned char>(c) & 15]};
}

}  // namespace

YamlText::YamlText(std::string_view text, const std::string& file) : text_(text), file_(file), line_starts_{0} {
  if (text.size() > most_yaml_bytes) {
    throw Error(
        cat(file, ": has ", bytes_text(text.size()), "; a configuration has at most ", bytes_text(most_yaml_bytes)));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
    if (continues_character(text[i])) inner_bytes_.push_back(i);
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw Error(cat(locate({file, 1, 1, ""}), "the file is UTF-16; save it as UTF-8"));
  if (text.starts_with("\xef\xbb\xbf"))
    throw Error(cat(locate({file, 1, 1, ""}), "the file begins with a byte order mark; save it as UTF-8 without one"));
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = character_bytes(text.substr(i));
    const char c = text[i];
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' &&
                          !(c == '\r' && text.substr(i + 1, 1) == "\n")) ||
                         c == 0x7f;
    if (size == 0 || control) {
      const auto after = std::ranges::upper_bound(line_starts_, i);
      const Where where = place(static_cast<int>(after - line_starts_.begin()) - 1, static_cast<int>(i - *(after - 1)));
      throw Error(cat(locate(where), size == 0 ? cat("byte ", hex(c), " is not UTF-8; save the file as UTF-8")
                                               : cat("control character ", hex(c), "; a configuration is text")));
    }
    i += size;
  }
}

std::string_view YamlText::line(int line) const {
  if (line < 0 || static_cast<std::size_t>(line) >= line_starts_.size()) return {};
  const std::size_t begin = line_starts_[static_cast<std::size_t>(line)];
  std::string_view whole = text_.substr(begin, text_.find('\n', begin) - begin);
  if (whole.ends_with('\r')) whole.remove_suffix(1);
  return whole;
}

Where YamlText::place(int line, int column) const {
  if (line < 0) return {file_, 0, 0, ""};
  const auto inner = std::ranges::lower_bound(inner_bytes_, offset(line, column)) -
                     std::ranges::lower_bound(inner_bytes_, offset(line, 0));
  return {file_, line + 1, column + 1 - static_cast<int>(inner), ""};
}

std::size_t YamlText::offset(int line, int column) const {
  if (line < 0 || static_cast<std::size_t>(line) >= line_starts_.size()) return text_.size();
  return std::min(line_starts_[static_cast<std::size_t>(line)] + static_cast<std::size_t>(std::max(column, 0)),
                  text_.size());
}

bool YamlText::closes_quote(std::size_t offset) const {
  const char quote = offset < text_.size() ? text_[offset] : '\0';
  if (quote != '"' && quote != '\'') return true;
  for (std::size_t i = offset + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\' && quote == '"') {
      ++i;
    } else if (text_[i] == quote) {
      if (quote == '"' || i + 1 >= text_.size() || text_[i + 1] != '\'') return true;
      ++i;  // '' is a quote within single quotes
    }
  }
  return false;
}

void YamlText::fail(const Where& where, const std::string& what) const {
  throw Error(cat(locate(where), what, excerpt_of(text_, where.line, where.column)));
}

}  // namespace strata
