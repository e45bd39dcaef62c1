// SPDX-License-Identifier: Apache-2.0
// How each C++ type of a single argument is named, read and written. Unquoted text from a file is read as what the
// argument wants; quoted text is text.
#include <cmath>
#include <limits>

#include "base/text.h"
#include "schema/field_types.h"
#include "schema/numbers.h"
#include "schema/shown.h"

namespace strata {

void refuse(const std::string& subject, std::string_view wanted, const Config& got, Mistakes& mistakes,
            std::string_view cure) {
  mistakes.add(got.where, cat(subject, " should be ", wanted, ", got ", shown(got), cure.empty() ? "" : "; ", cure));
}

namespace {

// A string may also be an interpolation, which is replaced before values are read.
constexpr const char* number_pattern = "^([-+0-9._eE/ ]+|.*\\$\\{.+\\}.*)$";

Config json_number(const char* type) {
  return Config(
      Config::Map{{"type", Config(Config::List{Config(type), Config("string")})}, {"pattern", Config(number_pattern)}});
}

// What `numeral` says of a value: quotes and other kinds of values are told apart.
template <class Number> Numeral<Number> numeral_of(const Config& config, Numeral<Number> (*numeral)(std::string_view)) {
  if (const auto* text = config.text()) {
    if (config.plain) return numeral(*text);
    if (numeral(*text).value) return {{}, "in quotes it is text"};
  }
  return {};
}

Numeral<double> number_in(const Config& config) {
  if (const auto* integer = std::get_if<std::int64_t>(&config.data)) return {static_cast<double>(*integer), ""};
  if (const auto* number = std::get_if<double>(&config.data)) {
    // Our own text and programs hold infinities (a best value so far); files and flags do not.
    if (std::isfinite(*number) || (config.where.file.empty() && config.where.origin.empty())) return {*number, ""};
    return {{}, "a number must be finite"};
  }
  return numeral_of(config, read_numeral);
}

template <class T> Numeral<std::int64_t> integer_in(const Config& config) {
  Numeral<std::int64_t> read;
  if (const auto* integer = std::get_if<std::int64_t>(&config.data)) read.value = *integer;
  else if (const auto* number = std::get_if<double>(&config.data)) read = read_whole(to_text(Config(*number)));
  else read = numeral_of(config, read_whole);
  if (read.value && (*read.value < std::numeric_limits<T>::min() || *read.value > std::numeric_limits<T>::max())) {
    return {{}, cat("the largest is ", std::numeric_limits<T>::max())};
  }
  return read;
}

template <class T> FieldType integer_field() {
  FieldType type;
  type.name = "an integer";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    const auto [value, fault] = integer_in<T>(config);
    if (!value) return refuse(subject, "an integer", config, mistakes, fault);
    *static_cast<T*>(field) = static_cast<T>(*value);
  };
  type.write = [](const void* field) { return Config(static_cast<std::int64_t>(*static_cast<const T*>(field))); };
  type.json_schema = [] { return json_number("integer"); };
  return type;
}

FieldType number_field() {
  FieldType type;
  type.name = "a number";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    const auto [value, fault] = number_in(config);
    if (!value) return refuse(subject, "a number", config, mistakes, fault);
    *static_cast<double*>(field) = *value;
  };
  type.write = [](const void* field) { return Config(*static_cast<const double*>(field)); };
  type.json_schema = [] { return json_number("number"); };
  return type;
}

FieldType bool_field() {
  FieldType type;
  type.name = "true or false";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    if (const auto* value = std::get_if<bool>(&config.data)) {
      *static_cast<bool*>(field) = *value;
      return;
    }
    std::string cure;
    if (config.text()) {
      const std::string& text = *config.text();
      const std::string word = lower(text);
      if (config.plain && (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" ||
                           text == "FALSE")) {
        *static_cast<bool*>(field) = word == "true";
        return;
      }
      if (word == "true" || word == "false") cure = config.plain ? cat("write ", word) : "in quotes it is text";
      else if (word == "yes" || word == "y" || word == "on" || word == "1") cure = "write true";
      else if (word == "no" || word == "n" || word == "off" || word == "0") cure = "write false";
    }
    refuse(subject, "true or false", config, mistakes, cure);
  };
  type.write = [](const void* field) { return Config(*static_cast<const bool*>(field)); };
  type.json_schema = [] {
    return Config(Config::Map{{"type", Config(Config::List{Config("boolean"), Config("string")})},
                              {"pattern", Config("^.*\\$\\{.+\\}.*$")}});
  };
  return type;
}

FieldType text_field() {
  FieldType type;
  type.name = "text";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    auto& value = *static_cast<std::string*>(field);
    if (config.text()) value = *config.text();
    else if (config.is_null() || config.list() || config.map()) refuse(subject, "text", config, mistakes, "");
    else value = to_text(config);  // a flag's true or 12 where text is wanted: the letters as they stood
  };
  type.write = [](const void* field) { return Config(*static_cast<const std::string*>(field)); };
  type.json_schema = [] { return Config(Config::Map{{"type", Config("string")}}); };
  return type;
}

// One integer, or a list of them: mistakes name the item. Empty when there was a mistake or the list is no such list.
std::optional<std::vector<std::int64_t>> integers_in(const Config& config, const std::string& subject,
                                                     std::string_view wanted, std::size_t least, std::size_t most,
                                                     Mistakes& mistakes) {
  const auto* list = config.list();
  if (!list) {
    const auto [value, fault] = integer_in<std::int64_t>(config);
    if (value) return std::vector{*value};
    refuse(subject, wanted, config, mistakes, fault);
    return {};
  }
  if (list->size() < least || list->size() > most) {
    refuse(subject, wanted, config, mistakes, "");
    return {};
  }
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto [value, fault] = integer_in<std::int64_t>((*list)[i]);
    if (value) values.push_back(*value);
    else refuse(cat(subject, " item ", i + 1), "an integer", (*list)[i], mistakes, fault);
  }
  return values.size() == list->size() ? std::optional(std::move(values)) : std::nullopt;
}

Config integers_config(std::span<const std::int64_t> values) {
  Config::List list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return Config(std::move(list));
}

Config json_integers(std::int64_t least, std::int64_t most) {
  Config array(Config::Map{{"type", Config("array")}, {"items", json_number("integer")}});
  if (least > 0) array.set("minItems", least);
  if (most > 0) array.set("maxItems", most);
  return array;
}

Config either(Config one, Config other) {
  return Config(Config::Map{{"anyOf", Config(Config::List{std::move(one), std::move(other)})}});
}

FieldType pair_field() {
  FieldType type;
  type.name = "an integer or a list of two";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    const auto values = integers_in(config, subject, "an integer or a list of two", 2, 2, mistakes);
    if (values) *static_cast<Pair*>(field) = Pair((*values)[0], values->back());
  };
  type.write = [](const void* field) {
    const auto& pair = *static_cast<const Pair*>(field);
    const std::int64_t values[] = {pair.first, pair.second};
    return integers_config(values);
  };
  type.json_schema = [] { return either(json_number("integer"), json_integers(2, 2)); };
  return type;
}

FieldType integers_field() {
  FieldType type;
  type.name = "an integer or a list of integers";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    auto values =
        integers_in(config, subject, "an integer or a list of integers", 0, static_cast<std::size_t>(-1), mistakes);
    if (values) static_cast<Ints*>(field)->values = std::move(*values);
  };
  type.write = [](const void* field) {
    const auto& values = static_cast<const Ints*>(field)->values;
    return values.size() == 1 ? Config(values[0]) : integers_config(values);
  };
  type.json_schema = [] { return either(json_number("integer"), json_integers(0, 0)); };
  return type;
}

FieldType numbers_field() {
  FieldType type;
  type.name = "a number or a list of numbers";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    std::vector<double> values;
    const auto* list = config.list();
    for (std::size_t i = 0; i < (list ? list->size() : 1); ++i) {
      const Config& item = list ? (*list)[i] : config;
      const auto [value, fault] = number_in(item);
      if (value) values.push_back(*value);
      else if (list) refuse(cat(subject, " item ", i + 1), "a number", item, mistakes, fault);
      else refuse(subject, "a number or a list of numbers", item, mistakes, fault);
    }
    if (values.size() == (list ? list->size() : 1)) static_cast<Doubles*>(field)->values = std::move(values);
  };
  type.write = [](const void* field) {
    const auto& values = static_cast<const Doubles*>(field)->values;
    if (values.size() == 1) return Config(values[0]);
    Config::List list;
    for (const double value : values) list.emplace_back(value);
    return Config(std::move(list));
  };
  type.json_schema = [] {
    return either(json_number("number"),
                  Config(Config::Map{{"type", Config("array")}, {"items", json_number("number")}}));
  };
  return type;
}

FieldType shape_field() {
  FieldType type;
  type.name = "a list of at most 8 extents";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    constexpr std::string_view wanted = "a list of at most 8 extents";
    if (!config.list())
      return refuse(subject, wanted, config, mistakes, config.text() ? cat("write [", *config.text(), "]") : "");
    const auto values = integers_in(config, subject, wanted, 0, Shape::max_rank, mistakes);
    if (!values) return;
    for (std::size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i] < 0)
        return refuse(cat(subject, " item ", i + 1), "an extent of at least 0", (*config.list())[i], mistakes, "");
    }
    *static_cast<Shape*>(field) = Shape(*values);
  };
  type.write = [](const void* field) { return integers_config(static_cast<const Shape*>(field)->extents()); };
  type.json_schema = [] { return json_integers(0, Shape::max_rank); };
  return type;
}

FieldType dtype_field() {
  FieldType type;
  type.name = "a dtype";
  type.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    if (!config.text()) return refuse(subject, "a dtype", config, mistakes, "as in float32");
    try {
      *static_cast<DType*>(field) = dtype_named(*config.text());
    } catch (const Error& error) {
      mistakes.add(config.where, cat(subject, ": ", error.what()));
    }
  };
  type.write = [](const void* field) { return Config(to_text(*static_cast<const DType*>(field))); };
  type.json_schema = [] {
    Config::List names;
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32,
                              DType::int64, DType::uint8, DType::boolean})
      names.emplace_back(to_text(dtype));
    return Config(Config::Map{{"enum", Config(std::move(names))}});
  };
  return type;
}

FieldType config_field() {
  FieldType type;
  type.name = "any value";
  type.read = [](void* field, const Config& config, const std::string&, Mistakes&) {
    *static_cast<Config*>(field) = config;
  };
  type.write = [](const void* field) { return *static_cast<const Config*>(field); };
  type.json_schema = [] { return Config(Config::Map{}); };
  return type;
}

}  // namespace

const FieldType& FieldTypeOf<bool>::get() {
  static const FieldType type = bool_field();
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
  static const FieldType type = number_field();
  return type;
}
const FieldType& FieldTypeOf<std::string>::get() {
  static const FieldType type = text_field();
  return type;
}
const FieldType& FieldTypeOf<Pair>::get() {
  static const FieldType type = pair_field();
  return type;
}
const FieldType& FieldTypeOf<Ints>::get() {
  static const FieldType type = integers_field();
  return type;
}
const FieldType& FieldTypeOf<Doubles>::get() {
  static const FieldType type = numbers_field();
  return type;
}
const FieldType& FieldTypeOf<Shape>::get() {
  static const FieldType type = shape_field();
  return type;
}
const FieldType& FieldTypeOf<DType>::get() {
  static const FieldType type = dtype_field();
  return type;
}
const FieldType& FieldTypeOf<Config>::get() {
  static const FieldType type = config_field();
  return type;
}

}  // namespace strata
