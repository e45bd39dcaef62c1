// SPDX-License-Identifier: Apache-2.0
// What the kinds of groups share: making a group into a node, and asking the backend for it.
#pragma once

#include "compiler/groups.h"
#include "compiler/pass.h"
#include "graph/fused.h"

namespace strata {

// A group as a node, and the values of the graph it reads and makes.
struct MadeGroup {
  Node node;
  std::vector<Ref> inputs, outputs;
};

class Fusion {
 public:
  Fusion(Groups& groups, Target& target) : groups(groups), target(target) {}

  // The node of these members (ascending) under a pattern. `first` are inputs that stand before all others.
  MadeGroup make(const std::vector<int>& members, const std::string& pattern, const std::vector<Ref>& first = {}) const;
  // Whether the backend takes it; its choice is kept for lower.
  bool offer(const MadeGroup& made);
  // Makes, offers and records; false when refused.
  bool settle(int group, const std::string& pattern);

  // A node that may be in an elementwise program.
  bool elementwise(int node) const;
  const Shape& shape(int node) const { return groups.graph()[node].types[0].shape; }
  // The only reader of a value that is not an end of the graph; -1 otherwise.
  int sole_reader(int node) const;

  Groups& groups;
  Target& target;
  std::map<int, MadeGroup> made;  // by group: what the backend has taken
};

// A matmul or convolution with what follows it.
void fuse_anchored(Fusion& fusion);
// Programs of elementwise ops, and those that end in a sum.
void fuse_elementwise(Fusion& fusion);
void fuse_reductions(Fusion& fusion);
// Equal programs over different arrays: the update of all weights.
void fuse_many(Fusion& fusion);

// The graph in which a mask that is cheaper to make again than to keep is made again by each of its readers.
Graph with_masks_remade(const Graph& graph);

}  // namespace strata
