// SPDX-License-Identifier: Apache-2.0
// The gated recurrent unit.
#pragma once

#include "strata/layers/recurrent.h"

namespace strata::layers {

struct GRU {
  std::int64_t units = 0;
  Layer activation = "tanh", recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", recurrent_initializer = "orthogonal", bias_initializer = "zeros";
  Optional<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Optional<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  Optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, reset_after = true;
  static Schema schema() {
    return Schema("GRU",
                  "Gated recurrent unit over [batch, time, features]. Cho et al., 2014. Masked steps keep state and "
                  "output.")
        .masking(Schema::Masking::uses)
        .arg("units", &GRU::units, "Width of state and output.", at_least(1))
        .arg("activation", &GRU::activation, "Of the candidate.")
        .arg("recurrent_activation", &GRU::recurrent_activation, "Of the gates.")
        .arg("use_bias", &GRU::use_bias, "Whether to add biases.")
        .arg("kernel_initializer", &GRU::kernel_initializer, "First values of the kernel [features, 3 units].")
        .arg("recurrent_initializer", &GRU::recurrent_initializer,
             "First values of the recurrent kernel [units, 3 units].")
        .arg("bias_initializer", &GRU::bias_initializer,
             "First values of the biases: [2, 3 units] with reset_after, else [3 units].")
        .arg("kernel_regularizer", &GRU::kernel_regularizer, "A penalty on the kernel.")
        .arg("recurrent_regularizer", &GRU::recurrent_regularizer, "A penalty on the recurrent kernel.")
        .arg("bias_regularizer", &GRU::bias_regularizer, "A penalty on the biases.")
        .arg("kernel_constraint", &GRU::kernel_constraint, "What the kernel must satisfy.")
        .arg("recurrent_constraint", &GRU::recurrent_constraint, "What the recurrent kernel must satisfy.")
        .arg("bias_constraint", &GRU::bias_constraint, "What the biases must satisfy.")
        .arg("dropout", &GRU::dropout, "Part of the inputs zeroed while training, the same at every step.",
             from_up_to(0, 1))
        .arg("recurrent_dropout", &GRU::recurrent_dropout,
             "Part of the state zeroed on its way into the gates, the same at every step.", from_up_to(0, 1))
        .arg("seed", &GRU::seed, "A seed of its own.")
        .arg("return_sequences", &GRU::return_sequences, "Whether to give every step's output, not only the last.")
        .arg("return_state", &GRU::return_state, "Whether to give the last state as a further output.")
        .arg("go_backwards", &GRU::go_backwards, "Whether to begin with the last step; outputs come in that order.")
        .arg("reset_after", &GRU::reset_after,
             "Whether the reset gate acts after the state's product with its kernel, or before.")
        .example(+[] { return GRU{.units = 3, .return_state = true}; }, {{4, 2}})
        .example(
            +[] {
              return GRU{.units = 2,
                         .activation = "softsign",
                         .recurrent_activation = "hard_sigmoid",
                         .use_bias = false,
                         .return_sequences = true,
                         .reset_after = false};
            },
            {{3, 2}})
        .example(+[] { return GRU{.units = 2, .dropout = 0.2, .recurrent_dropout = 0.2, .go_backwards = true}; },
                 {{3, 2}});
  }

  Values call(Scope& s, std::span<const Value> inputs) const {
    want_sequence(inputs, 1, "state");
    Value x = inputs[0], mask = s.mask(x);
    const std::int64_t batch = x.shape()[0], features = x.shape()[2];
    Scope cell = s.child("cell");
    Value kernel = cell.weight(
        "kernel", {features, 3 * units},
        {.initializer = kernel_initializer, .regularizer = kernel_regularizer, .constraint = kernel_constraint});
    Value recurrent = cell.weight("recurrent_kernel", {units, 3 * units},
                                  {.initializer = recurrent_initializer,
                                   .regularizer = recurrent_regularizer,
                                   .constraint = recurrent_constraint});
    Value bias, recurrent_bias;  // of the input's product, and of the state's
    if (use_bias) {
      bias = cell.weight(
          "bias", reset_after ? Shape{2, 3 * units} : Shape{3 * units},
          {.initializer = bias_initializer, .regularizer = bias_regularizer, .constraint = bias_constraint});
      if (reset_after) {
        recurrent_bias = reshape(slice_axis(bias, 0, 1, 2), {3 * units});
        bias = reshape(slice_axis(bias, 0, 0, 1), {3 * units});
      }
    }
    if (go_backwards) std::tie(x, mask) = backwards(x, mask);
    if (s.training() && dropout > 0) x = x * dropout_factor(s, dropout, {batch, 1, features}, x.dtype(), seed);
    Value projected = matmul(x, kernel);
    if (bias) projected = projected + bias;
    Values constants{recurrent};
    if (recurrent_bias) constants.push_back(recurrent_bias);
    const bool drops = s.training() && recurrent_dropout > 0;
    if (drops) constants.push_back(dropout_factor(s, recurrent_dropout, {batch, units}, x.dtype(), seed));
    const Value h0 = inputs.size() > 1 ? inputs[1] : full(s.graph(), 0, {batch, units}, x.dtype());
    const Values results =
        over_time(s, projected, {h0}, constants, mask,
                  [&](Scope& inner, Value step, std::span<const Value> state, std::span<const Value> fixed) {
                    return Values{next(inner, step, state[0], fixed[0], recurrent_bias ? fixed[1] : Value{},
                                       drops ? fixed.back() : Value{})};
                  });
    Values outputs{return_sequences ? results[0] : results[1]};
    if (return_state) outputs.push_back(results[1]);
    return outputs;
  }
  Value mask(Scope& s, std::span<const Value> inputs, Value) const {
    return return_sequences ? s.mask(inputs[0]) : Value{};
  }

 private:
  // One step: update gate z, reset gate r, candidate; columns in that order.
  Value next(Scope& s, Value x, Value h, Value recurrent, Value bias, Value keep) const {
    auto columns = [&](Value of, std::int64_t from, std::int64_t to) {
      return slice_axis(of, -1, from * units, to * units);
    };
    const Value seen = keep ? h * keep : h;
    Value inner = matmul(seen, reset_after ? recurrent : columns(recurrent, 0, 2));
    if (bias) inner = inner + bias;
    const Value z = recurrent_activation->call(s, columns(x, 0, 1) + columns(inner, 0, 1));
    const Value r = recurrent_activation->call(s, columns(x, 1, 2) + columns(inner, 1, 2));
    const Value part = reset_after ? r * columns(inner, 2, 3) : matmul(r * seen, columns(recurrent, 2, 3));
    const Value candidate = activation->call(s, columns(x, 2, 3) + part);
    return z * h + (1.0 - z) * candidate;
  }
};

inline void register_gru(Registry<Layer>& r) { r.add<GRU>(); }

}  // namespace strata::layers
