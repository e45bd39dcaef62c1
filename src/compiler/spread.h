// SPDX-License-Identifier: Apache-2.0
// One replica's part of a graph that was traced for the whole batch. Feeds are split along their rows; how everything else
// lies follows from the ops' shard rules, and where a sum over all rows is needed an all_reduce is put.
#pragma once

#include <set>
#include <string>

#include "strata/graph.h"

namespace strata {

struct ReplicaRows {
  std::int64_t batch = 0;           // rows the graph was traced for
  std::int64_t begin = 0, end = 0;  // this replica's: possibly none
  bool first = true;                // the replica that holds a whole value where terms are wanted
};

struct Spread {
  Graph graph;
  std::set<std::string> row_outputs;  // those of which a replica has its rows only; the others are whole on each
};

Spread spread(const Graph& whole, const ReplicaRows& rows);

}  // namespace strata
