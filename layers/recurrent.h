// SPDX-License-Identifier: Apache-2.0
// LSTM, and what all recurrent layers share.
#pragma once

#include <tuple>

#include "strata/layer.h"

namespace strata::layers {

// Any cell over the steps of `projected` [batch, time, k]: `step` is given a scope of the loop's body, one step, the states
// and the constants there, and gives the states' next values, of which the first is also the output. Masked steps keep
// states and output. Returns all outputs [batch, time, units], then the last states.
template <class Step>
Values over_time(Scope& s, Value projected, const Values& states, const Values& constants, Value mask, Step step) {
  Graph& graph = s.graph();
  const std::int64_t batch = projected.shape()[0], time = projected.shape()[1];
  auto body = std::make_shared<Graph>();
  Trace trace;
  trace.graph = body.get();
  trace.training = s.training();
  trace.rows = s.rows();
  Scope inner(trace, s.path(), s.precision());
  Values state, fixed;
  for (const Value& one : states) state.push_back(body->input(cat("state", state.size()), one.type()));
  // What a masked step shows: the last output, zeros before the first.
  Value shown = mask ? body->input("shown", states[0].type()) : Value{};
  Value x = body->input("x", {{batch, projected.shape()[2]}, projected.dtype()});
  Value counts = mask ? body->input("counts", {{batch, 1}, DType::boolean}) : Value{};
  for (const Value& one : constants) fixed.push_back(body->input(cat("constant", fixed.size()), one.type()));
  const Values next = step(inner, x, state, fixed);
  if (!trace.states.empty() || !trace.random_calls.empty())
    throw Error("activations with weights or random numbers of their own cannot stand inside a recurrent layer");
  for (std::size_t i = 0; i < state.size(); ++i)
    body->output(cat("state", i), mask ? select(counts, next[i], state[i]) : next[i]);
  Value y = mask ? select(counts, next[0], shown) : next[0];
  if (mask) body->output("shown", y);
  body->output("y", y);
  Values carries = states, sequences{transpose(projected, {1, 0, 2})};  // [time, batch, k]
  if (mask) {
    carries.push_back(full(graph, 0, states[0].shape(), states[0].dtype()));
    sequences.push_back(reshape(transpose(mask, {1, 0}), {time, batch, 1}));
  }
  const Values results = scan(graph, body, carries, sequences, constants);
  Values all{transpose(results.back(), {1, 0, 2})};
  all.insert(all.end(), results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states.size()));
  return all;
}

// The sequence, and a mask or none, from its last step to the first.
inline std::pair<Value, Value> backwards(Value x, Value mask) {
  return {reverse(x, 1), mask ? reverse(mask, 1) : mask};
}

// What is multiplied to drop a part of x and scale up the rest.
inline Value dropout_factor(Scope& s, double rate, const Shape& shape, DType dtype,
                            const Optional<std::int64_t>& seed) {
  Value keep = greater_equal(s.random(shape, Distribution::uniform, seed ? std::optional(*seed) : std::nullopt),
                             full(s.graph(), rate));
  return cast(keep, dtype) * (1 / (1 - rate));
}

inline void want_sequence(std::span<const Value> inputs, std::size_t states, std::string_view names) {
  if (inputs.size() != 1 && inputs.size() != 1 + states)
    throw Error(cat("takes a sequence, or a sequence and the first ", names, "; got ", inputs.size(), " inputs"));
  if (inputs[0].shape().rank() != 3)
    throw Error(cat("takes sequences [batch, time, features], got ", inputs[0].shape()));
}

struct LSTM {
  std::int64_t units = 0;
  Layer activation = "tanh", recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", recurrent_initializer = "orthogonal", bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Optional<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Optional<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  Optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false;
  static Schema schema() {
    return Schema("LSTM",
                  "Long short-term memory over [batch, time, features]. Hochreiter and Schmidhuber, 1997. Masked steps "
                  "keep state and output.")
        .masking(Schema::Masking::uses)
        .arg("units", &LSTM::units, "Width of state and output.", at_least(1))
        .arg("activation", &LSTM::activation, "Of the candidate and the output.")
        .arg("recurrent_activation", &LSTM::recurrent_activation, "Of the gates.")
        .arg("use_bias", &LSTM::use_bias, "Whether to add a bias.")
        .arg("kernel_initializer", &LSTM::kernel_initializer, "First values of the kernel [features, 4 units].")
        .arg("recurrent_initializer", &LSTM::recurrent_initializer,
             "First values of the recurrent kernel [units, 4 units].")
        .arg("bias_initializer", &LSTM::bias_initializer, "First values of the bias.")
        .arg("unit_forget_bias", &LSTM::unit_forget_bias, "Whether the forget gate's bias begins at 1.")
        .arg("kernel_regularizer", &LSTM::kernel_regularizer, "A penalty on the kernel.")
        .arg("recurrent_regularizer", &LSTM::recurrent_regularizer, "A penalty on the recurrent kernel.")
        .arg("bias_regularizer", &LSTM::bias_regularizer, "A penalty on the bias.")
        .arg("kernel_constraint", &LSTM::kernel_constraint, "What the kernel must satisfy.")
        .arg("recurrent_constraint", &LSTM::recurrent_constraint, "What the recurrent kernel must satisfy.")
        .arg("bias_constraint", &LSTM::bias_constraint, "What the bias must satisfy.")
        .arg("dropout", &LSTM::dropout, "Part of the inputs zeroed while training, the same at every step.",
             from_up_to(0, 1))
        .arg("recurrent_dropout", &LSTM::recurrent_dropout,
             "Part of the state zeroed on its way into the gates, the same at every step.", from_up_to(0, 1))
        .arg("seed", &LSTM::seed, "A seed of its own.")
        .arg("return_sequences", &LSTM::return_sequences, "Whether to give every step's output, not only the last.")
        .arg("return_state", &LSTM::return_state, "Whether to give the last h and c as further outputs.")
        .arg("go_backwards", &LSTM::go_backwards, "Whether to begin with the last step; outputs come in that order.")
        .example(+[] { return LSTM{.units = 3}; }, {{4, 2}})
        .example(
            +[] {
              return LSTM{.units = 2,
                          .activation = "relu",
                          .recurrent_activation = "hard_sigmoid",
                          .use_bias = false,
                          .return_sequences = true};
            },
            {{3, 2}})
        .example(+[] { return LSTM{.units = 2, .unit_forget_bias = false, .return_state = true}; }, {{3, 2}})
        .example(+[] { return LSTM{.units = 2, .dropout = 0.2, .recurrent_dropout = 0.2, .go_backwards = true}; },
                 {{3, 2}});
  }

  Values call(Scope& s, std::span<const Value> inputs) const {
    want_sequence(inputs, 2, "h and c");
    Value x = inputs[0];
    const std::int64_t batch = x.shape()[0], features = x.shape()[2];
    Scope cell = s.child("cell");
    Value kernel = cell.weight(
        "kernel", {features, 4 * units},
        {.initializer = kernel_initializer, .regularizer = kernel_regularizer, .constraint = kernel_constraint});
    Value recurrent = cell.weight("recurrent_kernel", {units, 4 * units},
                                  {.initializer = recurrent_initializer,
                                   .regularizer = recurrent_regularizer,
                                   .constraint = recurrent_constraint});
    Value bias;
    if (use_bias) {
      const Initializer first = unit_forget_bias ? Initializer(ForgetBias{.rest = bias_initializer}) : bias_initializer;
      bias = cell.weight("bias", {4 * units},
                         {.initializer = first, .regularizer = bias_regularizer, .constraint = bias_constraint});
    }
    Value mask = s.mask(x);
    if (go_backwards) std::tie(x, mask) = backwards(x, mask);
    if (s.training() && dropout > 0) x = x * dropout_factor(s, dropout, {batch, 1, features}, x.dtype(), seed);
    Value h0 = inputs.size() == 3 ? inputs[1] : Value{}, c0 = inputs.size() == 3 ? inputs[2] : Value{};
    const bool drops = s.training() && recurrent_dropout > 0;
    const bool usual = activation.name() == "Tanh" && recurrent_activation.name() == "Sigmoid" && !drops;
    Value keep = drops ? dropout_factor(s, recurrent_dropout, {batch, units}, x.dtype(), seed) : Value{};
    Values results = usual ? lstm(x, kernel, recurrent, bias, h0, c0, mask)
                           : general(s, x, kernel, recurrent, bias, h0, c0, mask, keep);
    Values outputs{return_sequences ? results[0] : results[1]};
    if (return_state) outputs.insert(outputs.end(), {results[1], results[2]});
    return outputs;
  }
  Value mask(Scope& s, std::span<const Value> inputs, Value) const {
    return return_sequences ? s.mask(inputs[0]) : Value{};
  }

 private:
  // Bias whose second quarter (the forget gate) begins at 1.
  struct ForgetBias {
    Initializer rest = "zeros";
    static Schema schema() {
      return Schema("ForgetBias", "An LSTM's bias: the forget gate's quarter is 1.")
          .arg("rest", &ForgetBias::rest, "The other quarters.");
    }
    void make(const Fill& fill, std::span<double> out) const {
      rest->make(fill, out);
      const std::size_t units = out.size() / 4;
      for (std::size_t i = units; i < 2 * units; ++i) out[i] = 1;
    }
  };

  // Any activations, and dropout of the state.
  Values general(Scope& s, Value x, Value kernel, Value recurrent, Value bias, Value h0, Value c0, Value mask,
                 Value keep) const {
    Value projected = matmul(x, kernel);
    if (bias) projected = projected + bias;
    const Value zero = full(s.graph(), 0, {x.shape()[0], units}, x.dtype());
    Values constants{recurrent};
    if (keep) constants.push_back(keep);
    return over_time(s, projected, {h0 ? h0 : zero, c0 ? c0 : zero}, constants, mask,
                     [&](Scope& inner, Value step, std::span<const Value> state, std::span<const Value> fixed) {
                       Value h = fixed.size() > 1 ? state[0] * fixed[1] : state[0];
                       Value z = step + matmul(h, fixed[0]);
                       auto gate = [&](std::int64_t k) { return slice_axis(z, 1, k * units, (k + 1) * units); };
                       auto opened = [&](std::int64_t k) { return recurrent_activation->call(inner, gate(k)); };
                       Value c = opened(1) * state[1] + opened(0) * activation->call(inner, gate(2));
                       return Values{opened(3) * activation->call(inner, c), c};
                     });
  }
};

inline void register_recurrent(Registry<Layer>& r) { r.add<LSTM>(); }

}  // namespace strata::layers
