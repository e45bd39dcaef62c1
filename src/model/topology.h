// SPDX-License-Identifier: Apache-2.0
// What a model is made of, apart from values: inputs, calls of layers in an order that can run, outputs, names. Keras's
// layer order, by which weight files are written, is worked out here too.
#pragma once

#include <set>

#include "strata/model.h"

namespace strata {

struct Topology {
  struct Edge {
    int call = -1;
    int output = 0;
  };  // call < 0: input number -call - 1
  struct Call {
    Layer layer;
    std::vector<Edge> from;
    std::string name;  // unique in the model; calls of one layer share it
  };
  struct Input {
    std::string name;
    Type type;
  };  // of one row

  std::string name;
  bool sequential = false;
  std::vector<Input> inputs;
  std::vector<Call> calls;
  std::vector<Edge> outputs;
  std::vector<std::string> output_names;

  // The distinct layers in Keras's order; null stands for an input (Functional models count InputLayers, Sequential not).
  struct Listed {
    const Call* call = nullptr;
    int input = -1;
  };
  std::vector<Listed> keras_order() const;
};

// Error: a name twice or with '/', an output that no input reaches.
std::shared_ptr<const Topology> make_topology(const std::vector<std::pair<std::string, Symbol>>& inputs,
                                              const std::vector<std::pair<std::string, Symbol>>& outputs,
                                              std::string name, bool sequential);

// A model as a layer of another.
struct Nested {
  std::shared_ptr<const Topology> topology;
  static Schema schema();
  void unshare();  // for a clone: layers of its own, one for each that there was
  Values call(Scope& scope, std::span<const Value> inputs) const;
  Value mask(Scope& scope, std::span<const Value> inputs, Value output) const {
    return (void)inputs, scope.mask(output);
  }
};

// The layer that a name such as "encoder" or "encoder/attention" stands for, and what is left of the name: a weight's,
// within the layer. Error: no layer has the name.
std::pair<Layer, std::string> layer_named(const Topology& topology, const std::string& name);
// The layer and, when it is a model, all layers within.
void collect_layers(const Layer& layer, std::set<const void*>& found);

// Calls every layer of the model on these inputs (already of the declared dtypes).
Values trace_topology(Scope& scope, const Topology& topology, std::span<const Value> inputs);

}  // namespace strata
