// SPDX-License-Identifier: Apache-2.0
// The graph: leaves by name, nodes in order, nexts, outputs, the guard.
#include "strata/graph.h"

#include <algorithm>

#include "graph/catalogue.h"
#include "strata/ops.h"

namespace strata {

namespace {

constinit const OpDef input_op{.name = "input", .doc = "Fed at every step."};
constinit const OpDef state_op{.name = "state", .doc = "What a state holds before the step."};

Node leaf(const OpDef& op, const Type& type, const std::string& label) {
  if (label.empty()) throw Error(cat(op.name, " needs a name; this one, ", type, ", has none"));
  Node node;
  node.op = &op;
  node.types = {type};
  node.label = label;
  return node;
}

}  // namespace

const Type& Value::type() const {
  STRATA_CHECK(graph, "a null value has no type");
  return graph->type({node, output});
}

Value Graph::input(const std::string& name, const Type& type) {
  if (auto it = inputs_.find(name); it != inputs_.end()) {
    if (type != nodes_[static_cast<std::size_t>(it->second)].types[0])
      throw Error(cat("input '", name, "' is ", nodes_[static_cast<std::size_t>(it->second)].types[0],
                      ", but is asked for as ", type));
    return {this, it->second, 0};
  }
  nodes_.push_back(leaf(input_op, type, name));
  inputs_[name] = size() - 1;
  return {this, size() - 1, 0};
}

Value Graph::state(const std::string& path, const Type& type) {
  if (auto it = states_.find(path); it != states_.end()) {
    if (type != nodes_[static_cast<std::size_t>(it->second)].types[0])
      throw Error(cat("state '", path, "' is ", nodes_[static_cast<std::size_t>(it->second)].types[0],
                      ", but is asked for as ", type));
    return {this, it->second, 0};
  }
  nodes_.push_back(leaf(state_op, type, path));
  states_[path] = size() - 1;
  return {this, size() - 1, 0};
}

Values Graph::add_all(const OpDef& op, Values inputs, Attributes attributes, Bodies bodies) {
  Node node;
  node.op = &op;
  std::vector<Type> types;
  for (const Value& input : inputs) {
    STRATA_CHECK(!input || input.graph == this, op.name, ": an input is of another graph");
    node.inputs.push_back(ref(input));
    types.push_back(input ? input.type() : Type{});
  }
  node.attributes = std::move(attributes);
  node.bodies = std::move(bodies);
  node.types = op.infer({types, node.attributes, node.bodies});
  node.scope = scope_;
  nodes_.push_back(std::move(node));
  Values outputs;
  for (int i = 0; i < static_cast<int>(nodes_.back().types.size()); ++i) outputs.push_back({this, size() - 1, i});
  return outputs;
}

Value Graph::add(const OpDef& op, Values inputs, Attributes attributes, Bodies bodies) {
  return add_all(op, std::move(inputs), std::move(attributes), std::move(bodies))[0];
}

void Graph::next(Value state, Value value, Advance advance) {
  const Node& node = (*this)[state.node];
  STRATA_CHECK(state.graph == this && value.graph == this && node.op == &state_op,
               "next() takes a state and a value of this graph");
  if (state.type() != value.type())
    throw Error(cat("state '", node.label, "' is ", state.type(), ", but would hold ", value.type(), " next"));
  for (Next& known : nexts_)
    if (known.state == state.node) {
      known = {state.node, ref(value), advance};
      return;
    }
  nexts_.push_back({state.node, ref(value), advance});
}

void Graph::output(const std::string& name, Value value) {
  for (Output& known : outputs_)
    if (known.name == name) {
      known.value = ref(value);
      return;
    }
  outputs_.push_back({name, ref(value)});
}

void Graph::guard(Value ok) {
  if (ok.type() != Type{{}, DType::boolean}) throw Error(cat("a guard must be a bool scalar, got ", ok.type()));
  ok_ = ok_ ? ref(logical_and(value(ok_), ok)) : ref(ok);
}

Ref Graph::find_input(const std::string& name) const {
  const auto it = inputs_.find(name);
  return it == inputs_.end() ? Ref{} : Ref{it->second, 0};
}

Ref Graph::find_state(const std::string& path) const {
  const auto it = states_.find(path);
  return it == states_.end() ? Ref{} : Ref{it->second, 0};
}

Ref Graph::next_of(const std::string& path) const {
  const Ref state = find_state(path);
  for (const Next& next : nexts_)
    if (state && next.state == state.node) return next.value;
  return {};
}

namespace {

std::map<std::string_view, const OpDef*>& all_ops() {
  static std::map<std::string_view, const OpDef*> by_name = [] {
    std::map<std::string_view, const OpDef*> ops{{input_op.name, &input_op}, {state_op.name, &state_op}};
    for (const OpDef* op : catalogued_ops()) ops[op->name] = op;
    return ops;
  }();
  return by_name;
}

}  // namespace

const std::map<std::string_view, const OpDef*>& ops() { return all_ops(); }

void register_op(const OpDef& op) {
  const auto [known, added] = all_ops().emplace(op.name, &op);
  if (!added && known->second != &op)
    throw Error(cat("there is an op '", op.name, "' already; give yours another name"));
}

Values inlined(Graph& graph, const Graph& body, std::span<const Value> inputs) {
  std::vector<std::vector<Value>> made(static_cast<std::size_t>(body.size()));
  std::size_t next_input = 0;
  for (int n = 0; n < body.size(); ++n) {
    const Node& node = body[n];
    auto& outputs = made[static_cast<std::size_t>(n)];
    if (node.op == &input_op) {
      STRATA_CHECK(next_input < inputs.size(), "a body has more inputs than the ", inputs.size(), " given");
      outputs = {inputs[next_input++]};
    } else if (node.op == &state_op) {
      outputs = {graph.state(node.label, node.types[0])};
    } else {
      Values from;
      for (const Ref& ref : node.inputs)
        from.push_back(ref ? made[static_cast<std::size_t>(ref.node)][static_cast<std::size_t>(ref.output)] : Value{});
      const Graph::Labelled label(graph, node.scope.empty() ? graph.scope() : node.scope);
      outputs = graph.add_all(*node.op, std::move(from), node.attributes, node.bodies);
    }
  }
  Values results;
  for (const auto& output : body.outputs())
    results.push_back(made[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.output)]);
  return results;
}

}  // namespace strata
