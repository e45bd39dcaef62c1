// SPDX-License-Identifier: Apache-2.0
// From a graph to a plan, through named passes that can be skipped, timed and dumped.
#pragma once

#include <functional>
#include <set>

#include "compiler/plan.h"

namespace strata {

struct CompileOptions {
  std::string name = "plan";
  int replicas = 1;  // along the data axis, in lockstep
  // With replicas: the graph was traced for `batch_rows` rows of which this replica has [first, second). Feeds whose
  // axis 0 is batch_rows long are split along it; the partition pass carries that through the graph by the ops' shard
  // rules and inserts all_reduce where sums over all rows are needed.
  std::int64_t batch_rows = 0;
  std::pair<std::int64_t, std::int64_t> replica_rows{0, 0};
  std::set<std::string> skip;  // passes by name
  std::string dump_after;      // a pass's name
  std::function<void(const std::string& pass, const std::string& text)> dump;
  bool fast_math = true;
  bool verify = false;  // every rule of graphs, after each pass: for tests
};

// The passes in order: partition, commit, simplify, fuse (graph to graph, each verified), then lower, schedule, memory.
Plan compile_graph(Graph graph, Backend& backend, const Device& device, const CompileOptions& options = {});

// One pass on its own, for tests: the graph after it.
Graph run_pass(std::string_view pass, Graph graph, Backend& backend, const Device& device,
               const CompileOptions& options = {});
std::vector<std::string> pass_names();

}  // namespace strata
