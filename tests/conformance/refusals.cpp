// SPDX-License-Identifier: Apache-2.0
// What every argument of every part refuses: misspellings, values of another type, values out of range; in files with
// the place, in programs by name.
#include <algorithm>

#include "base/text.h"
#include "support/catalogues.h"
#include "support/message.h"

namespace strata::test {
namespace {

// The name with each letter dropped, and each pair of neighbours swapped.
std::vector<std::string> misspellings(const std::string& name) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < name.size(); ++i) all.push_back(name.substr(0, i) + name.substr(i + 1));
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    std::string swapped = name;
    std::swap(swapped[i], swapped[i + 1]);
    if (swapped != name) all.push_back(swapped);
  }
  return all;
}

bool one_letter_apart(std::string a, std::string b) {
  for (std::string* word : {&a, &b}) std::erase(*word, '_');  // suggestions pass over underscores
  if (a.size() > b.size()) std::swap(a, b);
  const auto begin = std::ranges::mismatch(a, b).in1 - a.begin();
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  return b.size() - a.size() <= 1 && begin + end + (a.size() == b.size()) >= static_cast<std::ptrdiff_t>(a.size());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Calls f(arg) for the part's own arguments and for those that all parts of its kind take.
template <class R, class F> void each_arg(R& registry, const Schema& schema, F f) {
  using P = std::remove_cvref_t<decltype(registry.make(""))>;
  for (const auto& arg : schema.args) f(schema.name, arg);
  const Schema& common = schema_of<typename P::Common>();
  for (const auto& arg : common.args)
    if (!schema.find(arg.name)) f(common.name, arg);
}

// With all that is in it, keys too, at one place of a file.
Config placed(Config value) {
  value.where = value.key = {"f.yaml", 7, 9, ""};
  if (auto* list = std::get_if<Config::List>(&value.data))
    for (Config& item : *list) item = placed(item);
  if (auto* map = std::get_if<Config::Map>(&value.data))
    for (auto& [key, item] : *map) item = placed(item);
  return value;
}

// What `make` says of the first example with one argument changed, and what it gives when it says nothing.
struct Answer {
  std::string said;
  Config value;
};
template <class R>
Answer asked(R& registry, const std::string& name, const Schema& schema, const std::string& arg, const Config& value) {
  using P = std::remove_cvref_t<decltype(registry.make(""))>;
  Answer answer;
  Config args = schema.examples[0].args();
  args.set(arg, placed(value));
  answer.said = message_of([&] {
    const auto part = registry.make(name, args);
    const Config written = schema.find(arg) ? part.write() : schema_of<typename P::Common>().write(&part.common());
    answer.value = *written.find(arg);
  });
  return answer;
}

// The same once its type is known. One value may stand for a list of it, and for as many as there are.
bool same_value(const Config& given, const Config& kept) {
  const std::string text = to_text(given);
  if (kept == given || to_text(kept) == text || (kept.text() && *kept.text() == text)) return true;
  if (const auto* number = std::get_if<double>(&kept.data)) return read_number(text) == *number;
  return kept.list() && !kept.list()->empty() &&
         std::ranges::all_of(*kept.list(), [&](const Config& item) { return same_value(given, item); });
}

// Values that break the rule, as far as it says which do.
std::vector<Config> outside(const Rule& rule) {
  std::vector<Config> values;
  if (rule.low) values.emplace_back(*rule.low - 1);
  if (rule.low && rule.open_low) values.emplace_back(*rule.low);
  if (rule.high) values.emplace_back(*rule.high + 1);
  if (rule.high && rule.open_high) values.emplace_back(*rule.high);
  if (!rule.choices.empty()) {
    values.emplace_back("no such choice");
    values.emplace_back(rule.choices[0] + "x");
  }
  return values;
}
// At the ends, which are inside where the rule does not say otherwise.
std::vector<Config> inside(const Rule& rule) {
  std::vector<Config> values;
  if (rule.low && !rule.open_low) values.emplace_back(*rule.low);
  if (rule.high && !rule.open_high) values.emplace_back(*rule.high);
  for (const auto& choice : rule.choices) values.emplace_back(choice);
  return values;
}

// As a whole number where the argument takes no other.
Config fitting(const Schema::Arg& arg, const Config& value) {
  const double* number = std::get_if<double>(&value.data);
  return number && arg.type->name.find("integer") != std::string::npos ? Config(static_cast<std::int64_t>(*number))
                                                                       : value;
}

}  // namespace

TEST_CASE("a misspelt argument is refused, with the right one suggested") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    std::vector<std::string> words;
    each_arg(registry, schema, [&](const std::string&, const Schema::Arg& arg) { words.push_back(arg.name); });
    each_arg(registry, schema, [&](const std::string&, const Schema::Arg& arg) {
      int suggested = 0;
      for (const std::string& wrong : misspellings(arg.name)) {
        if (std::ranges::find(words, wrong) != words.end()) continue;
        const std::string said = asked(registry, name, schema, wrong, arg.fallback).said;
        CAPTURE(said);
        CHECK(has(said, cat(name, " has no argument '", wrong, "'")));
        if (has(said, cat("did you mean '", arg.name, "'"))) {
          ++suggested;
          continue;
        }
        // Another word is as near (l1 and l2, t_mul and m_mul), or too little is left of a short one.
        const bool other = std::ranges::any_of(words, [&](const std::string& word) {
          return word != arg.name && has(said, cat("did you mean '", word, "'")) && one_letter_apart(word, wrong);
        });
        CHECK((other || arg.name.size() <= 3));
      }
      CHECK_MESSAGE((suggested > 0 || arg.name.size() <= 2), name << " never suggests " << arg.name);
    });
  });
}

TEST_CASE("a required argument that is not given is named, with what it is") {
  int met = 0;
  each_part([&](auto& registry, const std::string& name, const Schema& schema) {
    for (const auto& arg : schema.args) {
      if (!arg.required) continue;
      ++met;
      const std::string said = message_of([&] { registry.make(name); });
      CHECK_MESSAGE(has(said, cat(name, " needs '", arg.name, "' (", arg.type->name)), said);
      CHECK_MESSAGE(has(said, arg.doc), said);
    }
  });
  CHECK(met > 10);
}

TEST_CASE("a value is kept as it was given, or refused at its place with the argument's name and type") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    each_arg(registry, schema, [&](const std::string& subject, const Schema::Arg& arg) {
      CAPTURE(arg.name);
      int refused = 0, tried = 0;
      for (const char* text :
           {"true", "1.5", "-3", "no such thing", "{no_such_key: 1}", "[[1, [2]]]", "[true, null]"}) {
        CAPTURE(std::string(text));
        const Config value = parse_flow(text);
        const Answer answer = asked(registry, name, schema, arg.name, value);
        CAPTURE(answer.said);
        ++tried;
        if (answer.said == "(no error)") {
          CHECK_MESSAGE(same_value(value, answer.value), to_text(answer.value));
          continue;
        }
        ++refused;
        CHECK(answer.said.starts_with("f.yaml:7:9: "));
        CHECK((has(answer.said, cat("'", arg.name, "'")) || has(answer.said, "there is no ") ||
               has(answer.said, " has no argument ")));
        if (arg.name != "name") CHECK((has(answer.said, subject) || has(answer.said, "there is no ")));
      }
      if (arg.type->name != "any value") CHECK(refused >= 3);
    });
  });
}

TEST_CASE("a value out of range or no choice is refused, from a file and from a program; the ends are taken") {
  int ranges = 0;
  each_part([&](auto& registry, const std::string& name, const Schema& schema) {
    each_arg(registry, schema, [&](const std::string& subject, const Schema::Arg& arg) {
      CAPTURE(arg.name);
      if (!arg.rule.holds) return;
      CHECK_FALSE(arg.rule.text.empty());
      for (const Config& wrong : outside(arg.rule)) {
        ++ranges;
        const Config value = fitting(arg, wrong);
        CAPTURE(to_text(value));
        const std::string said = asked(registry, name, schema, arg.name, value).said;
        CHECK_MESSAGE(
            said.starts_with(cat("f.yaml:7:9: ", subject, ": '", arg.name, "' must be ", arg.rule.text, ", got ")),
            said);
        if (!schema.find(arg.name)) continue;
        // The struct as a program may fill it.
        const auto part = registry.make(name, schema.examples[0].args());
        Mistakes reading, checking;
        arg.type->read(static_cast<char*>(part.data()) + arg.offset, value, name, reading);
        REQUIRE(reading.empty());
        schema.check(part.data(), {}, checking);
        const std::string checked = message_of([&] { checking.raise(); });
        CHECK_MESSAGE((has(checked, cat("'", arg.name, "' must be ", arg.rule.text)) ||
                       has(checked, cat(name, " needs '", arg.name, "'"))),
                      checked);
      }
      for (const Config& right : inside(arg.rule)) {
        const std::string said = asked(registry, name, schema, arg.name, fitting(arg, right)).said;
        CHECK_MESSAGE(said == "(no error)", said);
      }
    });
  });
  CHECK(ranges > 300);
}

TEST_CASE("rules that are neither a range nor a choice refuse something too") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    each_arg(registry, schema, [&](const std::string&, const Schema::Arg& arg) {
      if (!arg.rule.holds || !outside(arg.rule).empty()) return;
      CAPTURE(arg.name);
      bool refused = false;
      for (const char* text : {"0", "''", "[]", "{}", "[0]", "ab", "-1", "[-1]"}) {
        const std::string said = asked(registry, name, schema, arg.name, parse_flow(text)).said;
        refused = refused || has(said, cat("'", arg.name, "' must be ", arg.rule.text, ", got "));
      }
      CHECK(refused);
    });
  });
}

}  // namespace strata::test
