// SPDX-License-Identifier: Apache-2.0
// Reading, writing and checking structs by their schema; rules; mistakes gathered.
#include "strata/schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>

#include "base/text.h"

namespace strata {

namespace {

// The source line with a caret below the column; empty where the file cannot be read again.
std::string excerpt(const Where& where) {
  if (where.file.empty() || !where.line) return "";
  std::ifstream in(where.file);
  std::string line;
  for (int i = 0; i < where.line; ++i)
    if (!std::getline(in, line)) return "";
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.size() > 200 || where.column < 1) return "";
  std::string caret;
  for (int i = 1; i < where.column && i <= static_cast<int>(line.size()); ++i) caret += line[static_cast<std::size_t>(i - 1)] == '\t' ? '\t' : ' ';
  return cat("\n    ", line, "\n    ", caret, "^");
}

const void* at(const void* self, std::ptrdiff_t offset) { return static_cast<const char*>(self) + offset; }
void* at(void* self, std::ptrdiff_t offset) { return static_cast<char*>(self) + offset; }

std::optional<double> number_in(const Config& config) {
  if (const auto* integer = std::get_if<std::int64_t>(&config.data)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&config.data)) return *number;
  return {};
}

// A rule over one number holds for a list when it holds for each; null (an absent Optional) always passes.
std::function<bool(const Config&)> each_number(std::function<bool(double)> holds) {
  return [holds = std::move(holds)](const Config& config) {
    if (config.is_null()) return true;
    if (const auto* list = config.list())
      return std::ranges::all_of(*list, [&](const Config& item) { return !number_in(item) || holds(*number_in(item)); });
    return !number_in(config) || holds(*number_in(config));
  };
}

}  // namespace

void Mistakes::add(const Where& where, const std::string& message) { entries_.push_back({where, message}); }

void Mistakes::raise() const {
  if (entries_.empty()) return;
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.where.file, a.where.line, a.where.column) < std::tie(b.where.file, b.where.line, b.where.column);
  });
  std::string text;
  for (const Entry& entry : sorted) text += (text.empty() ? "" : "\n") + locate(entry.where) + entry.text + excerpt(entry.where);
  throw Error(text);
}

Rule at_least(double low) {
  return {cat("at least ", low), each_number([=](double v) { return v >= low; }), {}, low, {}};
}
Rule above(double low) {
  return {cat("above ", low), each_number([=](double v) { return v > low; }), {}, low, {}};
}
Rule between(double low, double high) {
  return {cat("between ", low, " and ", high), each_number([=](double v) { return v >= low && v <= high; }), {}, low, high};
}
Rule from_up_to(double low, double high) {
  return {cat("at least ", low, " and below ", high), each_number([=](double v) { return v >= low && v < high; }), {}, low, high};
}
Rule not_zero() {
  return {"anything but 0 (in C++ write 1.0/255: 1/255 is 0 there)", each_number([](double v) { return v != 0; }), {}, {}, {}};
}
Rule one_of(std::vector<std::string> choices) {
  Rule rule;
  rule.text = "one of " + listed(choices, "or");
  rule.choices = choices;
  rule.holds = [choices = std::move(choices)](const Config& config) {
    return config.is_null() || (config.text() && std::ranges::find(choices, *config.text()) != choices.end());
  };
  return rule;
}

void Schema::append(std::string_view arg_name, std::string_view about, const FieldType& type, std::ptrdiff_t offset, const void* fallback, Rule rule) {
  Arg arg{std::string(arg_name), std::string(about), &type, offset, {}, std::move(rule), false};
  if (type.empty && type.empty(fallback)) arg.required = true;
  else arg.fallback = type.write(fallback);
  if (!arg.required && arg.rule.holds && !arg.rule.holds(arg.fallback)) arg.required = true;
  args.push_back(std::move(arg));
}

void Schema::append_kept(std::string_view field_name, const FieldType& type, std::ptrdiff_t offset) {
  kept.push_back({std::string(field_name), "", &type, offset, {}, {}, false});
}

const Schema::Arg* Schema::find(std::string_view arg_name) const {
  const auto it = std::ranges::find(args, arg_name, &Arg::name);
  return it == args.end() ? nullptr : &*it;
}

void Schema::read(void* self, const Config& config, Mistakes& mistakes) const {
  std::vector<std::string> names;
  for (const Arg& arg : args) names.push_back(arg.name);
  std::vector<std::string> given;
  auto take = [&](const Arg& arg, const Config& value) {
    given.push_back(arg.name);
    const std::string subject = cat(name, ": '", arg.name, "'");
    arg.type->read(at(self, arg.offset), value, subject, mistakes);
  };
  if (const auto* map = config.map()) {
    for (const auto& [key, value] : *map) {
      const Arg* arg = find(key);
      const Where& place = value.key.line || !value.key.file.empty() ? value.key : value.where;
      if (!arg) mistakes.add(place, cat(name, " has no argument '", key, "'", did_you_mean(key, names)));
      else if (std::ranges::find(given, key) != given.end()) mistakes.add(place, cat(name, ": '", key, "' is given twice"));
      else take(*arg, value);
    }
  } else if (!config.is_null()) {
    // One required argument may stand alone: Dense: 10.
    const Arg* only = nullptr;
    for (const Arg& arg : args) {
      if (!arg.required) continue;
      if (only) { only = nullptr; break; }
      only = &arg;
    }
    if (!only) return mistakes.add(config.where, cat(name, " takes named arguments, as in {", args.empty() ? "" : args[0].name + ": …", "}; got ", to_text(config)));
    take(*only, config);
  }
  for (const Arg& arg : args)
    if (arg.required && std::ranges::find(given, arg.name) == given.end())
      mistakes.add(config.where, cat(name, " needs '", arg.name, "' (", arg.type->name, arg.rule.text.empty() ? "" : ", " + arg.rule.text, "): ", arg.doc));
  if (!mistakes.empty()) return;
  for (const Arg& arg : args) {
    if (!arg.rule.holds || std::ranges::find(given, arg.name) == given.end()) continue;
    const Config value = arg.type->write(at(self, arg.offset));
    if (arg.rule.holds(value)) continue;
    const Config* said = config.find(arg.name);
    const std::string near = value.text() ? did_you_mean(*value.text(), arg.rule.choices) : "";
    mistakes.add(said ? said->where : config.where, cat(name, ": '", arg.name, "' must be ", arg.rule.text, ", got ", to_text(value), near));
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
    if (arg.type->empty && arg.type->empty(at(self, arg.offset))) {
      if (arg.required) mistakes.add(where, cat(name, " needs '", arg.name, "' (", arg.type->name, "): ", arg.doc));
      continue;
    }
    if (!arg.rule.holds) continue;
    const Config value = arg.type->write(at(self, arg.offset));
    if (!arg.rule.holds(value)) {
      const std::string near = value.text() ? did_you_mean(*value.text(), arg.rule.choices) : "";
      mistakes.add(where, cat(name, ": '", arg.name, "' must be ", arg.rule.text, ", got ", to_text(value), near));
    }
  }
}

std::string Schema::page() const {
  std::string text = cat(name, "\n  ", doc, "\n");
  for (const Arg& arg : args) {
    text += cat("\n  ", arg.name, " (", arg.type->name, arg.required ? ", required)" : cat(", default ", to_text(arg.fallback), ")"), "\n      ", arg.doc);
    if (!arg.rule.text.empty()) text += cat(" Must be ", arg.rule.text, ".");
    text += "\n";
  }
  for (std::size_t i = 0; i < examples.size(); ++i) text += cat(i ? "" : "\n  Examples\n", "      ", name, ": ", to_text(examples[i].args()), "\n");
  return text;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  const auto number = read_number(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9007199254740992.0) return {};
  if (text.find_first_of(".eE/") != std::string_view::npos && text.find('/') != std::string_view::npos) return {};
  return static_cast<std::int64_t>(*number);
}

std::optional<double> read_number(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto above = read_number(trim(text.substr(0, slash))), below = read_number(trim(text.substr(slash + 1)));
    if (!above || !below || *below == 0 || text.find('/', slash + 1) != std::string_view::npos) return {};
    return *above / *below;
  }
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '_') {
      const bool between = i > 0 && i + 1 < text.size() && std::isdigit(text[i - 1]) && std::isdigit(text[i + 1]);
      if (!between) return {};
      continue;
    }
    if (!std::isdigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E') return {};
    digits += c;
  }
  std::string_view rest = digits;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) rest.remove_prefix(1);
  if (rest.empty() || (!std::isdigit(rest[0]) && !(rest[0] == '.' && rest.size() > 1 && std::isdigit(rest[1])))) return {};
  if (rest.size() > 1 && rest[0] == '0' && std::isdigit(rest[1])) return {};  // 010 is eight to some and ten to others
  double value = 0;
  const char* begin = digits.data() + (digits[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace strata
