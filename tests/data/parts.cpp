// SPDX-License-Identifier: Apache-2.0
// What every dataset, callback and strategy keeps: documented arguments that an example uses, configs that read back,
// suggestions.
#include <doctest/doctest.h>

#include <algorithm>

#include "strata/callback.h"
#include "strata/dataset.h"
#include "strata/strategy.h"
#include "support/message.h"

using namespace strata;

namespace {

template <class F> void each_part(F f) {
  auto each = [&](auto& registry) {
    for (const std::string& name : registry.names()) {
      CAPTURE(name);
      f(registry, name, registry.schema(name));
    }
  };
  each(parts<Dataset>());
  each(parts<Callback>());
  each(parts<Strategy>());
}

}  // namespace

TEST_CASE("every dataset, callback and strategy says what it is, and an example uses each argument") {
  int count = 0;
  each_part([&](auto& registry, const std::string& name, const Schema& schema) {
    ++count;
    CHECK(schema.name == name);
    CHECK(schema.doc.ends_with('.'));
    REQUIRE_FALSE(schema.examples.empty());
    for (const auto& arg : schema.args) {
      CAPTURE(arg.name);
      CHECK(arg.doc.ends_with('.'));
      CHECK(std::ranges::any_of(schema.examples,
                                [&](const auto& example) { return example.args().find(arg.name) != nullptr; }));
      std::string wrong = arg.name;
      std::swap(wrong[0], wrong[1]);
      if (wrong == arg.name) continue;
      Config args(Config::Map{});
      args.set(wrong, arg.fallback);
      // What it needs besides is said after that.
      CHECK(test::message_of([&] {
              registry.make(name, args);
            }).starts_with(cat(name, " has no argument '", wrong, "'; did you mean '", arg.name, "'?")));
    }
    for (const auto& example : schema.examples) {
      const auto part = registry.make(name, example.args());
      CHECK(part.schema().write(part.data(), false) == example.args());
      CHECK(registry.make(name, part.write()).write() == part.write());
    }
  });
  CHECK(count >= 9);
}

TEST_CASE("what exists in C++ only has no word for files") {
  CHECK_FALSE(parts<Dataset>().has("Arrays"));
  CHECK_FALSE(parts<Callback>().has("LambdaCallback"));
}
