// SPDX-License-Identifier: Apache-2.0
// Small models of five kinds with a batch each: what properties of plans and runs are tried on.
#pragma once

#include "model/batches.h"
#include "strata/strata.h"
#include "support/training.h"

namespace strata::test {

struct SmallModel {
  std::string name;
  std::function<Model()> make;
  std::vector<Tensor> x, y;
};

inline Model small_residual_net() {
  const Symbol image = input({12, 12, 4}, "image");
  const Symbol stem = image | Conv2D{.filters = 16, .kernel_size = 3, .padding = "same", .use_bias = false} |
                      BatchNormalization{} | ReLU{};
  const Symbol side =
      stem | Conv2D{.filters = 16, .kernel_size = 3, .padding = "same", .use_bias = false} | BatchNormalization{};
  const Symbol joined = Symbols{stem, side} | Add{};
  const Symbol logits = joined | ReLU{} | GlobalAveragePooling2D{} | Dense{.units = 5};
  return Model({image}, {logits});
}

// Token numbers below `count`; 0, which is padding, at the end of some rows.
inline Tensor padded_tokens(std::int64_t rows, std::int64_t length, int count) {
  Tensor tokens = numbers({rows, length}, 9, 1, count, DType::int32);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = length - row % 5; i < length; ++i)
      tokens.as<std::int32_t>()[static_cast<std::size_t>(row * length + i)] = 0;
  }
  return tokens;
}

inline std::vector<SmallModel> small_models() {
  const std::int64_t rows = 32;
  return {
      {"convolutional",
       [] {
         return Sequential(
             {14, 14, 1}, {Conv2D{.filters = 16, .kernel_size = 3, .activation = "relu"}, MaxPooling2D{},
                           Conv2D{.filters = 8, .kernel_size = 3}, Flatten{}, Dropout{.rate = 0.3}, Dense{.units = 5}});
       },
       {numbers({rows, 14, 14, 1}, 1)},
       {classes(rows, 5)}},
      {"dense",
       [] {
         return Sequential({40}, {Dense{.units = 64, .activation = "relu"}, Dense{.units = 64, .activation = "tanh"},
                                  Dense{.units = 5}});
       },
       {numbers({rows, 40}, 2)},
       {classes(rows, 5)}},
      {"residual with batch normalization", small_residual_net, {numbers({rows, 12, 12, 4}, 4)}, {classes(rows, 5)}},
      {"masked recurrent",
       [] {
         return Sequential(
             {10},
             {Embedding{.input_dim = 50, .output_dim = 16, .mask_zero = true}, LSTM{.units = 24}, Dense{.units = 5}},
             "", DType::int32);
       },
       {padded_tokens(rows, 10, 50)},
       {classes(rows, 5)}},
      {"embedding classifier",
       [] {
         return Sequential({10},
                           {Embedding{.input_dim = 50, .output_dim = 16}, GlobalAveragePooling1D{},
                            LayerNormalization{}, Dense{.units = 5}},
                           "", DType::int32);
       },
       {padded_tokens(rows, 10, 50)},
       {classes(rows, 5)}}};
}

inline CompileSettings small_settings() {
  return {.optimizer = Adam{.learning_rate = 0.01},
          .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
          .metrics = {"accuracy"}};
}

}  // namespace strata::test
