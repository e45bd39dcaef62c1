// SPDX-License-Identifier: Apache-2.0
// Keras's short words for parts.
#include <doctest/doctest.h>

#include "strata/layer.h"
#include "strata/metric.h"
#include "strata/optimizer.h"

using namespace strata;

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
