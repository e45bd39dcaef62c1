// SPDX-License-Identifier: Apache-2.0
#include "schema/json.h"

#include <cmath>

#include "strata/error.h"

namespace strata {
namespace {

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    } else out += c;
  }
  return out + "\"";
}

bool is_simple(const Config& config) { return !config.list() && !config.map(); }

void write(const Config& config, std::size_t depth, std::string& out) {
  const std::string inner((depth + 1) * 2, ' '), outer(depth * 2, ' ');
  if (const auto* list = config.list()) {
    bool simple = true;  // numbers and words stand in one line
    for (const Config& item : *list) simple = simple && is_simple(item);
    out += "[";
    for (std::size_t i = 0; i < list->size(); ++i) {
      out += i == 0 ? "" : simple ? ", " : ",";
      if (!simple) out += "\n" + inner;
      write((*list)[i], depth + 1, out);
    }
    out += simple ? "]" : "\n" + outer + "]";
  } else if (const auto* map = config.map()) {
    out += "{";
    for (std::size_t i = 0; i < map->size(); ++i) {
      out += (i == 0 ? "\n" : ",\n") + inner + json_text((*map)[i].first) + ": ";
      write((*map)[i].second, depth + 1, out);
    }
    out += map->empty() ? "}" : "\n" + outer + "}";
  } else if (const auto* text = config.text()) {
    out += json_text(*text);
  } else if (const auto* number = std::get_if<double>(&config.data)) {
    out += std::isfinite(*number) ? to_text(config) : "null";
  } else {
    out += to_text(config);
  }
}

}  // namespace

std::string to_json(const Config& config) {
  std::string out;
  write(config, 0, out);
  return out;
}

}  // namespace strata
