// SPDX-License-Identifier: Apache-2.0
// The arguments of a part, said once: name, doc, type, default, rule. YAML, flags, checkpoints, error messages, the
// manual, JSON Schema and the conformance tests are derived from it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "strata/config.h"
#include "strata/dtype.h"
#include "strata/error.h"

namespace strata {

class Tensor;

class Schema;

// Collects mistakes so that a file's are reported all at once, sorted by place.
class Mistakes {
 public:
  void add(const Where& where, const std::string& message);
  bool empty() const { return entries_.empty(); }
  std::size_t count() const { return entries_.size(); }
  void raise() const;  // throws one Error with every mistake, when there is any

 private:
  struct Entry {
    Where where;
    std::string text;
  };
  std::vector<Entry> entries_;
};

// How the arguments of one C++ type are named, read and written: one object per type. `read` adds to the mistakes and
// leaves the field alone when the value does not fit.
struct FieldType {
  std::string name;  // as in "should be an integer": "an integer"
  std::function<void(void* field, const Config&, const std::string& subject, Mistakes&)> read;
  std::function<Config(const void* field)> write;
  std::function<bool(const void* field)> empty;  // required and not given (an empty Part); null: never
  std::function<Config()> json_schema;           // the JSON Schema of the value
  // What is wrong inside a value that a program made (the arguments of a Part); null: nothing can be.
  std::function<void(const void* field, const Where&, const std::string& subject, Mistakes&)> check;
  // Gives a copy its own of what copies share (a Part's weights); null: nothing is shared.
  std::function<void(void* field)> unshare = {};
};

template <class F> struct FieldTypeOf;  // specialised below and in part.h; `static const FieldType& get()`
template <class F> const FieldType& field_type() { return FieldTypeOf<F>::get(); }

// What a value must satisfy, and how to say so. Numbers in a list are each checked.
struct Rule {
  std::string text;
  std::function<bool(const Config&)> holds;  // of one value: null passes, a list's elements are asked one by one
  std::vector<std::string> choices;          // for one_of
  std::optional<double> low, high;           // for ranges
  bool open_low = false, open_high = false;  // the end itself is not allowed
  bool whole = false;                        // a list is asked as one value
  std::string in_code;                       // the cure where the value comes from a program
};
Rule at_least(double low);
Rule above(double low);
Rule between(double low, double high);     // both ends allowed
Rule from_up_to(double low, double high);  // low allowed, high not
Rule one_of(std::vector<std::string> choices);
Rule not_zero();           // says "in C++ write 1.0/255: 1/255 is 0 there"
Rule or_empty(Rule rule);  // the empty text too, where it means that nothing was said
Rule not_empty();          // text, a list or a map with something in it

// One or two whole numbers where Keras takes an int or a pair: {2, 2}, or 2 for both.
struct Pair {
  std::int64_t first = 1, second = 1;
  Pair() = default;
  Pair(int both) : first(both), second(both) {}
  Pair(std::int64_t both) : first(both), second(both) {}
  Pair(std::int64_t one, std::int64_t other) : first(one), second(other) {}
  bool operator==(const Pair&) const = default;
};

// One whole number or a list of them (an axis, or axes).
struct Ints {
  std::vector<std::int64_t> values;
  Ints() = default;
  Ints(int one) : values{one} {}
  Ints(std::initializer_list<std::int64_t> several) : values(several) {}
  bool operator==(const Ints&) const = default;
};

// One number or a list of them (the same for all channels, or each channel's own).
struct Doubles {
  std::vector<double> values;
  Doubles() = default;
  Doubles(double one) : values{one} {}
  Doubles(std::initializer_list<double> several) : values(several) {}
  bool operator==(const Doubles&) const = default;
};

// A value that may be absent, written `= 2`, `= {2, 2}` or `= "l2"` like the value itself; null in a file.
template <class T> class Optional {
 public:
  Optional() = default;
  Optional(std::nullopt_t) {}
  template <class U>
    requires(std::is_constructible_v<T, U&&> && !std::is_same_v<std::remove_cvref_t<U>, Optional>)
  Optional(U&& value) : value_(T(std::forward<U>(value))) {}
  Optional(std::initializer_list<std::int64_t> several) requires std::is_constructible_v<T, std::int64_t, std::int64_t>
      : value_(T(*several.begin(), *(several.begin() + (several.size() > 1)))) {}

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return &*value_; }
  T value_or(T other) const { return value_ ? *value_ : other; }
  bool operator==(const Optional&) const = default;

 private:
  std::optional<T> value_;
};

template <class T> const Schema& schema_of();  // T::schema(), built once

class Schema {
 public:
  struct Arg {
    std::string name, doc;
    const FieldType* type = nullptr;
    std::ptrdiff_t offset = 0;
    Config fallback;  // the default, as a Config
    Rule rule;
    bool required = false;
  };
  // A use of the part and its inputs' shapes without the batch axis: shown in the manual, run by the tests.
  struct Example {
    std::function<Config()> args;  // made when asked for
    std::vector<Shape> inputs;
    std::vector<DType> dtypes;  // of the inputs; float32 where not said
    std::int64_t high = 0;      // integer inputs lie in [0, high)
  };
  enum class Masking { drops, passes, uses };  // what a layer does with its input's mask

  Schema(std::string class_name, std::string about) : name(std::move(class_name)), doc(std::move(about)) {}

  // `name` is the argument's word everywhere; a default that breaks its own rule, or an empty Part, means "required".
  template <class T, class F>
  Schema arg(std::string_view arg_name, F T::*field, std::string_view about, Rule rule = {}) && {
    const T defaults{};
    const auto offset = reinterpret_cast<const char*>(&(defaults.*field)) - reinterpret_cast<const char*>(&defaults);
    append(arg_name, about, field_type<std::remove_cv_t<F>>(), offset, &(defaults.*field), std::move(rule));
    return std::move(*this);
  }
  // A member that is no argument but must outlive a stop (a callback's best value): saved in checkpoints.
  template <class T, class F> Schema keeps(std::string_view field_name, F T::*field) && {
    const T defaults{};
    const auto offset = reinterpret_cast<const char*>(&(defaults.*field)) - reinterpret_cast<const char*>(&defaults);
    append_kept(field_name, field_type<std::remove_cv_t<F>>(), offset);
    return std::move(*this);
  }
  template <class F>  // F: a function without arguments that gives the part
  Schema example(F make, std::vector<Shape> inputs = {}, std::vector<DType> dtypes = {}, std::int64_t high = 0) && {
    examples.push_back({[make] {
                          const auto part = make();
                          return schema_of<std::remove_cv_t<decltype(part)>>().write(&part, false);
                        },
                        std::move(inputs), std::move(dtypes), high});
    return std::move(*this);
  }
  Schema masking(Masking what) && {
    mask = what;
    return std::move(*this);
  }
  Schema computes(DType dtype) && {
    compute_dtype = dtype;
    return std::move(*this);
  }  // whatever the policy says
  Schema keeps_dtype() && {
    autocast = false;
    return std::move(*this);
  }  // inputs are not cast
  Schema alias(std::string word) && {
    aliases.push_back(std::move(word));
    return std::move(*this);
  }

  // Fills the struct, or adds mistakes with their places. Takes a map of arguments, null (all defaults), or the bare value
  // of the one required argument. `common` only lends its words to suggestions.
  void read(void* self, const Config& args, Mistakes& mistakes, const Schema* common = nullptr) const;
  Config write(const void* self, bool defaults_too = true) const;
  void check(const void* self, const Where& where, Mistakes& mistakes) const;  // a struct that a program made
  void unshare(void* self) const;  // of a copy: the Parts among its arguments become clones
  void read_kept(void* self, const Config& state, Mistakes& mistakes) const;  // what .keeps declared
  Config write_kept(const void* self) const;
  const Arg* find(std::string_view arg_name) const;
  std::string page() const;  // the manual, as plain text

  std::string name, doc;
  std::vector<Arg> args;
  std::vector<Arg> kept;
  std::vector<Example> examples;
  std::vector<std::string> aliases;  // further words for the same defaults
  Masking mask = Masking::drops;
  std::optional<DType> compute_dtype;
  bool autocast = true;

 private:
  void append(std::string_view, std::string_view, const FieldType&, std::ptrdiff_t, const void* fallback, Rule);
  void append_kept(std::string_view, const FieldType&, std::ptrdiff_t);
  void require(const Arg& arg, const Where& where, Mistakes& mistakes) const;
  void obey(const Arg& arg, const void* self, const Config* said, const Where& where, Mistakes& mistakes) const;
};

template <class T> const Schema& schema_of() {
  static const Schema schema = T::schema();
  return schema;
}
template <class T>
concept HasSchema = requires {
  { T::schema() } -> std::same_as<Schema>;
};

// Reads a number as files write it: 1e-3, 1/255, 1_000; refuses 010, nan, inf and trailing letters. Empty when none.
std::optional<double> read_number(std::string_view text);
std::optional<std::int64_t> read_integer(std::string_view text);

template <> struct FieldTypeOf<bool> { static const FieldType& get(); };
template <> struct FieldTypeOf<std::int64_t> { static const FieldType& get(); };
template <> struct FieldTypeOf<int> { static const FieldType& get(); };
template <> struct FieldTypeOf<double> { static const FieldType& get(); };
template <> struct FieldTypeOf<std::string> { static const FieldType& get(); };
template <> struct FieldTypeOf<Pair> { static const FieldType& get(); };
template <> struct FieldTypeOf<Ints> { static const FieldType& get(); };
template <> struct FieldTypeOf<Doubles> { static const FieldType& get(); };
template <> struct FieldTypeOf<Shape> { static const FieldType& get(); };
template <> struct FieldTypeOf<DType> { static const FieldType& get(); };
template <> struct FieldTypeOf<Config> { static const FieldType& get(); };  // any value, kept as it stands

// Arrays by path: only what a part `.keeps`. Config has no place for numbers by the million; checkpoints write them apart.
template <> struct FieldTypeOf<std::map<std::string, Tensor>> { static const FieldType& get(); };

// The untyped halves of the containers below.
FieldType optional_field(const FieldType& inner, bool (*has)(const void*), void* (*emplace)(void*),
                         const void* (*value)(const void*), void (*reset)(void*));
FieldType list_field(const FieldType& inner, std::size_t (*size)(const void*), void* (*append)(void*),
                     const void* (*item)(const void*, std::size_t), void (*clear)(void*));
FieldType map_field(const FieldType& inner, void* (*insert)(void*, const std::string&), void (*clear)(void*),
                    void (*each)(const void*, const std::function<void(const std::string&, const void*)>&));

template <class T> struct FieldTypeOf<Optional<T>> {
  static const FieldType& get() {
    static const FieldType type = optional_field(
        field_type<T>(), [](const void* f) { return static_cast<bool>(*static_cast<const Optional<T>*>(f)); },
        [](void* f) -> void* {
          auto& o = *static_cast<Optional<T>*>(f);
          o = Optional<T>(T());
          return &*o;
        },
        [](const void* f) -> const void* { return &**static_cast<const Optional<T>*>(f); },
        [](void* f) { *static_cast<Optional<T>*>(f) = Optional<T>(); });
    return type;
  }
};
template <class T> struct FieldTypeOf<std::vector<T>> {
  static const FieldType& get() {
    static const FieldType type = list_field(
        field_type<T>(), [](const void* f) { return static_cast<const std::vector<T>*>(f)->size(); },
        [](void* f) -> void* { return &static_cast<std::vector<T>*>(f)->emplace_back(); },
        [](const void* f, std::size_t i) -> const void* { return &(*static_cast<const std::vector<T>*>(f))[i]; },
        [](void* f) { static_cast<std::vector<T>*>(f)->clear(); });
    return type;
  }
};
template <class T> struct FieldTypeOf<std::map<std::string, T>> {
  static const FieldType& get() {
    static const FieldType type = map_field(
        field_type<T>(),
        [](void* f, const std::string& key) -> void* { return &(*static_cast<std::map<std::string, T>*>(f))[key]; },
        [](void* f) { static_cast<std::map<std::string, T>*>(f)->clear(); },
        [](const void* f, const std::function<void(const std::string&, const void*)>& visit) {
          for (auto& [key, value] : *static_cast<const std::map<std::string, T>*>(f)) visit(key, &value);
        });
    return type;
  }
};

}  // namespace strata
