// SPDX-License-Identifier: Apache-2.0
// What passes over graphs are written with: who reads what, and a copy of a graph made node by node in which a pass
// replaces what it likes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "strata/graph.h"

namespace strata {

// The readers of each value. A graph's outputs, nexts and guard are its `ends`.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  const std::vector<int>& readers(Ref value) const { return readers_[index(value)]; }  // nodes, one entry an input
  bool ends(Ref value) const { return ends_[index(value)]; }
  bool used(Ref value) const { return ends(value) || !readers(value).empty(); }

 private:
  std::size_t index(Ref value) const {
    return static_cast<std::size_t>(first_[static_cast<std::size_t>(value.node)] + value.output);
  }
  std::vector<int> first_;  // by node: where its outputs begin
  std::vector<std::vector<int>> readers_;
  std::vector<bool> ends_;
};

// The new graph grows while the old one is walked in order.
class Rewrite {
 public:
  explicit Rewrite(const Graph& from);

  Graph& graph() { return to_; }
  Value operator()(Ref old) const;                // what stands for an old value; null for none
  Values inputs(int node) const;                  // of an old node, in the new graph
  Values copy(int node);                          // the node as it was, over its new inputs
  void replace(int node, const Values& outputs);  // stands for the old node from here on
  void replace(Ref old, Value value);
  // Nexts, outputs and guard follow. `kept_next` may change or drop a next.
  Graph finish();
  Graph finish(const std::function<std::optional<Graph::Next>(Graph&, Graph::Next)>& kept_next);

 private:
  const Graph& from_;
  mutable Graph to_;
  std::vector<std::vector<Ref>> map_;  // by old node and output
};

// Inputs and states have no inputs of their own and are found by name.
bool is_leaf(const Graph& graph, int node);
bool is_input(const Graph& graph, int node);
bool is_state(const Graph& graph, int node);

// The number a scalar constant holds; a uniform constant of any shape likewise.
std::optional<double> constant(const Graph& graph, Ref value);

// Which nodes an end of the graph depends on.
std::vector<bool> needed(const Graph& graph);
// The graph without the others. Inputs and states that nothing reads go too.
Graph without_dead(const Graph& graph);

}  // namespace strata
