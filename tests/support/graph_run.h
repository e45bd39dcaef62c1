// SPDX-License-Identifier: Apache-2.0
// Steps of a graph, by the oracle and as a compiled plan, so that the two can be compared.
#pragma once

#include <map>
#include <string>

#include "compiler/compile.h"
#include "strata/graph.h"

namespace strata::test {

using Arrays = std::map<std::string, Array>;

// What a step left: the graph's outputs, and its states' values.
struct Step {
  Arrays outputs, states;
  bool committed = true;
};

// One step by the references: `values` gives every input and state.
Step oracle_step(const Graph& graph, const Arrays& values);

// The same graph compiled and run on a backend; its states start as `values` has them and go on from step to step.
class CompiledGraph {
 public:
  CompiledGraph(const Graph& graph, Backend& backend, const Arrays& values, const CompileOptions& options = {});
  ~CompiledGraph();
  Step step(const Arrays& values);  // of its inputs; states are the plan's own
  const Plan& plan() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The largest relative difference of two steps, with what differs most; infinite when one has more than the other.
std::pair<double, std::string> difference(const Step& a, const Step& b);

// A graph of a few examples of ops chained by elementwise ones, with states, outputs and a guard; float64 all through.
// `values` receives what to feed.
Graph random_graph(std::uint64_t seed, Arrays& values);

}  // namespace strata::test
