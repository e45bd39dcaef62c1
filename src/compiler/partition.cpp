// SPDX-License-Identifier: Apache-2.0
// Settles what the replicas exchange. One replica has nobody to exchange with: a collective is its input. With several,
// every feed is split along the data axis and every state is whole on each, which is what graphs are traced for; other
// shardings are propagated from here by the ops' shard rules.
#include "compiler/pass.h"
#include "compiler/rewrite.h"
#include "compiler/spread.h"

namespace strata {

Graph partition(const Graph& graph, Target& target) {
  const auto [begin, end] = target.options.replica_rows;
  if (target.options.replicas > 1) {
    Spread local = spread(graph, {target.options.batch_rows, begin, end, begin == 0});
    target.row_outputs = std::move(local.row_outputs);
    return std::move(local.graph);
  }
  Rewrite rewrite(graph);
  for (int node = 0; node < graph.size(); ++node) {
    const Node& old = graph[node];
    if (target.options.replicas == 1 && old.op->traits.collective) {
      STRATA_CHECK(old.inputs.size() == 1 && old.types.size() == 1 && graph.type(old.inputs[0]) == old.types[0],
                   old.op->name, " over one replica is not its input");
      rewrite.replace(node, rewrite.inputs(node));
    } else {
      rewrite.copy(node);
    }
  }
  return rewrite.finish();
}

}  // namespace strata
