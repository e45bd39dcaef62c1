// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that run as one kernel. The fuse pass makes them, a backend accepts or refuses them by pattern, and a
// refused group is taken apart again. Its body is a graph: inputs in order, outputs in order. Its reference is the body's.
#pragma once

#include "strata/graph.h"

namespace strata {

// Patterns:
//   elementwise      only elementwise ops and scalar constants; every output has one shape, to which the inputs broadcast
//   elementwise_many the same program over `members` sets of arrays: inputs are the `shared` common ones, then each
//                    member's in turn; outputs member by member. The optimizer's update of all weights of a dtype.
//   matmul, conv2d   the op, then optionally a bias over the last axis, then optionally one unary activation
//   reduce           an elementwise program whose one result goes into a reduce_sum (bias gradients, means)
struct Fused {
  std::string pattern;
  std::int64_t members = 1, shared = 0;
  static Schema schema();
};

extern const OpDef fused_op;

// The nodes that are a body's inputs, in the order they were made: the order of a group's inputs.
std::vector<int> body_inputs(const Graph& body);

// The same program over inputs of other shapes: the body of one member of an elementwise_many group.
Graph with_input_types(const Graph& body, std::span<const Type> types);

// What a group computes, written out node by node in `graph`: how one that no kernel takes is taken apart.
Values unfused(Graph& graph, const Node& group, std::span<const Value> inputs);

}  // namespace strata
