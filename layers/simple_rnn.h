// SPDX-License-Identifier: Apache-2.0
// The recurrent layer without gates.
#pragma once

#include "strata/layers/recurrent.h"

namespace strata::layers {

struct SimpleRNN {
  std::int64_t units = 0;
  Layer activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", recurrent_initializer = "orthogonal", bias_initializer = "zeros";
  Optional<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Optional<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false, go_backwards = false;
  Optional<std::int64_t> seed = {};
  static Schema schema() {
    return Schema("SimpleRNN",
                  "Each step's output is activation(x · kernel + last output · recurrent_kernel + bias). Masked steps "
                  "keep the output.")
        .masking(Schema::Masking::uses)
        .arg("units", &SimpleRNN::units, "Width of the output.", at_least(1))
        .arg("activation", &SimpleRNN::activation, "Of the output.")
        .arg("use_bias", &SimpleRNN::use_bias, "Whether to add a bias.")
        .arg("kernel_initializer", &SimpleRNN::kernel_initializer, "First values of the kernel [features, units].")
        .arg("recurrent_initializer", &SimpleRNN::recurrent_initializer,
             "First values of the recurrent kernel [units, units].")
        .arg("bias_initializer", &SimpleRNN::bias_initializer, "First values of the bias [units].")
        .arg("kernel_regularizer", &SimpleRNN::kernel_regularizer, "A penalty on the kernel.")
        .arg("recurrent_regularizer", &SimpleRNN::recurrent_regularizer, "A penalty on the recurrent kernel.")
        .arg("bias_regularizer", &SimpleRNN::bias_regularizer, "A penalty on the bias.")
        .arg("kernel_constraint", &SimpleRNN::kernel_constraint, "What the kernel must satisfy.")
        .arg("recurrent_constraint", &SimpleRNN::recurrent_constraint, "What the recurrent kernel must satisfy.")
        .arg("bias_constraint", &SimpleRNN::bias_constraint, "What the bias must satisfy.")
        .arg("dropout", &SimpleRNN::dropout, "Part of the inputs zeroed while training, the same at every step.",
             from_up_to(0, 1))
        .arg("recurrent_dropout", &SimpleRNN::recurrent_dropout,
             "Part of the last output zeroed while training, the same at every step.", from_up_to(0, 1))
        .arg("return_sequences", &SimpleRNN::return_sequences,
             "Whether to give every step's output, not only the last.")
        .arg("return_state", &SimpleRNN::return_state, "Whether to give the last output once more, as the state.")
        .arg("go_backwards", &SimpleRNN::go_backwards,
             "Whether to begin with the last step; outputs come in that order.")
        .arg("seed", &SimpleRNN::seed, "A seed of its own.")
        .example(+[] { return SimpleRNN{.units = 3, .return_state = true}; }, {{4, 2}})
        .example(
            +[] {
              return SimpleRNN{.units = 2, .activation = "softsign", .use_bias = false, .return_sequences = true};
            },
            {{3, 2}})
        .example(+[] { return SimpleRNN{.units = 2, .dropout = 0.2, .recurrent_dropout = 0.2, .go_backwards = true}; },
                 {{3, 2}});
  }

  Values call(Scope& s, std::span<const Value> inputs) const {
    want_sequence(inputs, 1, "state");
    Value x = inputs[0], mask = s.mask(x);
    const std::int64_t batch = x.shape()[0], features = x.shape()[2];
    Scope cell = s.child("cell");
    Value kernel = cell.weight(
        "kernel", {features, units},
        {.initializer = kernel_initializer, .regularizer = kernel_regularizer, .constraint = kernel_constraint});
    Value recurrent = cell.weight("recurrent_kernel", {units, units},
                                  {.initializer = recurrent_initializer,
                                   .regularizer = recurrent_regularizer,
                                   .constraint = recurrent_constraint});
    Value bias;
    if (use_bias)
      bias = cell.weight(
          "bias", {units},
          {.initializer = bias_initializer, .regularizer = bias_regularizer, .constraint = bias_constraint});
    if (go_backwards) std::tie(x, mask) = backwards(x, mask);
    if (s.training() && dropout > 0) x = x * dropout_factor(s, dropout, {batch, 1, features}, x.dtype(), seed);
    Value projected = matmul(x, kernel);
    if (bias) projected = projected + bias;
    Values constants{recurrent};
    if (s.training() && recurrent_dropout > 0)
      constants.push_back(dropout_factor(s, recurrent_dropout, {batch, units}, x.dtype(), seed));
    const Value h0 = inputs.size() > 1 ? inputs[1] : full(s.graph(), 0, {batch, units}, x.dtype());
    const Values results =
        over_time(s, projected, {h0}, constants, mask,
                  [&](Scope& inner, Value step, std::span<const Value> state, std::span<const Value> fixed) {
                    const Value h = fixed.size() > 1 ? state[0] * fixed[1] : state[0];
                    return Values{activation->call(inner, step + matmul(h, fixed[0]))};
                  });
    Values outputs{return_sequences ? results[0] : results[1]};
    if (return_state) outputs.push_back(results[1]);
    return outputs;
  }
  Value mask(Scope& s, std::span<const Value> inputs, Value) const {
    return return_sequences ? s.mask(inputs[0]) : Value{};
  }
};

inline void register_simple_rnn(Registry<Layer>& r) { r.add<SimpleRNN>(); }

}  // namespace strata::layers
