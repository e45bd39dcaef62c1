// SPDX-License-Identifier: Apache-2.0
// A matmul or convolution takes along the bias over its last axis and one activation, when nobody else reads what lies
// between.
#include "compiler/fuse.h"

namespace strata {

namespace {

// The node that adds a bias over the last axis to `node`'s result, or -1.
int bias_after(const Fusion& fusion, int node) {
  const Graph& graph = fusion.groups.graph();
  const int reader = fusion.sole_reader(node);
  if (reader < 0 || graph[reader].op->name != "add" || !(graph[reader].types[0] == graph[node].types[0])) return -1;
  const Ref other = graph[reader].inputs[graph[reader].inputs[0] == Ref{node, 0} ? 1 : 0];
  const Shape& bias = graph.type(other).shape;
  const Shape& result = fusion.shape(node);
  return result.rank() > 1 && bias.rank() == 1 && bias[0] == result[-1] ? reader : -1;
}

int activation_after(const Fusion& fusion, int node) {
  const Graph& graph = fusion.groups.graph();
  const int reader = fusion.sole_reader(node);
  if (reader < 0 || !fusion.elementwise(reader) || graph[reader].inputs.size() != 1) return -1;
  return graph[reader].types[0] == graph[node].types[0] ? reader : -1;
}

}  // namespace

void fuse_anchored(Fusion& fusion) {
  const Graph& graph = fusion.groups.graph();
  for (int anchor = 0; anchor < graph.size(); ++anchor) {
    const std::string pattern(graph[anchor].op->name);
    if (pattern != "matmul" && pattern != "conv2d") continue;
    const int bias = bias_after(fusion, anchor);
    const int activation = activation_after(fusion, bias >= 0 ? bias : anchor);
    std::vector<int> members{anchor};
    for (const int node : {bias, activation}) {
      if (node >= 0) members.push_back(node);
    }
    for (; members.size() > 1; members.pop_back()) {
      MadeGroup made = fusion.make(members, pattern);
      if (!fusion.offer(made)) continue;
      int group = fusion.groups.of(anchor);
      for (const int node : members) {
        if (node != anchor) group = fusion.groups.join(group, fusion.groups.of(node));
      }
      fusion.groups.set_pattern(group, pattern);
      fusion.made[group] = std::move(made);
      break;
    }
  }
}

}  // namespace strata
