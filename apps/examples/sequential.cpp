// SPDX-License-Identifier: Apache-2.0
// A chain of layers, from declaration to prediction, on made-up data.
#include <strata/strata.h>

#include <iostream>

using namespace strata;

int main() {
  const Synthetic data{.rows = 2000, .shape = {16}, .classes = 4};
  Sequential model(
      {16}, {Dense{.units = 32, .activation = "relu"}, Dropout{.rate = 0.2}, named("logits", Dense{.units = 4})});
  std::cout << model.summary();
  model.compile({.optimizer = Adam{.learning_rate = 3e-3},
                 .loss = SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"}});
  const History history = model.fit(data, {.batch_size = 64, .epochs = 6, .verbose = "line", .validation_split = 0.2});
  const Figures figures = model.evaluate(data);
  std::cout << "accuracy " << figures.at("accuracy") << ", loss " << figures.at("loss") << "\n";
  // Learning means: better than the first epoch, and far better than one in four.
  return figures.at("accuracy") > 0.9 && history["val_loss"].back() < history["val_loss"].front() ? 0 : 1;
}
