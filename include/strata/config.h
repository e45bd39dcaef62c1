// SPDX-License-Identifier: Apache-2.0
// A parsed configuration value that knows where it came from. Knows nothing of YAML, layers or flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace strata {

// A place in a file, or (with no file) in a flag or a program; `origin` says which: "--set", "environment", "".
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string origin;
};

// null, true/false, a number, text, a list or a map that keeps the author's order. Text that came from a file without
// quotes is `plain`: the schema's type decides whether it is a number, a bool or text.
class Config {
 public:
  using List = std::vector<Config>;
  using Map = std::vector<std::pair<std::string, Config>>;
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map>;

  Config() = default;
  Config(bool value, Where place = {}) : data(value), where(std::move(place)) {}
  Config(int value, Where place = {}) : data(std::int64_t{value}), where(std::move(place)) {}
  Config(std::int64_t value, Where place = {}) : data(value), where(std::move(place)) {}
  Config(double value, Where place = {}) : data(value), where(std::move(place)) {}
  Config(const char* value, Where place = {}) : data(std::string(value)), where(std::move(place)) {}
  Config(std::string value, Where place = {}) : data(std::move(value)), where(std::move(place)) {}
  Config(List value, Where place = {}) : data(std::move(value)), where(std::move(place)) {}
  Config(Map value, Where place = {}) : data(std::move(value)), where(std::move(place)) {}

  bool is_null() const { return data.index() == 0; }
  const std::string* text() const { return std::get_if<std::string>(&data); }
  const List* list() const { return std::get_if<List>(&data); }
  const Map* map() const { return std::get_if<Map>(&data); }
  const Config* find(std::string_view word) const;  // in a map; null when absent or no map
  void set(std::string_view word, Config value);    // in a map (null becomes one): replaces or appends
  void set_entry(std::string word, Config value);   // appends without looking for the key

  Config at(const Where& place) const;  // a copy that stands elsewhere

  bool operator==(const Config& other) const { return data == other.data; }  // where it stood does not count

  Data data;
  Where where;
  Where key;           // where the key stood, for a map's entry
  bool plain = false;  // unquoted text from a file
};

std::string to_text(const Config& config);  // one line, flow style: {units: 10, activation: relu}
Config parse_flow(std::string_view text, const Where& where = {});  // reads what to_text writes; Error with column
std::string locate(const Where& where);                             // "configs/mnist.yaml:14:14: ", "--set: " or ""

}  // namespace strata
