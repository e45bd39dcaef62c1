// SPDX-License-Identifier: Apache-2.0
// Graphs as text: one node a line, in a form that parse_graph reads back.
#include "base/text.h"
#include "strata/graph.h"

namespace strata {

namespace {

// Between quotes, in which a quote or a backslash stands behind a backslash.
std::string quoted(const std::string& name) {
  return cat('"', replace_all(replace_all(name, "\\", "\\\\"), "\"", "\\\""), '"');
}

std::string name_of(const Graph& graph, Ref ref) {
  if (!ref) return "_";
  const bool several = graph[ref.node].types.size() > 1;
  return several ? cat("%", ref.node, ".", ref.output) : cat("%", ref.node);
}

void print(const Graph& graph, const std::string& indent, std::string& out) {
  for (int n = 0; n < graph.size(); ++n) {
    const Node& node = graph[n];
    out += cat(indent, "%", n, " = ", node.op->name, "(");
    if (!node.op->infer) out += quoted(node.label);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) out += (i ? ", " : "") + name_of(graph, node.inputs[i]);
    out += ")";
    if (!node.attributes.empty()) out += " " + to_text(node.attributes.write());
    out += " : ";
    for (std::size_t i = 0; i < node.types.size(); ++i) out += (i ? ", " : "") + to_text(node.types[i]);
    if (!node.scope.empty()) out += " @" + node.scope;
    out += "\n";
    for (const auto& body : node.bodies) {
      out += indent + "  {\n";
      print(*body, indent + "    ", out);
      out += indent + "  }\n";
    }
  }
  for (const auto& next : graph.nexts())
    out += cat(indent, "next %", next.state, " = ", name_of(graph, next.value),
               next.advance == Advance::always ? " always" : "", "\n");
  for (const auto& output : graph.outputs())
    out += cat(indent, "output ", quoted(output.name), " = ", name_of(graph, output.value), "\n");
  if (graph.ok()) out += cat(indent, "guard ", name_of(graph, graph.ok()), "\n");
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string out;
  print(graph, "", out);
  return out;
}

}  // namespace strata
