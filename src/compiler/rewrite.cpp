// SPDX-License-Identifier: Apache-2.0
#include "compiler/rewrite.h"

#include <cmath>

#include "strata/ops.h"

namespace strata {

Uses::Uses(const Graph& graph) {
  int values = 0;
  for (int node = 0; node < graph.size(); ++node) {
    first_.push_back(values);
    values += static_cast<int>(graph[node].types.size());
  }
  readers_.resize(static_cast<std::size_t>(values));
  ends_.resize(static_cast<std::size_t>(values));
  for (int node = 0; node < graph.size(); ++node) {
    for (const Ref input : graph[node].inputs) {
      if (input) readers_[index(input)].push_back(node);
    }
  }
  for (const Graph::Output& output : graph.outputs()) ends_[index(output.value)] = true;
  for (const Graph::Next& next : graph.nexts()) ends_[index(next.value)] = true;
  if (graph.ok()) ends_[index(graph.ok())] = true;
}

Rewrite::Rewrite(const Graph& from) : from_(from), map_(static_cast<std::size_t>(from.size())) {}

Value Rewrite::operator()(Ref old) const {
  if (!old) return {};
  const std::vector<Ref>& outputs = map_[static_cast<std::size_t>(old.node)];
  STRATA_CHECK(old.output < static_cast<int>(outputs.size()), "a pass left out node ", old.node, ", ",
               from_[old.node].op->name, ", which is still read");
  return to_.value(outputs[static_cast<std::size_t>(old.output)]);
}

Values Rewrite::inputs(int node) const {
  Values values;
  values.reserve(from_[node].inputs.size());
  for (const Ref input : from_[node].inputs) values.push_back((*this)(input));
  return values;
}

Values Rewrite::copy(int node) {
  const Node& old = from_[node];
  const Graph::Labelled labelled(to_, old.scope);
  Values outputs;
  if (is_input(from_, node)) {
    outputs = {to_.input(old.label, old.types[0])};
  } else if (is_state(from_, node)) {
    outputs = {to_.state(old.label, old.types[0])};
  } else {
    outputs = to_.add_all(*old.op, inputs(node), old.attributes, old.bodies);
  }
  replace(node, outputs);
  return outputs;
}

void Rewrite::replace(int node, const Values& outputs) {
  std::vector<Ref>& entry = map_[static_cast<std::size_t>(node)];
  entry.clear();
  for (const Value& value : outputs) entry.push_back(Graph::ref(value));
}

void Rewrite::replace(Ref old, Value value) {
  std::vector<Ref>& entry = map_[static_cast<std::size_t>(old.node)];
  entry.resize(from_[old.node].types.size());
  entry[static_cast<std::size_t>(old.output)] = Graph::ref(value);
}

Graph Rewrite::finish() {
  return finish([](Graph&, Graph::Next next) { return next; });
}

Graph Rewrite::finish(const std::function<std::optional<Graph::Next>(Graph&, Graph::Next)>& kept_next) {
  const Value ok = (*this)(from_.ok());
  if (ok) to_.guard(ok);
  for (const Graph::Next& next : from_.nexts()) {
    const Ref state = Graph::ref((*this)({next.state, 0}));
    const auto kept = kept_next(to_, {state.node, Graph::ref((*this)(next.value)), next.advance});
    if (kept) to_.next(to_.value({kept->state, 0}), to_.value(kept->value), kept->advance);
  }
  for (const Graph::Output& output : from_.outputs()) to_.output(output.name, (*this)(output.value));
  return std::move(to_);
}

bool is_input(const Graph& graph, int node) {
  const Node& n = graph[node];
  if (!n.inputs.empty() || n.label.empty()) return false;
  const auto found = graph.inputs().find(n.label);
  return found != graph.inputs().end() && found->second == node;
}

bool is_state(const Graph& graph, int node) {
  const Node& n = graph[node];
  if (!n.inputs.empty() || n.label.empty()) return false;
  const auto found = graph.states().find(n.label);
  return found != graph.states().end() && found->second == node;
}

bool is_leaf(const Graph& graph, int node) { return is_input(graph, node) || is_state(graph, node); }

std::optional<double> constant(const Graph& graph, Ref value) {
  if (!value) return {};
  const Node& node = graph[value.node];
  if (node.op->name == "full") return node.attributes.as<Full>().value;
  if (node.op->name == "literal" && node.types[0].size() == 1) return node.attributes.as<Literal>().values[0];
  return {};
}

std::vector<bool> needed(const Graph& graph) {
  std::vector<bool> need(static_cast<std::size_t>(graph.size()));
  const auto mark = [&](Ref value) {
    if (value) need[static_cast<std::size_t>(value.node)] = true;
  };
  for (const Graph::Output& output : graph.outputs()) mark(output.value);
  for (const Graph::Next& next : graph.nexts()) mark({next.state, 0}), mark(next.value);
  mark(graph.ok());
  for (int node = graph.size() - 1; node >= 0; --node) {
    if (!need[static_cast<std::size_t>(node)]) continue;
    for (const Ref input : graph[node].inputs) mark(input);
  }
  return need;
}

Graph without_dead(const Graph& graph) {
  const std::vector<bool> need = needed(graph);
  Rewrite rewrite(graph);
  for (int node = 0; node < graph.size(); ++node) {
    if (need[static_cast<std::size_t>(node)]) rewrite.copy(node);
  }
  return rewrite.finish();
}

}  // namespace strata
