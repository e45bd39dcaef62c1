// SPDX-License-Identifier: Apache-2.0
// Models trained on a backend that is not the CPU, whose memory the host cannot touch: the same figures, weights and
// predictions, on one device and on replicas.
#include <doctest/doctest.h>

#include "strata/strata.h"
#include "support/arrays.h"
#include "support/toy_backend.h"

namespace strata::test {
namespace {

Tensor numbers(const Shape& shape, std::uint64_t seed) {
  return Tensor::from_doubles({shape, DType::float32}, uniform(shape, seed).data);
}

Tensor classes(std::int64_t rows, int count) {
  std::vector<double> labels;
  for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<double>((i * 7 + i / 3) % count));
  return Tensor::from_doubles({{rows}, DType::int64}, labels);
}

struct Outcome {
  History history;
  std::map<std::string, double> evaluated;
  std::map<std::string, Tensor> weights;
  std::vector<Tensor> predicted;
};

Outcome train(Model model, const Strategy& strategy, const Dataset& data) {
  model.compile({.optimizer = Adam{.learning_rate = 0.01},
                 .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"},
                 .strategy = strategy});
  Outcome outcome;
  outcome.history = model.fit(data, {.batch_size = 4, .epochs = 3, .verbose = "none", .seed = 5});
  outcome.evaluated = model.evaluate(data, {.batch_size = 4});
  outcome.weights = model.weights_by_path();
  outcome.predicted = model.predict(data, {.batch_size = 4});
  return outcome;
}

double off(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() ? difference(Array(a.shape(), a.to_doubles()), Array(b.shape(), b.to_doubles()))
                              : HUGE_VAL;
}

void check(const std::function<Model()>& build, const Dataset& data) {
  (void)toy_backend();
  const Outcome wanted = train(build(), Strategy(DefaultStrategy{.device = "cpu"}), data);
  for (const Strategy& strategy :
       {Strategy(DefaultStrategy{.device = "toy"}), Strategy(MirroredStrategy{.devices = {"toy:3"}})}) {
    const long before = toy_kernels_run();
    const Outcome found = train(build(), strategy, data);
    CHECK(toy_kernels_run() > before);
    for (const auto& [name, figures] : wanted.history.figures) {
      for (std::size_t i = 0; i < figures.size(); ++i)
        CHECK(found.history[name].at(i) == doctest::Approx(figures[i]).epsilon(1e-5));
    }
    for (const auto& [name, figure] : wanted.evaluated)
      CHECK(found.evaluated.at(name) == doctest::Approx(figure).epsilon(1e-5));
    REQUIRE(found.weights.size() == wanted.weights.size());
    for (const auto& [path, weight] : wanted.weights) CHECK_MESSAGE(off(found.weights.at(path), weight) < 1e-5, path);
    CHECK(off(found.predicted.at(0), wanted.predicted.at(0)) < 1e-5);
  }
}

TEST_CASE("toy backend: a convolutional network") {
  check(
      [] {
        return Sequential({6, 6, 1},
                          {Conv2D{.filters = 3, .kernel_size = 3, .activation = "relu"}, BatchNormalization{},
                           MaxPooling2D{}, Flatten{}, Dropout{.rate = 0.25}, Dense{.units = 3}});
      },
      Arrays{.x = {numbers({10, 6, 6, 1}, 1)}, .y = {classes(10, 3)}});
}

TEST_CASE("toy backend: an LSTM behind an embedding with a mask") {
  std::vector<double> words;
  for (int i = 0; i < 45; ++i) words.push_back(i % 5 > 4 - i / 5 % 3 ? 0 : 1 + i * 5 % 6);
  check(
      [] {
        return Sequential(
            {5}, {Embedding{.input_dim = 7, .output_dim = 3, .mask_zero = true}, LSTM{.units = 4}, Dense{.units = 2}},
            "", DType::int32);
      },
      Arrays{.x = {Tensor::from_doubles({{9, 5}, DType::int32}, words)}, .y = {classes(9, 2)}});
}

}  // namespace
}  // namespace strata::test
