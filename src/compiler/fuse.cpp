// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that run as one kernel: each kind is found by a file of its own, offered to the backend, and becomes a
// node whose body is the group's graph. What the backend refuses stays as it was.
#include "compiler/fuse.h"

#include <algorithm>

#include "strata/ops.h"

namespace strata {

bool Fusion::elementwise(int node) const {
  const Node& n = groups.graph()[node];
  if (!n.op->traits.elementwise || n.inputs.empty() || n.types.size() != 1 || !n.bodies.empty()) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [](Ref input) { return static_cast<bool>(input); });
}

int Fusion::sole_reader(int node) const {
  const Ref value{node, 0};
  const std::vector<int>& readers = groups.uses().readers(value);
  return readers.size() == 1 && !groups.uses().ends(value) ? readers[0] : -1;
}

MadeGroup Fusion::make(const std::vector<int>& members, const std::string& pattern,
                       const std::vector<Ref>& first) const {
  const Graph& graph = groups.graph();
  MadeGroup made;
  Graph body;
  std::map<Ref, Value> inside;
  const auto input = [&](Ref value) {
    made.inputs.push_back(value);
    return inside[value] = body.input(cat("x", made.inputs.size() - 1), graph.type(value));
  };
  for (const Ref value : first) input(value);
  for (const int member : members) {
    const Node& node = graph[member];
    Values inputs;
    for (const Ref value : node.inputs) {
      const auto known = inside.find(value);
      const std::optional<double> number = constant(graph, value);
      if (known != inside.end()) inputs.push_back(known->second);
      else if (number && graph.type(value).shape.rank() == 0)
        inputs.push_back(full(body, *number, {}, graph.type(value).dtype));
      else inputs.push_back(input(value));
    }
    // A bias stands second.
    if ((pattern == "matmul" || pattern == "conv2d") && node.op->name == "add" &&
        inputs[0].shape().rank() < inputs[1].shape().rank()) {
      std::swap(inputs[0], inputs[1]);
    }
    const Values outputs = body.add_all(*node.op, inputs, node.attributes, node.bodies);
    for (const Value& value : outputs) {
      const Ref outer{member, value.output};
      STRATA_CHECK(value.type() == graph.type(outer), node.op->name, " in a group is ", value.type(), ", not ",
                   graph.type(outer));
      inside[outer] = value;
    }
  }
  for (const int member : members) {
    for (int output = 0; output < static_cast<int>(graph[member].types.size()); ++output) {
      const Ref value{member, output};
      const std::vector<int>& readers = groups.uses().readers(value);
      const bool leaves = groups.uses().ends(value) || std::any_of(readers.begin(), readers.end(), [&](int reader) {
                            return !std::binary_search(members.begin(), members.end(), reader);
                          });
      if (!leaves) continue;
      body.output(cat("y", made.outputs.size()), inside[value]);
      made.outputs.push_back(value);
      made.node.types.push_back(graph.type(value));
    }
  }
  made.node.op = &fused_op;
  made.node.inputs = made.inputs;
  made.node.attributes = Fused{.pattern = pattern};
  made.node.scope = graph[members.front()].scope;
  made.node.bodies = {std::make_shared<const Graph>(std::move(body))};
  return made;
}

bool Fusion::offer(const MadeGroup& group) {
  std::vector<Type> types;
  for (const Ref value : group.inputs) types.push_back(groups.graph().type(value));
  const std::vector<std::string> formats(types.size());
  Choice choice = target.choose(group.node, types, formats);
  // A group that would run by its reference is better off as nodes with kernels of their own.
  if (!choice.kernel || choice.reference) return false;
  target.chosen[group.node.bodies[0].get()] = std::move(choice);
  return true;
}

bool Fusion::settle(int group, const std::string& pattern) {
  MadeGroup candidate = make(groups.members(group), pattern);
  if (!offer(candidate)) return false;
  groups.set_pattern(group, pattern);
  made[group] = std::move(candidate);
  return true;
}

namespace {

// From a value back through cheap steps of one array each to one whose elements take less memory: what a boolean mask
// becomes before it is multiplied in. Empty when there is no such way; otherwise the steps, last first.
std::vector<int> way_from_smaller(const Graph& graph, int node) {
  std::vector<int> steps;
  const Type& wanted = graph[node].types[0];
  for (int at = node; steps.size() < 3;) {
    const Node& step = graph[at];
    if (!step.op->traits.elementwise || step.types.size() != 1 || !(step.types[0].shape == wanted.shape)) return {};
    Ref array;
    for (const Ref input : step.inputs) {
      if (!input) return {};
      if (constant(graph, input)) continue;
      if (array) return {};
      array = input;
    }
    if (!array || !(graph.type(array).shape == wanted.shape)) return {};
    steps.push_back(at);
    if (size_of(graph.type(array).dtype) < size_of(wanted.dtype)) return steps;
    at = array.node;
  }
  return {};
}

}  // namespace

Graph with_masks_remade(const Graph& graph) {
  const Uses uses(graph);
  std::vector<std::vector<int>> ways(static_cast<std::size_t>(graph.size()));
  for (int node = 0; node < graph.size(); ++node) {
    if (is_leaf(graph, node) || graph[node].types.size() != 1) continue;
    const Ref value{node, 0};
    if (uses.ends(value) || uses.readers(value).size() < 2 || graph[node].types[0].size() == 1) continue;
    const auto takes = [&](int reader) {
      const Node& r = graph[reader];
      return r.op->traits.elementwise && r.types.size() == 1 && r.types[0].shape == graph[node].types[0].shape;
    };
    if (std::all_of(uses.readers(value).begin(), uses.readers(value).end(), takes)) {
      ways[static_cast<std::size_t>(node)] = way_from_smaller(graph, node);
    }
  }
  Rewrite rewrite(graph);
  for (int node = 0; node < graph.size(); ++node) {
    for (const Ref input : graph[node].inputs) {
      if (!input) continue;
      const std::vector<int>& way = ways[static_cast<std::size_t>(input.node)];
      for (auto step = way.rbegin(); step != way.rend(); ++step) rewrite.copy(*step);
    }
    rewrite.copy(node);
  }
  return without_dead(rewrite.finish());
}

Graph fuse(const Graph& given, Target& target) {
  const Graph graph = with_masks_remade(given);
  Groups groups(graph);
  Fusion fusion(groups, target);
  fuse_anchored(fusion);
  fuse_elementwise(fusion);
  fuse_reductions(fusion);
  fuse_many(fusion);

  Rewrite rewrite(graph);
  for (const int group : groups.order()) {
    const auto found = fusion.made.find(group);
    if (found == fusion.made.end()) {
      for (const int node : groups.members(group)) rewrite.copy(node);
      continue;
    }
    const MadeGroup& made = found->second;
    Values inputs;
    for (const Ref value : made.inputs) inputs.push_back(rewrite(value));
    const Graph::Labelled labelled(rewrite.graph(), made.node.scope);
    const Values outputs = rewrite.graph().add_all(fused_op, inputs, made.node.attributes, made.node.bodies);
    for (std::size_t i = 0; i < outputs.size(); ++i) rewrite.replace(made.outputs[i], outputs[i]);
  }
  return without_dead(rewrite.finish());
}

}  // namespace strata
