// SPDX-License-Identifier: Apache-2.0
// Puts the guard into the updates: a state that only a good step may change gets select(ok, value, state). The updating
// kernel then depends on ok, so it may write into the state's own memory, and the plan commits it like any other.
#include "compiler/pass.h"
#include "compiler/rewrite.h"
#include "strata/ops.h"

namespace strata {

Graph commit(const Graph& graph, Target&) {
  Rewrite rewrite(graph);
  for (int node = 0; node < graph.size(); ++node) rewrite.copy(node);
  return rewrite.finish([&](Graph& to, Graph::Next next) -> std::optional<Graph::Next> {
    const Ref state{next.state, 0};
    if (next.value == state) return {};
    if (next.advance == Advance::always || !to.ok()) return Graph::Next{next.state, next.value, Advance::always};
    const Graph::Labelled labelled(to, to[next.value.node].scope);
    const Value value = select(to.value(to.ok()), to.value(next.value), to.value(state));
    return Graph::Next{next.state, Graph::ref(value), Advance::always};
  });
}

}  // namespace strata
