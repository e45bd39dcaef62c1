// SPDX-License-Identifier: Apache-2.0
// Long short-term memory over a whole sequence, as one op so that a library can run it, with its meaning as a scan.
// Gates in Keras's order: input, forget, candidate, output.
#include <cmath>

#include "graph/rules.h"

namespace strata {

namespace {

struct Inputs {
  enum : std::size_t { x, kernel, recurrent, bias, h0, c0, mask, count };
};

Types infer(const Inference& in) {
  const Shape &x = in.inputs[Inputs::x].shape, &kernel = in.inputs[Inputs::kernel].shape,
              &recurrent = in.inputs[Inputs::recurrent].shape;
  if (x.rank() != 3) throw Error(cat("lstm needs x [batch, time, features], got ", x));
  const std::int64_t units = recurrent.rank() == 2 ? recurrent[0] : 0;
  if (!(kernel == Shape{x[2], 4 * units}) || !(recurrent == Shape{units, 4 * units}))
    throw Error(cat("lstm needs kernel [", x[2], ", 4 units] and recurrent [units, 4 units], got ", kernel, " and ",
                    recurrent));
  rules::want_same_dtype({in.inputs.first(Inputs::mask), in.attributes, in.bodies}, "lstm");
  if (in.inputs[Inputs::bias] && !(in.inputs[Inputs::bias].shape == Shape{4 * units}))
    throw Error(cat("lstm needs bias [", 4 * units, "], got ", in.inputs[Inputs::bias].shape));
  for (const std::size_t i : {Inputs::h0, Inputs::c0})
    if (in.inputs[i] && !(in.inputs[i].shape == Shape{x[0], units}))
      throw Error(cat("lstm needs states ", Shape{x[0], units}, ", got ", in.inputs[i].shape));
  if (in.inputs[Inputs::mask] && !(in.inputs[Inputs::mask] == Type{{x[0], x[1]}, DType::boolean}))
    throw Error(cat("lstm needs a mask bool", Shape{x[0], x[1]}, ", got ", in.inputs[Inputs::mask]));
  const DType dtype = in.inputs[0].dtype;
  return {{{x[0], x[1], units}, dtype}, {{x[0], units}, dtype}, {{x[0], units}, dtype}, {{0}, DType::opaque}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// What one step computes, kept for the way back.
struct Step {
  std::vector<double> i, f, g, o, c, h, c_before, h_before;  // [batch, units]; c and h after the mask
};

double at(const Array* array, std::size_t index) { return array ? array->data[index] : 0; }

std::vector<Step> forward(std::span<const Array* const> in) {
  const Shape& shape = in[Inputs::x]->shape;
  const auto batch = static_cast<std::size_t>(shape[0]), time = static_cast<std::size_t>(shape[1]),
             features = static_cast<std::size_t>(shape[2]);
  const auto units = static_cast<std::size_t>(in[Inputs::recurrent]->shape[0]);
  std::vector<double> h(batch * units), c(batch * units);
  for (std::size_t k = 0; k < h.size(); ++k) {
    h[k] = at(in[Inputs::h0], k);
    c[k] = at(in[Inputs::c0], k);
  }
  std::vector<Step> steps;
  for (std::size_t t = 0; t < time; ++t) {
    Step s;
    s.h_before = h;
    s.c_before = c;
    for (auto* gate : {&s.i, &s.f, &s.g, &s.o, &s.c, &s.h}) gate->resize(batch * units);
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t u = 0; u < units; ++u) {
        double z[4];
        for (std::size_t gate = 0; gate < 4; ++gate) {
          const std::size_t column = gate * units + u;
          z[gate] = at(in[Inputs::bias], column);
          for (std::size_t k = 0; k < features; ++k)
            z[gate] +=
                in[Inputs::x]->data[(b * time + t) * features + k] * in[Inputs::kernel]->data[k * 4 * units + column];
          for (std::size_t k = 0; k < units; ++k)
            z[gate] += s.h_before[b * units + k] * in[Inputs::recurrent]->data[k * 4 * units + column];
        }
        const std::size_t k = b * units + u;
        s.i[k] = logistic(z[0]);
        s.f[k] = logistic(z[1]);
        s.g[k] = std::tanh(z[2]);
        s.o[k] = logistic(z[3]);
        const bool counts = !in[Inputs::mask] || in[Inputs::mask]->data[b * time + t] != 0;
        const double c_new = s.f[k] * s.c_before[k] + s.i[k] * s.g[k];
        s.c[k] = counts ? c_new : s.c_before[k];
        s.h[k] = counts ? s.o[k] * std::tanh(c_new) : s.h_before[k];
      }
    h = s.h;
    c = s.c;
    steps.push_back(std::move(s));
  }
  return steps;
}

void reference(const Reference& r) {
  const auto steps = forward(r.inputs);
  const Shape& out = r.outputs[0].shape;
  const auto batch = static_cast<std::size_t>(out[0]), time = static_cast<std::size_t>(out[1]),
             units = static_cast<std::size_t>(out[2]);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t u = 0; u < units; ++u) {
      double shown = 0;  // a masked step repeats the last output; zeros before the first
      for (std::size_t t = 0; t < time; ++t) {
        if (!r.inputs[Inputs::mask] || r.inputs[Inputs::mask]->data[b * time + t] != 0)
          shown = steps[t].h[b * units + u];
        r.outputs[0].data[(b * time + t) * units + u] = shown;
      }
      r.outputs[1].data[b * units + u] = time ? steps.back().h[b * units + u] : at(r.inputs[Inputs::h0], b * units + u);
      r.outputs[2].data[b * units + u] = time ? steps.back().c[b * units + u] : at(r.inputs[Inputs::c0], b * units + u);
    }
}

// The same as a scan over time.
Values as_scan(std::span<const Value> in) {
  Value x = in[Inputs::x];
  Graph& graph = *x.graph;
  const DType dtype = x.dtype();
  const std::int64_t batch = x.shape()[0], time = x.shape()[1], units = in[Inputs::recurrent].shape()[0];
  Value projected = matmul(x, in[Inputs::kernel]);
  if (in[Inputs::bias]) projected = projected + in[Inputs::bias];
  projected = transpose(projected, {1, 0, 2});  // [time, batch, 4 units]
  Value zero = full(graph, 0, {batch, units}, dtype);
  Values carries{in[Inputs::h0] ? in[Inputs::h0] : zero, in[Inputs::c0] ? in[Inputs::c0] : zero}, sequences{projected};
  Value mask = in[Inputs::mask];
  if (mask) {
    carries.push_back(zero);  // the output shown
    sequences.push_back(reshape(transpose(mask, {1, 0}), {time, batch, 1}));
  }
  auto body = std::make_shared<Graph>();
  const Type state{{batch, units}, dtype};
  Value h = body->input("h", state), c = body->input("c", state), shown = mask ? body->input("shown", state) : Value{};
  Value step = body->input("x", {{batch, 4 * units}, dtype}),
        counts = mask ? body->input("mask", {{batch, 1}, DType::boolean}) : Value{};
  Value z = step + matmul(h, body->input("recurrent", in[Inputs::recurrent].type()));
  auto gate = [&](std::int64_t k) { return slice_axis(z, 1, k * units, (k + 1) * units); };
  Value i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
  Value c_next = f * c + i * g, h_next = o * tanh(c_next), y = h_next;
  if (mask) {
    y = select(counts, h_next, shown);
    c_next = select(counts, c_next, c);
    h_next = select(counts, h_next, h);
  }
  body->output("h", h_next);
  body->output("c", c_next);
  if (mask) body->output("shown", y);
  body->output("y", y);
  const Values results = scan(graph, body, carries, sequences, std::span<const Value>(&in[Inputs::recurrent], 1));
  return {transpose(results[mask ? 3 : 2], {1, 0, 2}), results[0], results[1]};
}

// Inputs: the forward's, its first three outputs, the reserve, then the gradients of all steps, h and c (null where unused).
constexpr std::size_t results_at = Inputs::count, reserve_at = results_at + 3, gradients_at = reserve_at + 1;

void gradient_reference(const Reference& r) {
  const auto steps = forward(r.inputs);
  const Shape& shape = r.inputs[Inputs::x]->shape;
  const auto batch = static_cast<std::size_t>(shape[0]), time = static_cast<std::size_t>(shape[1]),
             features = static_cast<std::size_t>(shape[2]);
  const auto units = static_cast<std::size_t>(r.inputs[Inputs::recurrent]->shape[0]);
  auto &x = r.inputs[Inputs::x]->data, &kernel = r.inputs[Inputs::kernel]->data,
       &recurrent = r.inputs[Inputs::recurrent]->data;
  const Array* mask = r.inputs[Inputs::mask];
  std::vector<double> dh(batch * units), dc(batch * units), dshown(batch * units, 0);
  for (std::size_t k = 0; k < dh.size(); ++k) {
    dh[k] = at(r.inputs[gradients_at + 1], k);
    dc[k] = at(r.inputs[gradients_at + 2], k);
  }
  for (std::size_t t = time; t-- > 0;) {
    const Step& s = steps[t];
    std::vector<double> dh_before(batch * units, 0), dc_before(batch * units, 0);
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t u = 0; u < units; ++u) {
        const std::size_t k = b * units + u;
        dshown[k] += at(r.inputs[gradients_at], (b * time + t) * units + u);
        if (mask && mask->data[b * time + t] == 0) {
          dh_before[k] += dh[k];
          dc_before[k] += dc[k];
          continue;
        }
        const double into_h = dh[k] + dshown[k];
        dshown[k] = 0;
        const double squashed = std::tanh(s.c[k]), into_c = dc[k] + into_h * s.o[k] * (1 - squashed * squashed);
        const double dz[4] = {into_c * s.g[k] * s.i[k] * (1 - s.i[k]), into_c * s.c_before[k] * s.f[k] * (1 - s.f[k]),
                              into_c * s.i[k] * (1 - s.g[k] * s.g[k]), into_h * squashed * s.o[k] * (1 - s.o[k])};
        dc_before[k] += into_c * s.f[k];
        for (std::size_t gate = 0; gate < 4; ++gate) {
          const std::size_t column = gate * units + u;
          r.outputs[3].data[column] += dz[gate];
          for (std::size_t p = 0; p < features; ++p) {
            r.outputs[0].data[(b * time + t) * features + p] += dz[gate] * kernel[p * 4 * units + column];
            r.outputs[1].data[p * 4 * units + column] += dz[gate] * x[(b * time + t) * features + p];
          }
          for (std::size_t p = 0; p < units; ++p) {
            dh_before[b * units + p] += dz[gate] * recurrent[p * 4 * units + column];
            r.outputs[2].data[p * 4 * units + column] += dz[gate] * s.h_before[b * units + p];
          }
        }
      }
    dh = dh_before;
    dc = dc_before;
  }
  r.outputs[4].data = dh;
  r.outputs[5].data = dc;
}

constinit const OpDef lstm_gradient_op{
    .name = "lstm_gradient",
    .doc = "The gradients of lstm's x, kernel, recurrent, bias, h0 and c0.",
    .infer = [](const Inference& in) -> Types {
      auto type = [&](std::size_t i) { return in.inputs[i]; };
      const std::int64_t batch = type(0).shape[0], units = type(Inputs::recurrent).shape[0];
      const Type state{{batch, units}, type(0).dtype};
      return {type(0), type(1), type(2), {{4 * units}, type(0).dtype}, state, state};
    },
    .reference = gradient_reference,
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      Graph& graph = *in[0].graph;
      const std::int64_t batch = in[0].shape()[0], units = in[Inputs::recurrent].shape()[0];
      // Stand-ins, so that only this expansion is differentiated.
      Values inputs;
      for (std::size_t i = 0; i < Inputs::count; ++i)
        inputs.push_back(in[i] && is_floating(in[i].dtype()) ? in[i] * 1.0 : in[i]);
      const DType dtype = in[0].dtype();
      if (!inputs[Inputs::bias]) inputs[Inputs::bias] = full(graph, 0, {4 * units}, dtype);
      for (const std::size_t i : {Inputs::h0, Inputs::c0})
        if (!inputs[i]) inputs[i] = full(graph, 0, {batch, units}, dtype);
      const Values results = as_scan(inputs);
      Value loss;
      for (std::size_t o = 0; o < 3; ++o) {
        if (!in[gradients_at + o]) continue;
        Value part = sum(results[o] * in[gradients_at + o]);
        loss = loss ? loss + part : part;
      }
      Values found = gradients(loss, std::span<const Value>(inputs).first(6));
      for (std::size_t i = 0; i < 6; ++i)
        if (!found[i]) found[i] = full(graph, 0, inputs[i].shape(), dtype);
      return found;
    },
    .shard = &shard::lstm_gradient};

Values example(std::span<const Value> x, bool mask) {
  return lstm(x[0], x[1], x[2], x[3], mask ? x[4] : Value{}, mask ? x[5] : Value{}, mask ? x[6] : Value{});
}

constinit const OpDef lstm_op{
    .name = "lstm",
    .doc = "LSTM over a sequence; see ops.h. The fourth output is what its gradient op wants to remember.",
    .infer = infer,
    .vjp = [](const Vjp& v) -> Values {
      Values inputs(v.inputs.begin(), v.inputs.end());
      inputs.insert(inputs.end(), v.outputs.begin(), v.outputs.end());
      for (std::size_t o = 0; o < 3; ++o) inputs.push_back(v.gradients[o]);
      Values all = v.inputs[0].graph->add_all(lstm_gradient_op, inputs);
      for (std::size_t i = 0; i < 6; ++i)
        if (!v.inputs[i]) all[i] = {};
      all.push_back({});
      return all;
    },
    .reference = reference,
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      Values results = as_scan(in);
      results.push_back(full(*in[0].graph, 0, {0}, in[0].dtype()));
      return results;
    },
    .examples = []() -> std::vector<OpExample> {
      using rules::floats;
      return {{"plain",
               {floats({2, 3, 2}), floats({2, 12}), floats({3, 12}), floats({12})},
               [](std::span<const Value> x) { return example(x, false); }},
              {"masked, from given states",
               {floats({2, 4, 2}), floats({2, 8}), floats({2, 8}), floats({8}), floats({2, 2}), floats({2, 2}),
                rules::bools({2, 4})},
               [](std::span<const Value> x) { return example(x, true); }}};
    },
    .shard = &shard::lstm};

}  // namespace

Values lstm(Value x, Value kernel, Value recurrent, Value bias, Value h0, Value c0, Value mask) {
  Values outputs = x.graph->add_all(lstm_op, {x, kernel, recurrent, bias, h0, c0, mask});
  outputs.pop_back();
  return outputs;
}

void ops_lstm(std::vector<const OpDef*>& all) { all.insert(all.end(), {&lstm_op, &lstm_gradient_op}); }

}  // namespace strata
