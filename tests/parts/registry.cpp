// SPDX-License-Identifier: Apache-2.0
// What every part of every kind keeps: documented arguments, examples, configs that read back, suggestions.
#include <doctest/doctest.h>

#include <algorithm>

#include "strata/layer.h"
#include "strata/metric.h"
#include "strata/optimizer.h"
#include "support/message.h"

using namespace strata;
using strata::test::message_of;

namespace {

// Calls f with the registry of each kind that lies on this rung.
template <class F> void each_kind(F f) {
  f(parts<Layer>());
  f(parts<Loss>());
  f(parts<Metric>());
  f(parts<Optimizer>());
  f(parts<Schedule>());
  f(parts<Initializer>());
  f(parts<Regularizer>());
  f(parts<Constraint>());
}

template <class F> void each_part(F f) {
  each_kind([&](auto& registry) {
    for (const std::string& name : registry.names()) {
      CAPTURE(registry.word());
      CAPTURE(name);
      f(registry, name, registry.schema(name));
    }
  });
}

std::string snake_case(const std::string& name) {
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(name[i])),
               inside = i > 0 && (std::islower(static_cast<unsigned char>(name[i - 1])) ||
                                  (i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1])) &&
                                   std::isupper(static_cast<unsigned char>(name[i - 1]))));
    if (upper && inside) word += '_';
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return word;
}

// The name with two of its letters swapped, or one dropped from a short one.
std::string misspelt(std::string name) {
  for (std::size_t i = 1; i + 1 < name.size() && name.size() > 3; ++i)
    if (name[i] != name[i + 1]) {
      std::swap(name[i], name[i + 1]);
      return name;
    }
  return name + "x";
}

}  // namespace

TEST_CASE("every part says what it is, what each argument is, and shows a use") {
  each_part([](auto&, const std::string& name, const Schema& schema) {
    CHECK(schema.name == name);
    CHECK(schema.doc.ends_with('.'));
    CHECK_FALSE(schema.examples.empty());
    for (const auto& arg : schema.args) {
      CAPTURE(arg.name);
      CHECK(arg.doc.ends_with('.'));
    }
    CHECK(schema.page().find(name) != std::string::npos);
  });
  CHECK(parts<Layer>().names().size() > 60);
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
      CHECK(registry.make(name, whole).write() == whole);
      CHECK(parse_flow(to_text(whole)) == whole);
      Mistakes mistakes;
      const auto again = registry.read(write_part(part), "it", mistakes);
      mistakes.raise();
      CHECK(again.write() == whole);
      CHECK(part.clone().write() == whole);
      CHECK(part.clone().identity() != part.identity());
    }
  });
}

TEST_CASE("every part goes by its class name, its snake case and its aliases") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    CHECK(registry.has(name));
    if (name != "LeakyReLU") CHECK_MESSAGE(&registry.schema(snake_case(name)) == &schema, snake_case(name));
    for (const auto& alias : schema.aliases) CHECK(&registry.schema(alias) == &schema);
  });
}

TEST_CASE("Keras's short words mean what they mean in Keras") {
  for (const auto& [word, name] : std::vector<std::pair<const char*, const char*>>{{"relu", "ReLU"},
                                                                                   {"relu6", "Relu6"},
                                                                                   {"leaky_relu", "LeakyReLU"},
                                                                                   {"elu", "ELU"},
                                                                                   {"selu", "Selu"},
                                                                                   {"celu", "Celu"},
                                                                                   {"gelu", "Gelu"},
                                                                                   {"sigmoid", "Sigmoid"},
                                                                                   {"swish", "Silu"},
                                                                                   {"hard_swish", "HardSilu"},
                                                                                   {"hard_silu", "HardSilu"},
                                                                                   {"softmax", "Softmax"},
                                                                                   {"log_softmax", "LogSoftmax"},
                                                                                   {"linear", "Linear"},
                                                                                   {"glu", "Glu"},
                                                                                   {"threshold", "Threshold"}})
    CHECK(parts<Layer>().make(word).name() == name);
  CHECK(parts<Layer>().make("leaky_relu").write() == parse_flow("{negative_slope: 0.2}"));
  CHECK(parts<Layer>().make("LeakyReLU").write() == parse_flow("{negative_slope: 0.3}"));
  for (const auto& [word, name] : std::vector<std::pair<const char*, const char*>>{{"mse", "MeanSquaredError"},
                                                                                   {"MAE", "MeanAbsoluteError"},
                                                                                   {"bce", "BinaryCrossentropy"},
                                                                                   {"huber", "Huber"}}) {
    CHECK(parts<Loss>().make(word).name() == name);
  }
  for (const auto& [word, name] : std::vector<std::pair<const char*, const char*>>{
           {"sgd", "SGD"}, {"adam", "Adam"}, {"adamw", "AdamW"}, {"adam_w", "AdamW"}, {"rmsprop", "RMSprop"}})
    CHECK(parts<Optimizer>().make(word).name() == name);
  for (const auto& [word, name] : std::vector<std::pair<const char*, const char*>>{{"glorot_uniform", "GlorotUniform"},
                                                                                   {"he_normal", "HeNormal"},
                                                                                   {"uniform", "RandomUniform"},
                                                                                   {"normal", "RandomNormal"},
                                                                                   {"orthogonal", "Orthogonal"},
                                                                                   {"zeros", "Zeros"},
                                                                                   {"one", "Ones"}})
    CHECK(parts<Initializer>().make(word).name() == name);
  for (const auto& [word, name] :
       std::vector<std::pair<const char*, const char*>>{{"l1", "L1"}, {"l2", "L2"}, {"l1l2", "L1L2"}})
    CHECK(parts<Regularizer>().make(word).name() == name);
  for (const auto& [word, name] : std::vector<std::pair<const char*, const char*>>{
           {"max_norm", "MaxNorm"}, {"unit_norm", "UnitNorm"}, {"non_neg", "NonNeg"}})
    CHECK(parts<Constraint>().make(word).name() == name);
}

TEST_CASE("a misspelt argument is refused, with the right one suggested") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    for (const auto& arg : schema.args) {
      const std::string wrong = misspelt(arg.name);
      if (schema.find(wrong)) continue;
      Config args = schema.examples[0].args();
      args.set(wrong, arg.fallback);
      const std::string said = message_of([&] { registry.make(name, args); });
      CAPTURE(said);
      CHECK(said.find(cat(name, " has no argument '", wrong, "'")) != std::string::npos);
      CHECK(said.find(cat("did you mean '", arg.name, "'")) != std::string::npos);
    }
  });
}

TEST_CASE("a required argument that is not given is named") {
  each_part([](auto& registry, const std::string& name, const Schema& schema) {
    for (const auto& arg : schema.args) {
      if (!arg.required) continue;
      const std::string said = message_of([&] { registry.make(name); });
      CHECK_MESSAGE(said.find(cat("'", arg.name, "'")) != std::string::npos, said);
    }
  });
}
