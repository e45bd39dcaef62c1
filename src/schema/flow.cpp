// SPDX-License-Identifier: Apache-2.0
// Reads flow style, the one-line form that to_text writes: {units: 10, shape: [2, 3], name: "a b"}.
#include <algorithm>
#include <cmath>
#include <string>

#include "schema/numbers.h"
#include "strata/config.h"
#include "strata/error.h"

namespace strata {
namespace {

constexpr int deepest = 100;

// A bare word becomes a number, true, false or null only where that value is written back with the very same letters: a
// schema that wants text then still sees what was written, and one that wants a number reads the rest itself.
Config typed(std::string word, const Where& where) {
  if (word.empty() || word == "null" || word == "~") return Config().at(where);
  if (word == "true" || word == "false") return Config(word == "true", where);
  if (word == ".inf" || word == "-.inf") return Config(word[0] == '-' ? -HUGE_VAL : HUGE_VAL, where);
  if (word == ".nan") return Config(NAN, where);
  if (const auto integer = read_integer(word); integer && to_text(*integer) == word) return Config(*integer, where);
  if (const auto number = read_number(word)) {
    Config config(*number, where);
    if (to_text(config) == word) return config;
  }
  Config text(std::move(word), where);
  text.plain = true;
  return text;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

class FlowReader {
 public:
  FlowReader(std::string_view text, const Where& where) : text_(text), where_(where) {}

  Config read() {
    Config value = read_value(0);
    skip();
    if (at_ != text_.size()) fail(cat("'", text_.substr(at_, 20), "' stands after the value"));
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(cat(locate(here()), what,
                    where_.file.empty() ? cat(" (at ", at_ + 1, " of '", text_.substr(0, 80), "')") : ""));
  }
  Where here() const {
    Where where = where_;
    where.column = std::max(where.column, 1) + static_cast<int>(at_);
    return where;
  }
  bool ended() const { return at_ >= text_.size(); }
  bool ends_word(std::size_t at) const {
    return at >= text_.size() || std::string_view(" \t\n,]}").find(text_[at]) != std::string_view::npos;
  }
  void skip() {
    while (!ended() && std::string_view(" \t\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char c) {
    skip();
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::uint32_t read_hex(std::size_t count) {
    std::uint32_t code = 0;
    for (; count > 0; --count, ++at_) {
      const std::size_t digit =
          ended() ? std::string_view::npos : std::string_view("0123456789abcdef0123456789ABCDEF").find(text_[at_]);
      if (digit == std::string_view::npos) fail("a hexadecimal digit is expected here");
      code = code << 4 | static_cast<std::uint32_t>(digit & 15);
    }
    return code;
  }

  std::string read_quoted(char quote) {
    std::string out;
    while (!ended()) {
      const char c = text_[at_++];
      if (c == quote) {
        if (quote == '"' || ended() || text_[at_] != '\'') return out;
        ++at_;  // '' within single quotes is one
      }
      if (c != '\\' || quote == '\'') {
        out += c;
        continue;
      }
      const char escaped = ended() ? '\0' : text_[at_++];
      switch (escaped) {
        case 'n': out += '\n'; break;
        case 't': out += '\t'; break;
        case 'r': out += '\r'; break;
        case '0': out += '\0'; break;
        case '"':
        case '\\':
        case '/': out += escaped; break;
        case 'x': append_utf8(out, read_hex(2)); break;
        case 'u': append_utf8(out, read_hex(4)); break;
        default: --at_; fail("this escape is not known; those there are: \\n \\t \\r \\0 \\\" \\\\ \\/ \\xNN \\uNNNN");
      }
    }
    fail(cat("a ", quote, " is not closed"));
  }

  // Up to what ends it: a bracket, a comma, or the colon of a key.
  std::string read_word() {
    const std::size_t begin = at_;
    while (!ended() && std::string_view(",[]{}\n").find(text_[at_]) == std::string_view::npos &&
           !(text_[at_] == ':' && ends_word(at_ + 1)))
      ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    while (word.ends_with(' ') || word.ends_with('\t')) word.remove_suffix(1);
    return std::string(word);
  }

  Config read_list(const Where& start, int depth) {
    Config::List list;
    while (!take(']')) {
      if (!list.empty() && !take(',')) fail("',' or ']' is expected here");
      if (!list.empty() && take(']')) break;
      skip();
      if (ended() || text_[at_] == ',') fail("a value is expected here");
      list.push_back(read_value(depth + 1));
    }
    return Config(std::move(list), start);
  }

  Config read_map(const Where& start, int depth) {
    Config map(Config::Map{}, start);
    while (!take('}')) {
      if (!map.map()->empty() && !take(',')) fail("',' or '}' is expected here");
      if (!map.map()->empty() && take('}')) break;
      skip();
      const Where place = here();
      const bool bare = !ended() && text_[at_] != '"' && text_[at_] != '\'';
      std::string key = take('"') ? read_quoted('"') : take('\'') ? read_quoted('\'') : read_word();
      if (key.empty() && bare) fail("a key is expected here");
      if (map.find(key)) fail(cat("the key '", key, "' stands twice"));
      Config value = take(':') ? read_value(depth + 1) : Config().at(place);
      value.key = place;
      map.set_entry(std::move(key), std::move(value));
    }
    return map;
  }

  Config read_value(int depth) {
    if (depth > deepest) fail(cat("nested more than ", deepest, " deep"));
    skip();
    const Where start = here();
    if (take('[')) return read_list(start, depth);
    if (take('{')) return read_map(start, depth);
    if (take('"')) return Config(read_quoted('"'), start);
    if (take('\'')) return Config(read_quoted('\''), start);
    return typed(read_word(), start);
  }

  std::string_view text_;
  const Where& where_;
  std::size_t at_ = 0;
};

}  // namespace

Config parse_flow(std::string_view text, const Where& where) { return FlowReader(text, where).read(); }

}  // namespace strata
