// SPDX-License-Identifier: Apache-2.0
#include "support/layer_example.h"

#include "strata/precision.h"
#include "support/arrays.h"

namespace strata::test {
namespace {

Array held(DType dtype, Array array) {
  for (double& value : array.data) value = round_to(dtype, value);
  return array;
}

DType dtype_of_input(const Schema::Example& example, std::size_t input) {
  return input < example.dtypes.size() ? example.dtypes[input] : DType::float32;
}

Array rows_of(const Schema::Example& example, std::size_t input, std::int64_t rows, std::uint64_t seed) {
  const DType dtype = dtype_of_input(example, input);
  const bool whole = !is_floating(dtype);
  return held(dtype, drawn({{example.inputs[input].prepend(rows), dtype},
                            whole ? 0.0 : -1.0,
                            whole ? static_cast<double>(example.high) : 1.0},
                           seed + input));
}

}  // namespace

std::vector<std::string> LayerTrace::trained() const {
  std::vector<std::string> paths;
  for (const auto& path : trace.order)
    if (trace.states.at(path).trainable) paths.push_back(path);
  return paths;
}

Values LayerTrace::weights(const std::vector<std::string>& paths) {
  Values values;
  for (const auto& path : paths) values.push_back(graph.state(path, trace.states.at(path).type));
  return values;
}

Value LayerTrace::weighed() {
  Value total;
  auto add = [&](Value part) { total = total ? total + cast(part, total.dtype()) : part; };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Array factors = held(DType::bfloat16, uniform(outputs[o].shape(), 40 + o));
    add(sum(outputs[o] * literal(graph, factors.data, factors.shape, outputs[o].dtype())));
  }
  for (const Value& penalty : trace.penalties) add(penalty);
  return total;
}

std::unique_ptr<LayerTrace> traced(const Layer& layer, const Schema::Example& example, std::int64_t batch,
                                   bool training, const std::string& policy) {
  auto t = std::make_unique<LayerTrace>();
  t->trace.graph = &t->graph;
  t->trace.training = training;
  t->trace.rows = batch;
  t->trace.precision = precision_named(policy);
  Scope scope(t->trace, "", t->trace.precision);
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    const std::string name = cat("x", i);
    t->feeds[name] = rows_of(example, i, batch, 5);
    const DType dtype = i < example.dtypes.size() ? example.dtypes[i] : t->trace.precision.variable;
    t->inputs.push_back(t->graph.input(name, {t->feeds[name].shape, dtype}));
  }
  t->outputs = call_layer(scope, layer, t->inputs, "layer");
  for (const auto& [path, declared] : t->trace.states)
    t->feeds[path] =
        is_floating(declared.type.dtype)
            ? held(DType::float32, uniform(declared.type.shape, std::hash<std::string>{}(path), 0.3, 1.2))
            : Array(declared.type.shape, std::vector<double>(static_cast<std::size_t>(declared.type.size()), 1.0));
  for (const char* name : {names::seed, names::step, names::first_row, names::faults}) t->feeds[name] = Array(Shape{});
  return t;
}

Model model_of(const Layer& layer, const Schema::Example& example, const std::string& name) {
  Symbols inputs, outputs;
  for (std::size_t i = 0; i < example.inputs.size(); ++i)
    inputs.push_back(input(example.inputs[i], cat("x", i), dtype_of_input(example, i)));
  const Symbol first = inputs | layer;
  const std::size_t count = traced(layer.clone(), example, 1, false)->outputs.size();
  for (std::size_t o = 0; o < count; ++o) outputs.push_back(output_of(first, static_cast<int>(o)));
  return {inputs, outputs, name};
}

std::vector<Tensor> rows_for(const Schema::Example& example, std::int64_t rows, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    const Array array = rows_of(example, i, rows, seed);
    tensors.push_back(Tensor::from_doubles({array.shape, dtype_of_input(example, i)}, array.data));
  }
  return tensors;
}

}  // namespace strata::test
