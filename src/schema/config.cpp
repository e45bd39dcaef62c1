// SPDX-License-Identifier: Apache-2.0
// Configuration values as text and back.
#include "strata/config.h"

#include <charconv>

#include "strata/error.h"
#include "strata/schema.h"

namespace strata {

std::string locate(const Where& where) {
  std::string text;
  if (!where.origin.empty()) text += where.origin + ": ";
  if (where.file.empty()) return text;
  return text + (where.line ? cat(where.file, ":", where.line, ":", where.column, ": ") : where.file + ": ");
}

const Config* Config::find(std::string_view key) const {
  if (const Map* entries = map())
    for (const auto& [name, value] : *entries)
      if (name == key) return &value;
  return nullptr;
}

void Config::set(std::string_view key, Config value) {
  if (is_null()) data = Map{};
  for (auto& [name, old] : std::get<Map>(data))
    if (name == key) {
      old = std::move(value);
      return;
    }
  set_entry(std::string(key), std::move(value));
}

void Config::set_entry(std::string key, Config value) {
  if (is_null()) data = Map{};
  std::get<Map>(data).emplace_back(std::move(key), std::move(value));
}

namespace {

// Text that reads back as text, not as a number, a bool, null or structure.
bool plain_text(const std::string& text) {
  if (text.empty() || text == "true" || text == "false" || text == "null" || read_number(text)) return false;
  if (text.front() == ' ' || text.back() == ' ' || text.front() == '-' || text.front() == '+' || text.front() == '.') return false;
  if (text.front() >= '0' && text.front() <= '9') return false;
  return text.find_first_of(",:[]{}#\"'\\\n\t&*!|>%@`") == std::string::npos;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else out += c;
  }
  return out + "\"";
}

struct Printer {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return to_text(value); }
  std::string operator()(std::int64_t value) const { return to_text(value); }
  std::string operator()(double value) const {
    std::string text = to_text(value);
    // A number that was a double stays one.
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& text) const { return plain_text(text) ? text : quoted(text); }
  std::string operator()(const Config::List& list) const {
    std::string out = "[";
    for (const auto& item : list) out += (out.size() > 1 ? ", " : "") + to_text(item);
    return out + "]";
  }
  std::string operator()(const Config::Map& map) const {
    std::string out = "{";
    for (const auto& [key, value] : map) out += (out.size() > 1 ? ", " : "") + (plain_text(key) ? key : quoted(key)) + ": " + to_text(value);
    return out + "}";
  }
};

// Reads flow style: {a: 1, b: [x, "y z"]}. Unquoted words become numbers, true, false or null where they look so.
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
  [[noreturn]] void fail(const std::string& what) const { throw Error(cat(locate(here()), what)); }
  Where here() const {
    Where where = where_;
    where.column += static_cast<int>(at_);
    return where;
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string read_quoted(char quote) {
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail("a quoted text is not closed");
      const char c = text_[at_++];
      if (c == quote) return out;
      if (c == '\\' && quote == '"' && at_ < text_.size()) {
        const char next = text_[at_++];
        out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      } else {
        out += c;
      }
    }
  }

  Config read_value(int depth) {
    if (depth > 100) fail("nested more than 100 deep");
    skip();
    const Where start = here();
    if (take('[')) {
      Config::List list;
      while (!take(']')) {
        if (!list.empty() && !take(',')) fail("',' or ']' is expected here");
        if (take(']')) break;
        list.push_back(read_value(depth + 1));
      }
      return Config(std::move(list), start);
    }
    if (take('{')) {
      Config map(Config::Map{}, start);
      bool first = true;
      while (!take('}')) {
        if (!first && !take(',')) fail("',' or '}' is expected here");
        if (take('}')) break;
        first = false;
        skip();
        const Where key_place = here();
        std::string key = take('"') ? read_quoted('"') : take('\'') ? read_quoted('\'') : read_word();
        if (key.empty()) fail("a key is expected here");
        if (map.find(key)) fail(cat("the key '", key, "' stands twice"));
        Config value;
        if (take(':')) value = read_value(depth + 1);
        value.key = key_place;
        map.set_entry(std::move(key), std::move(value));
      }
      return map;
    }
    if (take('"')) return Config(read_quoted('"'), start);
    if (take('\'')) return Config(read_quoted('\''), start);
    const std::string word = read_word();
    if (word.empty() || word == "null" || word == "~") return Config().at(start);
    if (word == "true") return Config(true, start);
    if (word == "false") return Config(false, start);
    if (word.find_first_not_of("-+0123456789") == std::string::npos)
      if (auto integer = read_integer(word)) return Config(*integer, start);
    if (auto number = read_number(word); number && word.find('/') == std::string::npos) return Config(*number, start);
    Config text(word, start);
    text.plain = true;
    return text;
  }

  std::string read_word() {
    std::string word;
    while (at_ < text_.size() && std::string_view(",:[]{}\n").find(text_[at_]) == std::string_view::npos) word += text_[at_++];
    while (!word.empty() && word.back() == ' ') word.pop_back();
    return word;
  }

  std::string_view text_;
  Where where_;
  std::size_t at_ = 0;
};

}  // namespace

Config Config::at(const Where& place) const {
  Config copy = *this;
  copy.where = place;
  return copy;
}

std::string to_text(const Config& config) { return std::visit(Printer{}, config.data); }

Config parse_flow(std::string_view text, const Where& where) { return FlowReader(text, where).read(); }

}  // namespace strata
