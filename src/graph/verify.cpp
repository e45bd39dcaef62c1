// SPDX-License-Identifier: Apache-2.0
// What every graph must keep, checked after each pass.
#include "strata/graph.h"

namespace strata {

namespace {

bool exists(const Graph& graph, Ref ref) {
  return ref.node >= 0 && ref.node < graph.size() && ref.output >= 0 &&
         ref.output < static_cast<int>(graph[ref.node].types.size());
}

// A node that its own rule refuses is our bug here: what a user wrote was checked when it was added.
Types inferred_by_rule(int n, const Node& node, const std::vector<Type>& types) {
  try {
    return node.op->infer({types, node.attributes, node.bodies});
  } catch (const Error& error) {
    throw InternalError(cat("node ", n, " (", node.op->name, ") breaks its rule: ", error.what()));
  }
}

}  // namespace

void verify(const Graph& graph) {
  for (int n = 0; n < graph.size(); ++n) {
    const Node& node = graph[n];
    STRATA_CHECK(node.op, "node ", n, " has no op");
    STRATA_CHECK(!node.types.empty(), "node ", n, " (", node.op->name, ") has no outputs");
    std::vector<Type> types;
    for (const Ref& ref : node.inputs) {
      STRATA_CHECK(!ref || (ref.node < n && ref.node >= 0), "node ", n, " (", node.op->name, ") reads node ", ref.node,
                   ", which does not come before it");
      STRATA_CHECK(!ref || exists(graph, ref), "node ", n, " (", node.op->name, ") reads output ", ref.output,
                   " of node ", ref.node);
      types.push_back(ref ? graph.type(ref) : Type{});
    }
    if (!node.op->infer) {
      STRATA_CHECK(!node.label.empty(), "leaf ", n, " has no name");
      continue;
    }
    const Types inferred = inferred_by_rule(n, node, types);
    STRATA_CHECK(inferred == node.types, "node ", n, " (", node.op->name, ") says ", node.types[0], ", its rule gives ",
                 inferred[0]);
    for (const auto& body : node.bodies) verify(*body);
  }
  for (const auto& next : graph.nexts()) {
    STRATA_CHECK(next.state >= 0 && next.state < graph.size() && exists(graph, next.value), "a next refers to nothing");
    STRATA_CHECK(graph[next.state].op->name == "state", "a next is of node ", next.state, " (",
                 graph[next.state].op->name, "), which is no state");
    STRATA_CHECK(graph.type({next.state, 0}) == graph.type(next.value), "state ", graph[next.state].label, " is ",
                 graph.type({next.state, 0}), ", its next ", graph.type(next.value));
  }
  for (const auto& output : graph.outputs())
    STRATA_CHECK(exists(graph, output.value), "output ", output.name, " refers to nothing");
  if (graph.ok()) {
    STRATA_CHECK(exists(graph, graph.ok()), "the guard refers to nothing");
    STRATA_CHECK(graph.type(graph.ok()) == (Type{{}, DType::boolean}), "the guard is ", graph.type(graph.ok()));
  }
}

}  // namespace strata
