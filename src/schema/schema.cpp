// SPDX-License-Identifier: Apache-2.0
// Reading, writing and checking structs by their schema.
#include "strata/schema.h"

#include <algorithm>

#include "base/text.h"
#include "schema/shown.h"

namespace strata {
namespace {

const void* at(const void* self, std::ptrdiff_t offset) { return static_cast<const char*>(self) + offset; }
void* at(void* self, std::ptrdiff_t offset) { return static_cast<char*>(self) + offset; }

// The first value that breaks the rule: the value itself, or an item of a list; null when none does.
const Config* breach(const Rule& rule, const Config& value) {
  if (!rule.holds || value.is_null()) return nullptr;
  if (value.list() && !rule.whole) {
    for (const Config& item : *value.list()) {
      if (const Config* broken = breach(rule, item)) return broken;
    }
    return nullptr;
  }
  return rule.holds(value) ? nullptr : &value;
}

const Where& key_place(const Config& value) {
  return value.key.line > 0 || !value.key.origin.empty() ? value.key : value.where;
}

std::string subject_of(const std::string& name, const std::string& arg) { return cat(name, ": '", arg, "'"); }

}  // namespace

std::string shown(const Config& config) {
  constexpr std::size_t most = 60;
  std::string text = to_text(config);
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "…";
}

void Schema::append(std::string_view arg_name, std::string_view about, const FieldType& type, std::ptrdiff_t offset,
                    const void* fallback, Rule rule) {
  STRATA_CHECK(!find(arg_name), name, " has two arguments '", arg_name, "'");
  Arg arg{std::string(arg_name), std::string(about), &type, offset, {}, std::move(rule), false};
  arg.required = type.empty && type.empty(fallback);
  if (!arg.required) {
    arg.fallback = type.write(fallback);
    arg.required = breach(arg.rule, arg.fallback) != nullptr;
  }
  args.push_back(std::move(arg));
}

void Schema::append_kept(std::string_view field_name, const FieldType& type, std::ptrdiff_t offset) {
  kept.push_back({std::string(field_name), "", &type, offset, {}, {}, false});
}

const Schema::Arg* Schema::find(std::string_view arg_name) const {
  const auto it = std::ranges::find(args, arg_name, &Arg::name);
  return it == args.end() ? nullptr : &*it;
}

void Schema::require(const Arg& arg, const Where& where, Mistakes& mistakes) const {
  mistakes.add(where, cat(name, " needs '", arg.name, "' (", arg.type->name, arg.rule.text.empty() ? "" : ", ",
                          arg.rule.text, "): ", arg.doc));
}

// `said` is what a file says, in its own words and with its places; null where the value comes from a program.
void Schema::obey(const Arg& arg, const void* self, const Config* said, const Where& where, Mistakes& mistakes) const {
  const Config value = arg.type->write(at(self, arg.offset));
  const Config* broken = breach(arg.rule, value);
  if (!broken) return;
  const Config* words = said;
  if (said && said->list() && value.list() && said->list()->size() == value.list()->size()) {
    for (std::size_t i = 0; i < value.list()->size(); ++i) {
      if (&(*value.list())[i] == broken) words = &(*said->list())[i];
    }
  }
  const std::string near = broken->text() ? did_you_mean(*broken->text(), arg.rule.choices) : "";
  mistakes.add(words ? words->where : where,
               cat(subject_of(name, arg.name), " must be ", arg.rule.text, ", got ",
                   words && words->text() ? shown(*words) : shown(*broken), near, said ? "" : arg.rule.in_code));
}

void Schema::read(void* self, const Config& config, Mistakes& mistakes, const Schema* common) const {
  std::vector<const Arg*> given;
  std::vector<std::string> meant;  // by a misspelt word: that they are missing is not said again
  const auto is_given = [&](const Arg& arg) { return std::ranges::find(given, &arg) != given.end(); };
  const auto take = [&](const Arg& arg, const Config& value) {
    given.push_back(&arg);
    const std::size_t before = mistakes.count();
    arg.type->read(at(self, arg.offset), value, subject_of(name, arg.name), mistakes);
    if (mistakes.count() == before) obey(arg, self, &value, value.where, mistakes);
  };

  if (const auto* map = config.map()) {
    for (const auto& [key, value] : *map) {
      const Arg* arg = find(key);
      if (arg && is_given(*arg)) {
        mistakes.add(key_place(value), cat(subject_of(name, key), " is given twice"));
      } else if (arg) {
        take(*arg, value);
      } else {
        std::vector<std::string> words;
        for (const Arg& known : args) words.push_back(known.name);
        const std::string own = words.empty() ? "it takes none of its own" : cat("it takes ", listed(words));
        if (common)
          for (const Arg& known : common->args) words.push_back(known.name);
        meant.push_back(closest(key, words));
        mistakes.add(key_place(value), cat(name, " has no argument '", key, "'",
                                           meant.back().empty() ? cat("; ", own) : did_you_mean(key, words)));
      }
    }
  } else if (!config.is_null()) {
    const auto required = std::ranges::count_if(args, &Arg::required);
    if (required != 1) {
      const std::string name_of_first = args.empty() ? "" : cat(", as in {", args[0].name, ": …}");
      return mistakes.add(config.where, cat(name, args.empty() ? " takes no arguments" : " takes named arguments",
                                            name_of_first, "; got ", shown(config)));
    }
    take(*std::ranges::find_if(args, &Arg::required), config);
  }

  // Asked of the struct, not of the map: a word such as leaky_relu comes with arguments already set.
  for (const Arg& arg : args) {
    if (!arg.required || is_given(arg) || std::ranges::find(meant, arg.name) != meant.end()) continue;
    const void* field = at(self, arg.offset);
    if ((arg.type->empty && arg.type->empty(field)) || breach(arg.rule, arg.type->write(field)))
      require(arg, config.where, mistakes);
  }
}

Config Schema::write(const void* self, bool defaults_too) const {
  Config config(Config::Map{});
  for (const Arg& arg : args) {
    Config value = arg.type->write(at(self, arg.offset));
    if (defaults_too || arg.required || !(value == arg.fallback)) config.set_entry(arg.name, std::move(value));
  }
  return config;
}

void Schema::check(const void* self, const Where& where, Mistakes& mistakes) const {
  for (const Arg& arg : args) {
    const void* field = at(self, arg.offset);
    if (arg.type->empty && arg.type->empty(field)) {
      require(arg, where, mistakes);
      continue;
    }
    if (arg.type->check) arg.type->check(field, where, subject_of(name, arg.name), mistakes);
    if (!arg.rule.holds) continue;
    if (arg.required && arg.type->write(field) == arg.fallback) require(arg, where, mistakes);
    else obey(arg, self, nullptr, where, mistakes);
  }
}

void Schema::unshare(void* self) const {
  for (const Arg& arg : args)
    if (arg.type->unshare) arg.type->unshare(at(self, arg.offset));
}

void Schema::read_kept(void* self, const Config& state, Mistakes& mistakes) const {
  for (const Arg& field : kept) {
    const Config* value = state.find(field.name);
    if (value) field.type->read(at(self, field.offset), *value, subject_of(name, field.name), mistakes);
    else mistakes.add(state.where, cat(name, ": the saved state has no '", field.name, "'"));
  }
}

Config Schema::write_kept(const void* self) const {
  Config state(Config::Map{});
  for (const Arg& field : kept) state.set_entry(field.name, field.type->write(at(self, field.offset)));
  return state;
}

}  // namespace strata
