// SPDX-License-Identifier: Apache-2.0
// Recurrent layers.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

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
    Value x = inputs[0];
    if (x.shape().rank() != 3) throw Error(cat("takes sequences [batch, time, features], got ", x.shape()));
    if (inputs.size() != 1 && inputs.size() != 3)
      throw Error(cat("takes a sequence, or a sequence and the first h and c; got ", inputs.size(), " inputs"));
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
    if (go_backwards) {
      x = reverse(x, 1);
      if (mask) mask = reverse(mask, 1);
    }
    auto dropped = [&](double rate, const Shape& shape) {
      Value keep = greater_equal(s.random(shape, Distribution::uniform, seed ? std::optional(*seed) : std::nullopt),
                                 full(s.graph(), rate));
      return cast(keep, x.dtype()) * (1 / (1 - rate));
    };
    if (s.training() && dropout > 0) x = x * dropped(dropout, {batch, 1, features});
    Value h0 = inputs.size() == 3 ? inputs[1] : Value{}, c0 = inputs.size() == 3 ? inputs[2] : Value{};
    const bool usual = activation.name() == "Tanh" && recurrent_activation.name() == "Sigmoid" &&
                       !(s.training() && recurrent_dropout > 0);
    const Values results =
        usual ? lstm(x, kernel, recurrent, bias, h0, c0, mask)
              : general(s, x, kernel, recurrent, bias, h0, c0, mask,
                        s.training() && recurrent_dropout > 0 ? dropped(recurrent_dropout, {batch, units}) : Value{});
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

  // Any activations, and dropout of the state: a scan over time.
  Values general(Scope& s, Value x, Value kernel, Value recurrent, Value bias, Value h0, Value c0, Value mask,
                 Value keep) const {
    Graph& graph = s.graph();
    const std::int64_t batch = x.shape()[0], time = x.shape()[1];
    const Type state{{batch, units}, x.dtype()};
    Value zero = full(graph, 0, state.shape, state.dtype);
    Value projected = matmul(x, kernel);
    if (bias) projected = projected + bias;
    projected = transpose(projected, {1, 0, 2});  // [time, batch, 4 units]
    Value counts =
        mask ? reshape(transpose(mask, {1, 0}), {time, batch, 1}) : full(graph, 1, {time, batch, 1}, DType::boolean);
    const Values carries{h0 ? h0 : zero, c0 ? c0 : zero, zero}, sequences{projected, counts},
        constants{recurrent, keep ? keep : full(graph, 1, state.shape, state.dtype)};
    auto body = std::make_shared<Graph>();
    Trace trace;
    trace.graph = body.get();
    trace.training = s.training();
    Scope inner(trace, s.path(), s.precision());
    Value h = body->input("h", state), c = body->input("c", state), shown = body->input("shown", state);
    Value step = body->input("x", {{batch, 4 * units}, x.dtype()}),
          here = body->input("counts", {{batch, 1}, DType::boolean});
    Value w = body->input("recurrent", recurrent.type()), kept = body->input("keep", state);
    Value z = step + matmul(h * kept, w);
    auto gate = [&](std::int64_t k) {
      return recurrent_activation->call(inner, slice_axis(z, 1, k * units, (k + 1) * units));
    };
    Value i = gate(0), f = gate(1), g = activation->call(inner, slice_axis(z, 1, 2 * units, 3 * units)), o = gate(3);
    Value c_next = f * c + i * g, h_next = o * activation->call(inner, c_next);
    if (!trace.states.empty())
      throw Error("activations with weights of their own cannot stand inside a recurrent layer");
    Value y = select(here, h_next, shown);
    body->output("h", select(here, h_next, h));
    body->output("c", select(here, c_next, c));
    body->output("shown", y);
    body->output("y", y);
    const Values results = scan(graph, body, carries, sequences, constants);
    return {transpose(results[3], {1, 0, 2}), results[0], results[1]};
  }
};

inline void register_recurrent(Registry<Layer>& r) { r.add<LSTM>(); }

}  // namespace strata::layers
