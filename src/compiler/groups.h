// SPDX-License-Identifier: Apache-2.0
// A partition of a graph's nodes into groups that each become one node. Joining keeps groups convex: no path leaves one
// and comes back, so that the groups can run in some order.
#pragma once

#include <string>
#include <vector>

#include "compiler/rewrite.h"

namespace strata {

// Collectives keep the order they have in the graph, as if each read the one before: replicas with different row counts
// may group differently, and still must exchange the same things at the same time.
class Groups {
 public:
  explicit Groups(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const Uses& uses() const { return uses_; }
  int of(int node) const { return group_[static_cast<std::size_t>(node)]; }
  const std::vector<int>& members(int group) const { return members_[static_cast<std::size_t>(group)]; }  // ascending
  const std::string& pattern(int group) const { return patterns_[static_cast<std::size_t>(group)]; }  // "": none yet
  void set_pattern(int group, std::string pattern) { patterns_[static_cast<std::size_t>(group)] = std::move(pattern); }

  // Whether the two would stay convex as one; false for a group with itself.
  bool may_join(int a, int b);
  bool adjoins(int a, int b) const;  // whether a member of one reads a member of the other
  int join(int a, int b);            // the group both are now
  // Takes a group apart; each part must be convex. Returns the groups the parts are now, the first under the old number.
  std::vector<int> separate(int group, const std::vector<std::vector<int>>& parts);
  std::vector<int> order() const;  // every group once, after those it reads; as near to the graph's as can be

 private:
  bool reaches(int from, int to, bool beyond_direct);

  const Graph& graph_;
  Uses uses_;
  std::vector<int> group_;                 // by node
  std::vector<int> exchange_after_;        // by node: of a collective, the one that comes next; else -1
  std::vector<std::vector<int>> members_;  // by group
  std::vector<std::string> patterns_;
  std::vector<int> furthest_;  // by node: the last member of any group that begins there or before, or one behind it
  std::vector<int> seen_;      // by group: the search that came by last
  int search_ = 0;
};

}  // namespace strata
