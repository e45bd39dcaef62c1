// SPDX-License-Identifier: Apache-2.0
// Arguments that hold others: optional values, lists, maps. The untyped halves of the templates in schema.h.
#include "schema/field_types.h"
#include "strata/tensor.h"

namespace strata {

const FieldType& FieldTypeOf<std::map<std::string, Tensor>>::get() {
  static const FieldType type = [] {
    FieldType tensors;
    tensors.name = "arrays by path";
    tensors.read = [](void*, const Config&, const std::string&, Mistakes&) {};
    tensors.write = [](const void*) { return Config(); };
    tensors.json_schema = [] { return Config(Config::Map{{"type", Config("null")}}); };
    return tensors;
  }();
  return type;
}

FieldType optional_field(const FieldType& inner, bool (*has)(const void*), void* (*emplace)(void*),
                         const void* (*value)(const void*), void (*reset)(void*)) {
  FieldType type;
  type.name = inner.name + " or null";
  type.read = [&inner, emplace, reset](void* field, const Config& config, const std::string& subject,
                                       Mistakes& mistakes) {
    if (config.is_null()) reset(field);
    else inner.read(emplace(field), config, subject, mistakes);
  };
  type.write = [&inner, has, value](const void* field) { return has(field) ? inner.write(value(field)) : Config(); };
  type.json_schema = [&inner] {
    return Config(Config::Map{
        {"anyOf", Config(Config::List{inner.json_schema(), Config(Config::Map{{"type", Config("null")}})})}});
  };
  if (inner.unshare) {
    type.unshare = [&inner, has, value](void* field) {
      if (has(field)) inner.unshare(const_cast<void*>(value(field)));
    };
  }
  if (inner.check) {
    type.check = [&inner, has, value](const void* field, const Where& where, const std::string& subject,
                                      Mistakes& mistakes) {
      if (has(field)) inner.check(value(field), where, subject, mistakes);
    };
  }
  return type;
}

FieldType list_field(const FieldType& inner, std::size_t (*size)(const void*), void* (*append)(void*),
                     const void* (*item)(const void*, std::size_t), void (*clear)(void*)) {
  FieldType type;
  type.name = "a list, each " + inner.name;
  type.read = [&inner, append, clear](void* field, const Config& config, const std::string& subject,
                                      Mistakes& mistakes) {
    if (config.is_null()) return refuse(subject, "a list, each " + inner.name, config, mistakes);
    clear(field);
    const auto* list = config.list();
    if (!list)
      return inner.read(append(field), config, subject, mistakes);  // one stands for a list of one, as in Keras
    for (std::size_t i = 0; i < list->size(); ++i)
      inner.read(append(field), (*list)[i], cat(subject, " item ", i + 1), mistakes);
  };
  type.write = [&inner, size, item](const void* field) {
    Config::List list;
    for (std::size_t i = 0; i < size(field); ++i) list.push_back(inner.write(item(field, i)));
    return Config(std::move(list));
  };
  type.json_schema = [&inner] {
    const Config one = inner.json_schema();
    const Config many(Config::Map{{"type", Config("array")}, {"items", one}});
    return Config(Config::Map{{"anyOf", Config(Config::List{one, many})}});
  };
  if (inner.unshare) {
    type.unshare = [&inner, size, item](void* field) {
      for (std::size_t i = 0; i < size(field); ++i) inner.unshare(const_cast<void*>(item(field, i)));
    };
  }
  if (inner.check) {
    type.check = [&inner, size, item](const void* field, const Where& where, const std::string& subject,
                                      Mistakes& mistakes) {
      for (std::size_t i = 0; i < size(field); ++i)
        inner.check(item(field, i), where, cat(subject, " item ", i + 1), mistakes);
    };
  }
  return type;
}

FieldType map_field(const FieldType& inner, void* (*insert)(void*, const std::string&), void (*clear)(void*),
                    void (*each)(const void*, const std::function<void(const std::string&, const void*)>&)) {
  FieldType type;
  type.name = "a map, each value " + inner.name;
  type.read = [&inner, insert, clear](void* field, const Config& config, const std::string& subject,
                                      Mistakes& mistakes) {
    const auto* map = config.map();
    if (!map) return refuse(subject, "a map, each value " + inner.name, config, mistakes);
    clear(field);
    for (const auto& [key, value] : *map)
      inner.read(insert(field, key), value, cat(subject, " entry '", key, "'"), mistakes);
  };
  type.write = [&inner, each](const void* field) {
    Config map(Config::Map{});
    each(field, [&](const std::string& key, const void* value) { map.set_entry(key, inner.write(value)); });
    return map;
  };
  type.json_schema = [&inner] {
    return Config(Config::Map{{"type", Config("object")}, {"additionalProperties", inner.json_schema()}});
  };
  if (inner.unshare) {
    type.unshare = [&inner, each](void* field) {
      each(field, [&](const std::string&, const void* value) { inner.unshare(const_cast<void*>(value)); });
    };
  }
  if (inner.check) {
    type.check = [&inner, each](const void* field, const Where& where, const std::string& subject, Mistakes& mistakes) {
      each(field, [&](const std::string& key, const void* value) {
        inner.check(value, where, cat(subject, " entry '", key, "'"), mistakes);
      });
    };
  }
  return type;
}

}  // namespace strata
