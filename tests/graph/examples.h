// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: an example's graph with its feeds, sums to differentiate, slopes by differences.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "strata/ops.h"
#include "support/arrays.h"

namespace strata::test {

struct Built {
  Graph graph;
  Values inputs, outputs;
  std::map<std::string, Array> feeds;

  Value input(const std::string& name, const Shape& shape, std::uint64_t seed, double low = -1, double high = 1,
              DType dtype = DType::float64) {
    feeds[name] = drawn({{shape, dtype}, low, high}, seed);
    inputs.push_back(graph.input(name, {shape, dtype}));
    return inputs.back();
  }
};

inline std::unique_ptr<Built> built(const OpExample& example, std::uint64_t seed) {
  auto made = std::make_unique<Built>();
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    const auto& [type, low, high] = example.inputs[i];
    made->input(cat("x", i), type.shape, seed + i, low, high, type.dtype);
  }
  made->outputs = example.build(made->inputs);
  return made;
}

inline const Array& result(const std::vector<std::vector<Array>>& values, Value value) {
  return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

// A sum of all floating values of `values` with fixed weights: a scalar that depends on each element differently.
inline Value weighed(std::span<const Value> values, std::uint64_t seed) {
  Value total;
  for (std::size_t o = 0; o < values.size(); ++o) {
    if (!values[o] || !is_floating(values[o].dtype())) continue;
    const Array weights = uniform(values[o].shape(), seed + o);
    Value part = sum(values[o] * literal(*values[o].graph, weights.data, weights.shape, values[o].dtype()));
    total = total ? total + part : part;
  }
  return total;
}

// Checks d(loss)/d(inputs), found by gradients(), against central differences of the oracle.
inline void check_slopes(Built& b, Value loss, double tolerance) {
  Values wrt;
  for (const Value& input : b.inputs)
    if (is_floating(input.dtype())) wrt.push_back(input);
  const Values found = gradients(loss, wrt);
  verify(b.graph);
  const auto at = evaluate(b.graph, b.feeds);
  for (std::size_t w = 0; w < wrt.size(); ++w) {
    const std::string label = b.graph[wrt[w].node].label;
    for (std::size_t i = 0; i < b.feeds[label].data.size(); ++i) {
      const double h = 1e-5, before = b.feeds[label].data[i];
      b.feeds[label].data[i] = before + h;
      const double above = result(evaluate(b.graph, b.feeds), loss).data[0];
      b.feeds[label].data[i] = before - h;
      const double below = result(evaluate(b.graph, b.feeds), loss).data[0];
      b.feeds[label].data[i] = before;
      const double slope = (above - below) / (2 * h), own = found[w] ? result(at, found[w]).data[i] : 0;
      CHECK_MESSAGE(std::abs(slope - own) <= tolerance * std::max(1.0, std::abs(slope)),
                    label << "[" << i << "]: " << own << ", differences give " << slope);
    }
  }
}

}  // namespace strata::test
