// SPDX-License-Identifier: Apache-2.0
// Replicas change nothing: whatever the layers, the weights and the rows left over, several virtual devices give one
// device's history, weights and predictions. In float64, so that only the order of sums differs.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "strata/strata.h"

using namespace strata;

namespace {

constexpr double pi = 3.14159265358979323846;

// Numbers that look random and are the same everywhere.
Tensor wave(const Shape& shape, double phase) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<double>(i) * pi * 1.6180339 + phase) +
                0.3 * std::cos(static_cast<double>(i * i % 97) + phase);
  return Tensor::from_doubles({shape, DType::float32}, values);
}

Tensor classes(std::int64_t rows, int count) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>((i * 7 + i / 3) % static_cast<std::size_t>(count));
  return Tensor({rows}, values);
}

// Token numbers, 0 (padding) at the end of some rows; row 2 is all padding.
Tensor tokens(std::int64_t rows, std::int64_t length) {
  std::vector<std::int32_t> values;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t t = 0; t < length; ++t)
      values.push_back(r == 2 || t >= length - r % 3 ? 0 : static_cast<std::int32_t>(1 + (r * 5 + t * 3) % 6));
  return Tensor({rows, length}, values);
}

struct Trial {
  std::function<Model()> make;
  CompileSettings settings;
  std::function<Dataset(std::int64_t rows)> data;
  FitOptions options = {};
};

struct Outcome {
  History history;
  std::map<std::string, Tensor> weights;
  Figures evaluated;
  std::vector<Tensor> predicted;
};

Outcome train(const Trial& trial, std::int64_t rows, int replicas) {
  Model model = trial.make();
  CompileSettings settings = trial.settings;
  settings.precision = "float64";
  if (replicas > 1) settings.strategy = Strategy(MirroredStrategy{.devices = {cat("cpu:", replicas)}});
  model.compile(settings);
  FitOptions options = trial.options;
  options.batch_size = 4;
  options.epochs = 2;
  options.verbose = "none";
  options.seed = 11;
  const Dataset data = trial.data(rows);
  Outcome outcome;
  outcome.history = model.fit(data, options);
  outcome.weights = model.weights_by_path();
  outcome.evaluated = model.evaluate(data, {.batch_size = 4});
  outcome.predicted = model.predict(data, {.batch_size = 4});
  return outcome;
}

double off(const Tensor& a, const Tensor& b) {
  const auto x = a.to_doubles(), y = b.to_doubles();
  if (a.type() != b.type()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
    most = std::isfinite(difference) ? std::max(most, difference) : INFINITY;
  }
  return most;
}

// Figures are kept in float32; weights are not.
void same(const Outcome& several, const Outcome& one) {
  REQUIRE(several.history.figures.size() == one.history.figures.size());
  for (const auto& [name, values] : one.history.figures) {
    CAPTURE(name);
    const auto& others = several.history[name];
    REQUIRE(others.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(others[i] == doctest::Approx(values[i]).epsilon(2e-6));
  }
  for (const auto& [name, value] : one.evaluated) {
    CAPTURE(name);
    CHECK(several.evaluated.at(name) == doctest::Approx(value).epsilon(2e-6));
  }
  REQUIRE(several.weights.size() == one.weights.size());
  for (const auto& [path, value] : one.weights) CHECK_MESSAGE(off(several.weights.at(path), value) < 1e-9, path);
  REQUIRE(several.predicted.size() == one.predicted.size());
  for (std::size_t i = 0; i < one.predicted.size(); ++i) CHECK(off(several.predicted[i], one.predicted[i]) < 1e-6);
}

// Rows that fill the batches, leave one over, leave replicas without any.
void check(const Trial& trial, std::initializer_list<std::int64_t> row_counts = {1, 3, 6, 8, 13}) {
  for (const std::int64_t rows : row_counts) {
    const Outcome one = train(trial, rows, 1);
    for (const int replicas : {2, 3, 5}) {
      CAPTURE(rows);
      CAPTURE(replicas);
      try {
        same(train(trial, rows, replicas), one);
      } catch (const std::exception& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

Dataset labelled(const Shape& row, std::int64_t rows, int count) {
  return Arrays{.x = {wave(row.prepend(rows), 0.4)}, .y = {classes(rows, count)}};
}

CompileSettings classifying(Optimizer optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9}) {
  return {.optimizer = optimizer,
          .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
          .metrics = {"accuracy", metrics::SparseCategoricalCrossentropy{.from_logits = true}}};
}

}  // namespace

TEST_CASE("replicas: a multilayer perceptron") {
  check({[] {
           return Sequential({5}, {Dense{.units = 7, .activation = "tanh"}, Dense{.units = 3}});
         },
         classifying(), [](std::int64_t rows) { return labelled({5}, rows, 3); }},
        {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
}

TEST_CASE("replicas: a convolutional network") {
  check({[] {
           return Sequential(
               {6, 6, 2},
               {Conv2D{.filters = 3, .kernel_size = 3, .padding = "same", .activation = "relu"}, MaxPooling2D{},
                Conv2D{.filters = 4, .kernel_size = 2}, AveragePooling2D{}, Flatten{}, Dense{.units = 3}});
         },
         classifying(),
         [](std::int64_t rows) {
           return labelled({6, 6, 2}, rows, 3);
         }});
}

TEST_CASE("replicas: batch normalization is over the whole batch") {
  check({[] {
           return Sequential({4, 4, 2}, {Conv2D{.filters = 3, .kernel_size = 3, .use_bias = false},
                                         BatchNormalization{.momentum = 0.8}, ReLU{}, GlobalAveragePooling2D{},
                                         Dense{.units = 5}, BatchNormalization{}, Dense{.units = 3}});
         },
         classifying(),
         [](std::int64_t rows) {
           return labelled({4, 4, 2}, rows, 3);
         }});
}

TEST_CASE("replicas: layer normalization") {
  check({[] {
           return Sequential(
               {5}, {Dense{.units = 6}, LayerNormalization{}, Activation{.activation = "gelu"}, Dense{.units = 3}});
         },
         classifying(Adam{.learning_rate = 0.01}), [](std::int64_t rows) { return labelled({5}, rows, 3); }});
}

TEST_CASE("replicas: an LSTM under a mask") {
  check({[] {
           return Sequential(
               {5},
               {Embedding{.input_dim = 7, .output_dim = 4, .mask_zero = true}, LSTM{.units = 3}, Dense{.units = 3}}, "",
               DType::int32);
         },
         classifying(),
         [](std::int64_t rows) { return Dataset(Arrays{.x = {tokens(rows, 5)}, .y = {classes(rows, 3)}}); }});
}

TEST_CASE("replicas: dropout draws by row") {
  check({[] {
           return Sequential({5}, {Dense{.units = 9, .activation = "relu"}, Dropout{.rate = 0.5}, Dense{.units = 3}});
         },
         classifying(), [](std::int64_t rows) { return labelled({5}, rows, 3); }});
}

TEST_CASE("replicas: weights of rows and of classes") {
  Trial trial{[] {
                return Sequential({5}, {Dense{.units = 4, .activation = "tanh"}, Dense{.units = 3}});
              },
              classifying(),
              [](std::int64_t rows) {
                std::vector<float> weights;
                for (std::int64_t r = 0; r < rows; ++r) weights.push_back(static_cast<float>(0.25 + (r * 3) % 4));
                return Dataset(Arrays{
                    .x = {wave({rows, 5}, 0.4)}, .y = {classes(rows, 3)}, .sample_weight = Tensor({rows}, weights)});
              }};
  trial.settings.weighted_metrics = {"accuracy"};
  check(trial);
  trial.data = [](std::int64_t rows) { return labelled({5}, rows, 3); };
  trial.options.class_weight = {{0, 1.0}, {1, 3.0}, {2, 0.5}};
  check(trial);
}

TEST_CASE("replicas: clipping by the norm of all gradients, and penalties") {
  Optimizer clipped = SGD{.learning_rate = 0.5};
  clipped.common().global_clipnorm = 0.05;
  check({[] {
           return Sequential(
               {5}, {Dense{.units = 6, .activation = "tanh", .kernel_regularizer = L2{.l2 = 0.05}}, Dense{.units = 3}});
         },
         classifying(clipped), [](std::int64_t rows) { return labelled({5}, rows, 3); }});
}

TEST_CASE("replicas: two outputs with weighted losses") {
  Trial trial{[] {
                const Symbol x = input({5}, "x");
                const Symbol hidden = x | Dense{.units = 6, .activation = "tanh"};
                return Model(Symbols{x}, Symbols{hidden | named("kind", Dense{.units = 3}),
                                                 hidden | named("size", Dense{.units = 1})});
              },
              {.optimizer = Adam{.learning_rate = 0.02},
               .loss = std::vector<Loss>{losses::SparseCategoricalCrossentropy{.from_logits = true},
                                         losses::MeanSquaredError{}},
               .loss_weights = {{"kind", 0.5}, {"size", 2.0}}},
              [](std::int64_t rows) {
                return Dataset(Arrays{.x = {wave({rows, 5}, 0.4)}, .y = {classes(rows, 3), wave({rows, 1}, 2.0)}});
              }};
  check(trial);
}
