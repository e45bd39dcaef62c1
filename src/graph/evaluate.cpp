// SPDX-License-Identifier: Apache-2.0
// The oracle: a graph run by its ops' references, in doubles.
#include "base/text.h"
#include "strata/graph.h"

namespace strata {

std::vector<std::vector<Array>> evaluate(const Graph& graph, const std::map<std::string, Array>& feeds) {
  std::vector<std::vector<Array>> values(static_cast<std::size_t>(graph.size()));
  std::vector<const Array*> inputs;
  std::vector<Type> types;
  for (int n = 0; n < graph.size(); ++n) {
    const Node& node = graph[n];
    auto& outputs = values[static_cast<std::size_t>(n)];
    if (!node.op->infer) {  // a leaf
      const auto it = feeds.find(node.label);
      if (it == feeds.end())
        throw Error(cat("evaluate: ", node.op->name, " '", node.label, "' (", node.types[0], ") is not fed"));
      if (it->second.shape != node.types[0].shape)
        throw Error(cat("evaluate: ", node.op->name, " '", node.label, "' is ", node.types[0], ", fed with ",
                        it->second.shape));
      outputs = {it->second};
      continue;
    }
    inputs.clear();
    types.clear();
    for (const Ref& ref : node.inputs) {
      inputs.push_back(ref ? &values[static_cast<std::size_t>(ref.node)][static_cast<std::size_t>(ref.output)]
                           : nullptr);
      types.push_back(ref ? graph.type(ref) : Type{});
    }
    for (const Type& type : node.types) outputs.emplace_back(type.shape);
    STRATA_CHECK(node.op->reference, "op ", node.op->name, " has no reference");
    node.op->reference({inputs, outputs, types, node.types, node.attributes, node.bodies});
  }
  return values;
}

}  // namespace strata
