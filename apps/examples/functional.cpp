// SPDX-License-Identifier: Apache-2.0
// A graph of layers: two inputs that share an encoder, a residual connection, two outputs with a loss each.
#include <strata/strata.h>

#include <iostream>
#include <random>

using namespace strata;

// Rows of two vectors of numbers; to be found: the difference of their means, and whether the left one's is the larger.
Arrays made_up(std::int64_t rows) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const Type vectors{{rows, 8}, DType::float32}, numbers{{rows, 1}, DType::float32};
  Tensor left(vectors), right(vectors), difference(numbers), larger(numbers);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      sum += left.as<float>()[row * 8 + i] = normal(random);
      sum -= right.as<float>()[row * 8 + i] = normal(random);
    }
    difference.as<float>()[row] = sum / 8;
    larger.as<float>()[row] = sum > 0 ? 1.0F : 0.0F;
  }
  return {.x = {left, right},
          .y = {difference, larger},
          .input_names = {"left", "right"},
          .target_names = {"difference", "larger"}};
}

int main() {
  const Symbol left = input({8}, "left"), right = input({8}, "right");
  const Layer encoder = named("encoder", Dense{.units = 16, .activation = "relu"});  // one layer, called twice
  const Symbol both = Symbols{left | encoder, right | encoder} | Concatenate{};
  const Symbol hidden = both | Dense{.units = 32, .activation = "relu"};
  const Symbol joined = Symbols{both, hidden} | Add{};
  Model model({{"left", left}, {"right", right}}, {{"difference", joined | named("mean", Dense{.units = 1})},
                                                   {"larger", joined | named("logit", Dense{.units = 1})}});
  std::cout << model.summary();
  model.compile({.optimizer = Adam{.learning_rate = 5e-3},
                 .loss = std::map<std::string, Loss>{{"difference", MeanSquaredError{}},
                                                     {"larger", BinaryCrossentropy{.from_logits = true}}},
                 .loss_weights = {{"difference", 2.0}},
                 .output_metrics = {{"larger", {BinaryAccuracy{.threshold = 0}}}}});
  model.fit(made_up(2000), {.batch_size = 50, .epochs = 8, .verbose = "line", .validation_split = 0.1});
  const Figures figures = model.evaluate(made_up(500));
  for (const auto& [name, value] : figures) std::cout << name << " " << value << "\n";
  // The difference varies by 0.25; half of the rows are larger.
  return figures.at("difference_loss") < 0.02 && figures.at("larger_binary_accuracy") > 0.93 ? 0 : 1;
}
