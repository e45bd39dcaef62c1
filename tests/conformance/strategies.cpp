// SPDX-License-Identifier: Apache-2.0
// Every strategy's examples: training gives one device's result, whatever the layer and the rows left over; devices that
// are not here are refused by name.
#include "strata/strategies.h"
#include "strata/layers.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/layer_example.h"
#include "support/message.h"
#include "support/toy_backend.h"
#include "support/training.h"

namespace strata::test {
namespace {

struct Outcome {
  std::vector<Figures> figures;
  std::map<std::string, Tensor> weights;
  std::vector<Tensor> predicted;
};

// In float64, so that only the order of sums differs.
Model compiled_with(const Layer& layer, const Schema::Example& example, const Strategy& strategy) {
  Model model = model_of(layer.clone(), example);
  model.compile({.optimizer = parts<Optimizer>().make("Adam", parse_flow("{learning_rate: 0.01, global_clipnorm: 2}")),
                 .loss = "mse",
                 .precision = "float64",
                 .strategy = strategy});
  model.build(3);
  return model;
}

Outcome trained(const Layer& layer, const Schema::Example& example, const Strategy& strategy, std::int64_t rows) {
  Model model = compiled_with(layer, example, strategy);
  Outcome outcome;
  const std::vector<Tensor> x = rows_for(example, rows);
  std::vector<Tensor> y;
  for (const Tensor& out : model.predict(x)) y.push_back(numbers(out.shape(), 60 + y.size(), -1, 1, out.dtype()));
  for (int step = 0; step < 2; ++step) outcome.figures.push_back(model.train_on_batch(x, y));
  outcome.figures.push_back(model.test_on_batch(x, y));
  outcome.weights = copied(model);
  outcome.predicted = model.predict(x);
  return outcome;
}

// Whether each of the strategy's devices is one of the backends here; replicas may be virtual.
bool here(const Strategy& strategy, const Devices& devices) {
  for (const Device& device : strategy->mesh(devices).devices)
    if (device.backend != "cpu" && device.backend != "toy") return false;
  return true;
}

Devices all_devices() {
  Devices devices = backend("cpu").devices();
  for (const Device& device : toy_backend().devices()) devices.push_back(device);
  return devices;
}

}  // namespace

TEST_CASE("every strategy gives every layer's model one device's figures, weights and predictions") {
  const Strategy one = strategies::DefaultStrategy{.device = "cpu"};
  int compared = 0;
  each_example<Strategy>([&](const Strategy& strategy, const Schema::Example&) {
    if (!here(strategy, all_devices())) return;
    for (const std::int64_t rows : {5, 1}) {  // uneven; then replicas without a row
      CAPTURE(rows);
      each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
        const Outcome wanted = trained(layer, example, one, rows), found = trained(layer, example, strategy, rows);
        for (std::size_t i = 0; i < wanted.figures.size(); ++i)
          for (const auto& [name, value] : wanted.figures[i])
            CHECK_MESSAGE(found.figures[i].at(name) == doctest::Approx(value).epsilon(1e-6), name);
        const auto [by, path] = off(wanted.weights, found.weights);
        CHECK_MESSAGE(by < 1e-8, path << " by " << by);
        REQUIRE(found.predicted.size() == wanted.predicted.size());
        for (std::size_t o = 0; o < wanted.predicted.size(); ++o)
          CHECK(off(wanted.predicted[o], found.predicted[o]) < 1e-8);
        ++compared;
      });
    }
  });
  CHECK(compared > 200);
}

TEST_CASE("every strategy declares a mesh of as many devices as its axes say, with data along one") {
  const Devices many{{"cuda", 0}, {"cuda", 1}, {"cuda", 2}, {"cuda", 3}, {"cpu", 0}};
  each_example<Strategy>([&](const Strategy& strategy, const Schema::Example&) {
    const Mesh mesh = strategy->mesh(many);
    std::size_t extent = 1;
    for (const auto& [name, size] : mesh.axes) {
      CHECK(size >= 1);
      CHECK_FALSE(name.empty());
      extent *= static_cast<std::size_t>(size);
    }
    CHECK(extent == mesh.devices.size());
    CHECK(mesh.extent("data") >= 1);
    const Type type{{8, 4}, DType::float32};
    CHECK(strategy->state("dense/kernel", type).axes.size() <= 2);
    CHECK(strategy->feed("x", type).axes.size() <= 2);
    CHECK(strategy->exchange().bucket_bytes > 0);
    CHECK(strategy->exchange().local_steps >= 1);
  });
}

TEST_CASE("devices that are not here are refused by name when a model is compiled for them") {
  each_example<Strategy>([](const Strategy& strategy, const Schema::Example&) {
    if (here(strategy, all_devices())) return;
    const Mesh mesh = strategy->mesh(all_devices());
    const std::string said = message_of([&] {
      Sequential model({3}, {Layer(layers::Dense{.units = 2})});
      model.compile({.loss = "mse", .strategy = strategy});
      model.predict(numbers({2, 3}, 1));
    });
    CHECK_MESSAGE(
        std::ranges::any_of(mesh.devices,
                            [&](const Device& device) { return said.find(device.backend) != std::string::npos; }),
        said);
    CHECK(said != "(no error)");
  });
}

}  // namespace strata::test
