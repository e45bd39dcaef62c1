// SPDX-License-Identifier: Apache-2.0
// The passes, one file each; compile.cpp holds their table. The first four turn a graph into a graph; lower turns it
// into a draft of launches, which schedule orders and memory places.
#pragma once

#include <map>

#include "compiler/compile.h"

namespace strata {

// What a plan is compiled for, and what passes have learnt on the way.
struct Target {
  Backend& backend;
  Device device;
  DeviceModel model;
  const CompileOptions& options;
  std::map<const Graph*, Choice> chosen;  // kernels the backend has already taken groups with, by body
  std::set<std::string> row_outputs;      // outputs of which this replica has its rows only

  // The backend's answer for a node over these types.
  Choice choose(const Node& node, std::span<const Type> inputs, std::span<const std::string> formats,
                int candidate = 0) const;
};

Graph partition(const Graph& graph, Target& target);
Graph commit(const Graph& graph, Target& target);
Graph simplify(const Graph& graph, Target& target);
Graph fuse(const Graph& graph, Target& target);

// A launch whose place in the order and whose memory are not settled yet.
struct DraftLaunch {
  PlannedLaunch launch;
  std::vector<std::pair<int, int>> in_place;  // {output, input} that may share memory
  std::size_t workspace_bytes = 0;
  std::vector<int> after;  // launches that must come before it, beyond those that make its inputs
};

// A plan being made. Slots stand for whole arrays; a reshape has none of its own.
struct Draft {
  Plan plan;  // its launches are still in `launches`
  std::vector<DraftLaunch> launches;
  std::vector<Commit> nexts;               // what each state holds next, wherever that is made
  std::vector<std::pair<int, int>> views;  // {slot, the slot whose bytes it names under another type}
  std::vector<int> made_in;                // by slot: the state slot whose memory it is written into; -1: its own
};

Draft lower(const Graph& graph, Target& target);
void schedule(Draft& draft, bool reorder);
void place(Draft& draft, bool share);  // share: false gives every slot bytes of its own

// The floating-point operations of a node by its op's definition.
double flops_of(const Node& node, std::span<const Type> inputs);

// Bytes as the arena counts them: whole cache lines.
constexpr std::size_t slot_alignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
}

}  // namespace strata
