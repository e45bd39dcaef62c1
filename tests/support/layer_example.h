// SPDX-License-Identifier: Apache-2.0
// A layer's example as a graph with something to feed it, and as a model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "strata/model.h"

namespace strata::test {

// One call of the layer, at "layer". `feeds` gives every input and state: weights lie around 1 and are positive, so that
// variances are and nothing vanishes; all numbers are such as float32 holds.
struct LayerTrace {
  Graph graph;
  Trace trace;
  Values inputs, outputs;
  std::map<std::string, Array> feeds;

  std::vector<std::string> trained() const;  // the paths of trainable weights
  Values weights(const std::vector<std::string>& paths);
  // The sum of all outputs and penalties, each element with a weight of its own.
  Value weighed();
};
std::unique_ptr<LayerTrace> traced(const Layer& layer, const Schema::Example& example, std::int64_t batch,
                                   bool training, const std::string& policy = "float64");

inline const Array& result(const std::vector<std::vector<Array>>& values, const Value& value) {
  return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

// The example's inputs, the layer, and all its outputs.
Model model_of(const Layer& layer, const Schema::Example& example, const std::string& name = "model");
// Rows for it: drawn anew for each seed.
std::vector<Tensor> rows_for(const Schema::Example& example, std::int64_t rows, std::uint64_t seed = 5);

}  // namespace strata::test
