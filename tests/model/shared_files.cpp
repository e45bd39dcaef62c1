// SPDX-License-Identifier: Apache-2.0
// Weight files of models that share layers and hold models: every weight once, and read back where it belongs.
#include <doctest/doctest.h>

#include "model/hdf5.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/temporary.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

// A layer used twice, within a model that is used twice, and once outside it.
Model tangled(const std::string& name = "outer") {
  const Layer shared = named("shared", Dense{.units = 3, .activation = "tanh"});
  const Symbol a = input({3}, "a");
  Model inner({a}, {a | shared | named("norm", BatchNormalization{}) | shared}, "inner");
  const Symbol x = input({3}, "x");
  return Model(
      {x},
      {Symbols{x | Layer(inner), x | shared | Layer(inner)} | named("join", Add{}) | named("top", Dense{.units = 2})},
      name);
}

void train(Model model) {
  model.compile({.optimizer = Adam{.learning_rate = 0.05}, .loss = losses::MeanSquaredError{}});
  model.fit(numbers({6, 3}, 1), numbers({6, 2}, 2), {.epochs = 2, .verbose = "none"});
}

std::size_t numbers_in(const std::string& file) { return Hdf5Reader(file).datasets_under("").size(); }

const Tensor rows = numbers({5, 3}, 7);

}  // namespace

TEST_CASE("a model that holds one layer in several places writes it once and reads it back") {
  const TemporaryFolder folder;
  Model model = tangled();
  train(model);
  CHECK(model.weights().size() == 8);
  model.save_weights(folder / "m.weights.h5");
  CHECK(numbers_in(folder / "m.weights.h5") == 8);
  Model fresh = tangled();
  CHECK(off(fresh.predict(rows), model.predict(rows)) > 1e-3);
  fresh.load_weights(folder / "m.weights.h5");
  CHECK(off(fresh.predict(rows), model.predict(rows)) == 0);
  CHECK(off(fresh.weights_by_path(), model.weights_by_path()).first == 0);
}

TEST_CASE("what is loaded into a model, all that share its layers have; they train on from there") {
  const TemporaryFolder folder;
  const auto made = [] {
    const Symbol x = input({3}, "x");
    const Symbol features = x | named("features", Dense{.units = 4, .activation = "tanh"});
    return std::pair(Model({x}, {features}, "extractor"),
                     Model({x}, {features | named("top", Dense{.units = 2})}, "classifier"));
  };
  auto [extractor, classifier] = made();
  train(classifier);
  classifier.save_weights(folder / "c.weights.h5");
  extractor.save_weights(folder / "e.weights.h5");
  CHECK(numbers_in(folder / "e.weights.h5") == 2);

  auto [extractor2, classifier2] = made();
  classifier2.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = losses::MeanSquaredError{}});
  classifier2.train_on_batch({rows}, {numbers({5, 2}, 2)});  // compiled and run: its plans hold the weights' places
  (void)extractor2.predict(rows);
  classifier2.load_weights(folder / "c.weights.h5");
  CHECK(off(extractor2.predict(rows), extractor.predict(rows)) == 0);
  CHECK(off(classifier2.predict(rows), classifier.predict(rows)) == 0);
  classifier2.train_on_batch({rows}, {numbers({5, 2}, 2)});
  CHECK(off(extractor2.predict(rows), extractor.predict(rows)) > 1e-4);
  extractor2.load_weights(folder / "e.weights.h5");
  CHECK(off(classifier2.weight("features/kernel"), classifier.weight("features/kernel")) == 0);
}

TEST_CASE("the models within are written as layers of theirs, and a file of one does not fit the other") {
  const TemporaryFolder folder;
  Sequential inner({3}, {named("a", Dense{.units = 3})}, "inner");
  Sequential outer({3}, {inner, named("b", Dense{.units = 2})}, "outer");
  outer.save_weights(folder / "outer.weights.h5");
  inner.save_weights(folder / "inner.weights.h5");
  const Hdf5Reader file(folder / "outer.weights.h5");
  CHECK(file.has("layers/sequential/layers/dense/vars/0"));
  CHECK(file.has("layers/dense/vars/1"));
  const std::string said = message_of([&] { outer.load_weights(folder / "inner.weights.h5"); });
  CHECK(said.find("does not fit model 'outer': 0 of 4 weights can be loaded") != std::string::npos);
  const auto before = copied(outer);
  CHECK(off(outer.weights_by_path(), before).first == 0);
}

TEST_CASE("weights go into a clone by file, and the original does not follow") {
  const TemporaryFolder folder;
  Model model = tangled();
  train(model);
  model.save_weights(folder / "m.weights.h5");
  const Symbol x = input({3}, "x");
  Layer clone = Layer(model).clone();
  Model held({x}, {x | clone}, "held"), original({x}, {x | Layer(model)}, "held");
  original.save_weights(folder / "held.weights.h5");
  CHECK(off(held.predict(rows), model.predict(rows)) > 1e-3);
  held.load_weights(folder / "held.weights.h5");
  CHECK(off(held.predict(rows), model.predict(rows)) == 0);
  const auto before = copied(model);
  held.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = losses::MeanSquaredError{}});
  held.train_on_batch({rows}, {numbers({5, 2}, 2)});
  CHECK(off(model.weights_by_path(), before).first == 0);
}
