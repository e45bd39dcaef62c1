// SPDX-License-Identifier: Apache-2.0
// What every part of every kind owes, from its schema alone: words, docs, examples, and that what it writes reads back,
// through YAML too.
#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "schema/yaml.h"
#include "support/catalogues.h"
#include "support/message.h"

namespace strata::test {
namespace {

// As text in a file, and read from it: the part itself, its kind's common arguments with it.
template <class R> auto through_yaml(R& registry, const Config& written) {
  const std::string text = write_yaml(Config(Config::Map{{"it", written}}));
  const Config file = read_yaml(text, "f.yaml");
  Mistakes mistakes;
  auto part = registry.read(*file.find("it"), "it", mistakes);
  mistakes.raise();
  return part;
}

template <class P> Config common_of(const P& part) { return schema_of<typename P::Common>().write(&part.common()); }

}  // namespace

TEST_CASE("the loops over the catalogues meet every kind that CMake lists, and each has parts") {
  std::vector<std::string> listed_kinds, met;
  for (const std::string& line : lines(read_file(STRATA_SOURCE_DIR "/CMakeLists.txt"))) {
    if (!line.starts_with("add_parts(")) continue;
    const std::size_t begin = line.find('(') + 1;
    listed_kinds.push_back(lower(line.substr(begin, line.find(' ') - begin)));
  }
  each_kind([&](auto& registry) {
    met.push_back(registry.word());
    CHECK_MESSAGE(!registry.names().empty(), registry.word());
  });
  std::ranges::sort(listed_kinds);
  std::ranges::sort(met);
  CHECK(listed_kinds.size() > 10);
  CHECK(met == listed_kinds);
}

TEST_CASE("every part says what it is, what each argument is, and shows a use") {
  each_part([](auto&, const std::string& name, const Schema& schema) {
    CHECK(schema.name == name);
    CHECK(schema.doc.ends_with('.'));
    CHECK(schema.page().find(name) != std::string::npos);
    for (const auto& arg : schema.args) {
      CAPTURE(arg.name);
      CHECK(arg.doc.ends_with('.'));
      CHECK(snake_case(arg.name) == arg.name);
    }
  });
  each_kind([](auto& registry) {
    using P = std::remove_cvref_t<decltype(registry.make(""))>;
    for (const auto& arg : schema_of<typename P::Common>().args) {
      CAPTURE(registry.word());
      CAPTURE(arg.name);
      CHECK(arg.doc.ends_with('.'));
    }
  });
}

TEST_CASE("every part goes by its class name, its snake case and its aliases") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    CHECK(registry.has(name));
    CHECK(&registry.schema(snake_case(name)) == &schema);
    for (const auto& alias : schema.aliases) CHECK(&registry.schema(alias) == &schema);
    const std::string said = message_of([&] { registry.make(name + "x"); });
    CHECK_MESSAGE(said == cat("there is no ", registry.word(), " '", name, "x'; did you mean '", name, "'?"), said);
  });
}

TEST_CASE("every argument is exercised by an example, or is common to its kind") {
  // Arguments by which weights are made and treated: one layer's examples stand for all.
  auto plain = [](const std::string& arg) {
    for (const char* end : {"_initializer", "_regularizer", "_constraint", "data_format", "seed", "name", "epsilon"})
      if (arg.ends_with(end)) return true;
    return false;
  };
  each_part([&](auto&, const std::string&, const Schema& schema) {
    for (const auto& arg : schema.args) {
      if (plain(arg.name)) continue;
      CAPTURE(arg.name);
      CHECK(std::ranges::any_of(
          schema.examples, [&](const Schema::Example& example) { return example.args().find(arg.name) != nullptr; }));
    }
  });
}

TEST_CASE("every example reads back from what it writes, all arguments and only the changed ones") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    for (const auto& example : schema.examples) {
      const Config args = example.args();
      CAPTURE(to_text(args));
      const auto part = registry.make(name, args);
      CHECK(part.schema().write(part.data(), false) == args);
      const Config whole = part.write();
      CHECK(whole.map()->size() == schema.args.size());
      CHECK(registry.make(name, whole).write() == whole);
      CHECK(parse_flow(to_text(whole)) == whole);
      CHECK(part.clone().write() == whole);
      CHECK(part.clone().identity() != part.identity());
      Mistakes mistakes;
      part.schema().check(part.data(), {}, mistakes);
      CHECK_FALSE_MESSAGE(!mistakes.empty(), message_of([&] { mistakes.raise(); }));
    }
  });
}

TEST_CASE("every example, its kind's common arguments set, goes through a YAML file and comes back equal") {
  // Texts that YAML would read as something else, where an argument takes any text.
  const Config odd = parse_flow(
      "{name: 'no: \"1\"', dtype: float32, trainable: false, use_ema: true, "
      "activity_regularizer: {L2: {l2: 0.25}}, clipnorm: 0.1, reduction: sum}");
  each_part([&](auto& registry, const std::string& name, const Schema& schema) {
    using P = std::remove_cvref_t<decltype(registry.make(""))>;
    for (const auto& example : schema.examples) {
      Config args = example.args();
      for (const auto& arg : schema_of<typename P::Common>().args) {
        const Config* value = odd.find(arg.name);
        if (value && !schema.find(arg.name)) args.set(arg.name, *value);
      }
      CAPTURE(to_text(args));
      const auto part = registry.make(name, args);
      const auto again = through_yaml(registry, write_part(part));
      CHECK(again.name() == name);
      CHECK(again.write() == part.write());
      CHECK(common_of(again) == common_of(part));
      Config all = part.write();
      const Config common = common_of(part);
      for (const auto& [key, value] : *common.map())
        if (!schema.find(key)) all.set_entry(key, value);
      const auto whole = through_yaml(registry, Config(Config::Map{{name, all}}));
      CHECK(whole.write() == part.write());
      CHECK(common_of(whole) == common_of(part));
    }
  });
}

TEST_CASE("what a part remembers over a stop is written and read back, each field its own, no argument with it") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    if (schema.kept.empty()) return;
    const auto part = registry.make(name, schema.examples[0].args());
    int count = 2;
    for (const auto& field : schema.kept) {
      CAPTURE(field.name);
      // A value of its own, of whichever type the field takes.
      bool taken = false;
      for (const Config& value : {Config(count), Config(true), Config(cat("text", count)),
                                  Config(Config::List{Config(cat("item", count))})}) {
        Mistakes refused;
        if (!taken) field.type->read(static_cast<char*>(part.data()) + field.offset, value, field.name, refused);
        taken = taken || refused.empty();
      }
      CHECK(taken);
      ++count;
    }
    const Config state = schema.write_kept(part.data());
    CHECK(state.map()->size() == schema.kept.size());
    CHECK(schema.write(part.data(), false) == schema.examples[0].args());
    auto other = registry.make(name, schema.examples[0].args());
    CHECK_FALSE(schema.write_kept(other.data()) == state);
    Mistakes mistakes;
    schema.read_kept(other.data(), parse_flow(to_text(state)), mistakes);
    CHECK(mistakes.empty());
    CHECK(schema.write_kept(other.data()) == state);
    for (const auto& field : schema.kept) {
      Config less(Config::Map{});
      for (const auto& [key, value] : *state.map())
        if (key != field.name) less.set_entry(key, value);
      Mistakes missing;
      schema.read_kept(other.data(), less, missing);
      CHECK_MESSAGE(!missing.empty(), field.name);
    }
  });
}

}  // namespace strata::test
