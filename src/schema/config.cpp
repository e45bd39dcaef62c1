// SPDX-License-Identifier: Apache-2.0
// Configuration values: finding, setting, and writing them as one line of flow style.
#include "strata/config.h"

#include <cmath>

#include "schema/numbers.h"
#include "strata/error.h"

namespace strata {

std::string locate(const Where& where) {
  std::string text;
  if (!where.origin.empty()) text += where.origin + ": ";
  if (where.file.empty()) return text;
  return text + (where.line ? cat(where.file, ":", where.line, ":", where.column, ": ") : where.file + ": ");
}

const Config* Config::find(std::string_view word) const {
  if (const Map* entries = map())
    for (const auto& [name, value] : *entries)
      if (name == word) return &value;
  return nullptr;
}

void Config::set(std::string_view word, Config value) {
  if (is_null()) data = Map{};
  STRATA_CHECK(map(), "'", word, "' is set in ", *this, ", which is no map");
  for (auto& [name, old] : std::get<Map>(data))
    if (name == word) {
      old = std::move(value);
      return;
    }
  set_entry(std::string(word), std::move(value));
}

void Config::set_entry(std::string word, Config value) {
  if (is_null()) data = Map{};
  STRATA_CHECK(map(), "'", word, "' is set in ", *this, ", which is no map");
  std::get<Map>(data).emplace_back(std::move(word), std::move(value));
}

Config Config::at(const Where& place) const {
  Config copy = *this;
  copy.where = place;
  return copy;
}

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Whether the text, bare, is read as one word by flow style and by YAML in any place.
bool is_word(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("?!&*|>'\"%@`#").find(text.front()) != std::string_view::npos) return false;
  if (text.front() == '-' && (text.size() == 1 || text[1] == ' ' || text[1] == '-')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_control(text[i]) || std::string_view(",[]{}?").find(text[i]) != std::string_view::npos) return false;
    if (text[i] == ':' && text[i + 1] == ' ') return false;
    if (text[i] == '#' && text[i - 1] == ' ') return false;
  }
  return true;
}

// Text that was meant as text but would, bare, be taken for something else.
bool looks_typed(const std::string& text) {
  static constexpr std::string_view words[] = {"null",  "Null",  "NULL",  "~",    "true",  "True",  "TRUE",
                                               "false", "False", "FALSE", ".inf", "-.inf", "+.inf", ".nan"};
  for (const std::string_view word : words)
    if (text == word) return true;
  return static_cast<bool>(read_numeral(text).value);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (is_control(c)) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\x";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    } else out += c;
  }
  return out + "\"";
}

std::string text_of(const std::string& text, bool plain) {
  return is_word(text) && (plain || !looks_typed(text)) ? text : quoted(text);
}

std::string number_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  const std::string text = to_text(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;  // a double stays one
}

}  // namespace

std::string to_text(const Config& config) {
  if (const auto* value = std::get_if<bool>(&config.data)) return to_text(*value);
  if (const auto* value = std::get_if<std::int64_t>(&config.data)) return to_text(*value);
  if (const auto* value = std::get_if<double>(&config.data)) return number_text(*value);
  if (const auto* text = config.text()) return text_of(*text, config.plain);
  if (const auto* list = config.list()) {
    std::string out = "[";
    for (const Config& item : *list) out += (out.size() > 1 ? ", " : "") + to_text(item);
    return out + "]";
  }
  if (const auto* map = config.map()) {
    std::string out = "{";
    for (const auto& [key, value] : *map)
      out += (out.size() > 1 ? ", " : "") + text_of(key, true) + ": " + to_text(value);
    return out + "}";
  }
  return "null";
}

}  // namespace strata
