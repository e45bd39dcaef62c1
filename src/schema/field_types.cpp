// SPDX-License-Identifier: Apache-2.0
// How each C++ type of argument is named, read and written.
#include <cmath>

#include "base/text.h"
#include "strata/schema.h"

namespace strata {

namespace {

void mismatch(const std::string& subject, const std::string& wanted, const Config& got, Mistakes& mistakes, const std::string& more = "") {
  mistakes.add(got.where, cat(subject, " should be ", wanted, ", got ", got.is_null() ? "nothing" : to_text(got), more));
}

Config json_type(const char* type) { return Config(Config::Map{{"type", Config(type)}}); }

std::string why_no_number(const std::string& text) {
  if (text.size() > 1 && text[0] == '0' && std::isdigit(static_cast<unsigned char>(text[1]))) return "; a number does not begin with 0";
  if (text == "nan" || text == ".nan" || text == "inf" || text == ".inf" || text == "-.inf") return "; a number must be finite";
  return "";
}

std::optional<double> number_of(const Config& config) {
  if (const auto* integer = std::get_if<std::int64_t>(&config.data)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&config.data)) return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
  if (config.text() && config.plain) return read_number(*config.text());
  return {};
}

std::optional<std::int64_t> integer_of(const Config& config) {
  if (const auto* integer = std::get_if<std::int64_t>(&config.data)) return *integer;
  if (config.text() && config.plain) return read_integer(*config.text());
  if (const auto* number = std::get_if<double>(&config.data); number && std::abs(*number) < 9e15 && *number == std::floor(*number))
    return static_cast<std::int64_t>(*number);
  return {};
}

template <class T> FieldType integer_field() {
  FieldType type;
  type.name = "an integer";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    const auto value = integer_of(config);
    if (!value || static_cast<std::int64_t>(static_cast<T>(*value)) != *value)
      return mismatch(subject, "an integer", config, mistakes, config.text() ? why_no_number(*config.text()) : "");
    *static_cast<T*>(field) = static_cast<T>(*value);
  };
  type.write = [](const void* field) { return Config(static_cast<std::int64_t>(*static_cast<const T*>(field))); };
  type.json_schema = [] { return json_type("integer"); };
  return type;
}

// One whole number, or a list of them of a permitted length.
bool read_integers(const Config& config, std::size_t least, std::size_t most, std::vector<std::int64_t>& out) {
  out.clear();
  if (const auto one = integer_of(config)) {
    out.push_back(*one);
    return true;
  }
  const auto* list = config.list();
  if (!list || list->size() < least || list->size() > most) return false;
  for (const Config& item : *list) {
    const auto value = integer_of(item);
    if (!value) return false;
    out.push_back(*value);
  }
  return true;
}

Config integers_config(std::span<const std::int64_t> values) {
  Config::List list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return Config(std::move(list));
}

Config integers_schema() {
  return Config(Config::Map{{"anyOf", Config(Config::List{json_type("integer"), Config(Config::Map{{"type", Config("array")}, {"items", json_type("integer")}})})}});
}

}  // namespace

const FieldType& FieldTypeOf<bool>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "true or false";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      if (const auto* value = std::get_if<bool>(&config.data)) *static_cast<bool*>(field) = *value;
      else if (config.text() && config.plain && (*config.text() == "true" || *config.text() == "false")) *static_cast<bool*>(field) = *config.text() == "true";
      else mismatch(subject, "true or false", config, mistakes);
    };
    t.write = [](const void* field) { return Config(*static_cast<const bool*>(field)); };
    t.json_schema = [] { return json_type("boolean"); };
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<std::int64_t>::get() {
  static const FieldType type = integer_field<std::int64_t>();
  return type;
}
const FieldType& FieldTypeOf<int>::get() {
  static const FieldType type = integer_field<int>();
  return type;
}

const FieldType& FieldTypeOf<double>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "a number";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      if (const auto value = number_of(config)) *static_cast<double*>(field) = *value;
      else mismatch(subject, "a number", config, mistakes, config.text() ? why_no_number(*config.text()) : "");
    };
    t.write = [](const void* field) { return Config(*static_cast<const double*>(field)); };
    t.json_schema = [] { return json_type("number"); };
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<std::string>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "text";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      if (config.text()) *static_cast<std::string*>(field) = *config.text();
      else mismatch(subject, "text", config, mistakes);
    };
    t.write = [](const void* field) { return Config(*static_cast<const std::string*>(field)); };
    t.json_schema = [] { return json_type("string"); };
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<Pair>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "an integer or a list of two";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      std::vector<std::int64_t> values;
      if (!read_integers(config, 2, 2, values)) return mismatch(subject, "an integer or a list of two", config, mistakes);
      *static_cast<Pair*>(field) = values.size() == 1 ? Pair(values[0]) : Pair(values[0], values[1]);
    };
    t.write = [](const void* field) {
      const auto& pair = *static_cast<const Pair*>(field);
      const std::int64_t values[] = {pair.first, pair.second};
      return integers_config(values);
    };
    t.json_schema = integers_schema;
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<Ints>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "an integer or a list of integers";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      std::vector<std::int64_t> values;
      if (!read_integers(config, 0, 64, values)) return mismatch(subject, "an integer or a list of integers", config, mistakes);
      static_cast<Ints*>(field)->values = std::move(values);
    };
    t.write = [](const void* field) {
      const auto& values = static_cast<const Ints*>(field)->values;
      return values.size() == 1 ? Config(values[0]) : integers_config(values);
    };
    t.json_schema = integers_schema;
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<Shape>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "a list of extents";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      std::vector<std::int64_t> values;
      if (!config.list() || !read_integers(config, 0, Shape::max_rank, values)) return mismatch(subject, "a list of at most 8 extents", config, mistakes);
      for (const std::int64_t value : values)
        if (value < 0) return mismatch(subject, "a list of extents of at least 0", config, mistakes);
      *static_cast<Shape*>(field) = Shape(values);
    };
    t.write = [](const void* field) { return integers_config(static_cast<const Shape*>(field)->extents()); };
    t.json_schema = [] { return Config(Config::Map{{"type", Config("array")}, {"items", json_type("integer")}}); };
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<DType>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "a dtype";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      try {
        if (!config.text()) return mismatch(subject, "a dtype such as float32", config, mistakes);
        *static_cast<DType*>(field) = dtype_named(*config.text());
      } catch (const Error& error) {
        mistakes.add(config.where, cat(subject, ": ", error.what()));
      }
    };
    t.write = [](const void* field) { return Config(to_text(*static_cast<const DType*>(field))); };
    t.json_schema = [] { return json_type("string"); };
    return t;
  }();
  return type;
}

const FieldType& FieldTypeOf<Config>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "anything";
    t.read = [](void* field, const Config& config, const std::string&, Mistakes&) { *static_cast<Config*>(field) = config; };
    t.write = [](const void* field) { return *static_cast<const Config*>(field); };
    t.json_schema = [] { return Config(Config::Map{}); };
    return t;
  }();
  return type;
}

FieldType optional_field(const FieldType& inner, bool (*has)(const void*), void* (*emplace)(void*), const void* (*get)(const void*), void (*reset)(void*)) {
  FieldType type;
  type.name = inner.name + " or null";
  type.read = [&inner, emplace, reset](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    if (config.is_null() || (config.text() && config.plain && *config.text() == "null")) reset(field);
    else inner.read(emplace(field), config, subject, mistakes);
  };
  type.write = [&inner, has, get](const void* field) { return has(field) ? inner.write(get(field)) : Config(); };
  type.json_schema = [&inner] { return Config(Config::Map{{"anyOf", Config(Config::List{inner.json_schema(), json_type("null")})}}); };
  return type;
}

FieldType list_field(const FieldType& inner, std::size_t (*size)(const void*), void* (*append)(void*), const void* (*get)(const void*, std::size_t), void (*clear)(void*)) {
  FieldType type;
  type.name = "a list, each " + inner.name;
  type.read = [&inner, append, clear](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    clear(field);
    if (config.is_null()) return mismatch(subject, "a list, each " + inner.name, config, mistakes);
    const auto* list = config.list();
    if (!list) return inner.read(append(field), config, subject, mistakes);  // one stands for a list of one
    for (std::size_t i = 0; i < list->size(); ++i) inner.read(append(field), (*list)[i], cat(subject, "[", i, "]"), mistakes);
  };
  type.write = [&inner, size, get](const void* field) {
    Config::List list;
    for (std::size_t i = 0; i < size(field); ++i) list.push_back(inner.write(get(field, i)));
    return Config(std::move(list));
  };
  type.json_schema = [&inner] {
    const Config item = inner.json_schema();
    return Config(Config::Map{{"anyOf", Config(Config::List{item, Config(Config::Map{{"type", Config("array")}, {"items", item}})})}});
  };
  return type;
}

FieldType map_field(const FieldType& inner, void* (*insert)(void*, const std::string&), void (*clear)(void*),
                    void (*each)(const void*, const std::function<void(const std::string&, const void*)>&)) {
  FieldType type;
  type.name = "a map, each " + inner.name;
  type.read = [&inner, insert, clear](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    clear(field);
    const auto* map = config.map();
    if (!map) return mismatch(subject, "a map, each " + inner.name, config, mistakes);
    for (const auto& [key, value] : *map) inner.read(insert(field, key), value, cat(subject, ".", key), mistakes);
  };
  type.write = [&inner, each](const void* field) {
    Config map(Config::Map{});
    each(field, [&](const std::string& key, const void* value) { map.set_entry(key, inner.write(value)); });
    return map;
  };
  type.json_schema = [&inner] { return Config(Config::Map{{"type", Config("object")}, {"additionalProperties", inner.json_schema()}}); };
  return type;
}

}  // namespace strata
