// SPDX-License-Identifier: Apache-2.0
// Every layer's examples as models, on the CPU and on the toy backend: shapes and types of predictions, padded batches,
// a step that changes every trainable weight, weight files that give the same predictions to the last bit.
#include <cstring>

#include "strata/strategies.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/layer_example.h"
#include "support/temporary.h"
#include "support/toy_backend.h"
#include "support/training.h"

namespace strata::test {
namespace {

// Numbers as far from the initial values as those of a trained model: positive, so that variances are.
void set_away(Model& model, std::uint64_t seed) {
  for (const StateEntry& entry : model.weights())
    if (is_floating(entry.type.dtype))
      model.set_weight(entry.path,
                       tensor_of(uniform(entry.type.shape, std::hash<std::string>{}(entry.path) + seed, 0.3, 1.2),
                                 entry.type.dtype));
}

Model compiled_model(const Layer& layer, const Schema::Example& example, const std::string& device) {
  Model model = model_of(layer.clone(), example);
  model.compile({.optimizer = parts<Optimizer>().make("SGD", parse_flow("{learning_rate: 0.5}")),
                 .loss = "mse",
                 .strategy = Strategy(strategies::DefaultStrategy{.device = device})});
  return model;
}

// Calls f(layer, example, device) for every example on both backends.
template <class F> void each_device(F f) {
  (void)toy_backend();
  for (const std::string device : {"cpu", "toy"}) {
    CAPTURE(device);
    each_example<Layer>([&](const Layer& layer, const Schema::Example& example) { f(layer, example, device); });
  }
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return same_bits(x, y); });
}

}  // namespace

TEST_CASE("predictions have the shapes that were traced, and padding a last batch does not change them") {
  each_device([](const Layer& layer, const Schema::Example& example, const std::string& device) {
    Model model = compiled_model(layer, example, device);
    set_away(model, 1);
    const std::vector<Tensor> x = rows_for(example, 5), whole = model.predict(x, {.batch_size = 5}),
                              parts_of_2 = model.predict(x, {.batch_size = 2});
    const auto t = traced(layer.clone(), example, 5, false, "float32");
    REQUIRE(whole.size() == t->outputs.size());
    for (std::size_t o = 0; o < whole.size(); ++o) {
      CHECK(whole[o].type() == t->outputs[o].type());
      CHECK(off(whole[o], parts_of_2[o]) < 1e-5);
      for (const double value : whole[o].to_doubles()) CHECK(std::isfinite(value));
    }
  });
}

TEST_CASE("one step of SGD changes every trainable weight, and a frozen layer's none") {
  each_device([](const Layer& layer, const Schema::Example& example, const std::string& device) {
    for (const bool frozen : {false, true}) {
      CAPTURE(frozen);
      Layer own = layer.clone();
      own.common().trainable = !frozen;
      Model model = compiled_model(own, example, device);
      model.build(3);
      set_away(model, 2);
      const std::map<std::string, Tensor> before = copied(model);
      const std::vector<Tensor> x = rows_for(example, 4);
      std::vector<Tensor> y;
      for (const Tensor& out : model.predict(x)) y.push_back(numbers(out.shape(), 60 + y.size(), -1, 1, out.dtype()));
      const Figures figures = model.train_on_batch(x, y);
      CHECK(std::isfinite(figures.at("loss")));
      for (const StateEntry& entry : model.weights()) {
        CAPTURE(entry.path);
        CHECK((entry.trainable && frozen) == false);
        if (entry.trainable) CHECK_FALSE(same_bits(before.at(entry.path), model.weight(entry.path)));
        if (frozen) CHECK(same_bits(before.at(entry.path), model.weight(entry.path)));
        for (const double value : model.weight(entry.path).to_doubles()) CHECK(std::isfinite(value));
      }
    }
  });
}

TEST_CASE("weights saved and loaded predict the same to the last bit") {
  const TemporaryFolder folder;
  int with_weights = 0;
  each_device([&](const Layer& layer, const Schema::Example& example, const std::string& device) {
    Model model = compiled_model(layer, example, device), other = compiled_model(layer, example, device);
    set_away(model, 3);
    other.build(77);
    const std::vector<Tensor> x = rows_for(example, 4), wanted = model.predict(x);
    const std::string file = folder / "it.weights.h5";
    model.save_weights(file);
    if (!model.weights().empty()) {
      ++with_weights;
      CHECK_FALSE(same(other.predict(x), wanted));
    }
    other.load_weights(file);
    CHECK(same(other.predict(x), wanted));
    for (const StateEntry& entry : model.weights())
      CHECK_MESSAGE(same_bits(model.weight(entry.path), other.weight(entry.path)), entry.path);
  });
  CHECK(with_weights > 20);
}

}  // namespace strata::test
