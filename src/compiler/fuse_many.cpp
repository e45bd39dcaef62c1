// SPDX-License-Identifier: Apache-2.0
// Equal programs over different arrays run as one launch: the optimizer's update of all weights of a dtype. Only programs
// that make what states hold next are looked at: merging others would stretch the lives of what they read.
#include <algorithm>

#include "compiler/fuse.h"

namespace strata {

namespace {

// One program to merge with its like.
struct Program {
  int group;
  std::vector<int> members;
  MadeGroup made;
};

// Equal keys: the same ops over the same wiring, each input either of the program's own shape or a scalar.
std::string key_of(const MadeGroup& made) {
  const Graph& body = *made.node.bodies[0];
  const Shape& shape = made.node.types[0].shape;
  std::string key;
  const auto append = [&](const auto& bits) { key.append(reinterpret_cast<const char*>(&bits), sizeof bits); };
  for (int node = 0; node < body.size(); ++node) {
    const Node& n = body[node];
    const Type& type = n.types[0];
    key += n.op->name;
    append(type.dtype);
    append(type.shape == shape);
    if (!(type.shape == shape) && type.shape.rank() != 0) return {};  // broadcast along some axes: not a flat program
    for (const Ref input : n.inputs) append(input.node);
    if (!n.attributes.empty() && !(is_input(body, node))) key += to_text(n.attributes.write());
  }
  for (const Graph::Output& output : body.outputs()) append(output.value.node);
  return key;
}

// The programs as one node, the scalars that all share standing first.
MadeGroup merged(const Fusion& fusion, const std::vector<Program>& programs) {
  std::vector<Ref> shared;
  const MadeGroup& first = programs[0].made;
  std::vector<bool> common(first.inputs.size());
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    common[i] = fusion.groups.graph().type(first.inputs[i]).shape.rank() == 0 &&
                std::all_of(programs.begin(), programs.end(),
                            [&](const Program& p) { return p.made.inputs[i] == first.inputs[i]; });
    if (common[i]) shared.push_back(first.inputs[i]);
  }
  MadeGroup all = fusion.make(programs[0].members, "elementwise", shared);
  all.inputs = shared;
  all.outputs.clear();
  all.node.types.clear();
  for (const Program& program : programs) {
    for (std::size_t i = 0; i < common.size(); ++i) {
      if (!common[i]) all.inputs.push_back(program.made.inputs[i]);
    }
    all.outputs.insert(all.outputs.end(), program.made.outputs.begin(), program.made.outputs.end());
    all.node.types.insert(all.node.types.end(), program.made.node.types.begin(), program.made.node.types.end());
  }
  all.node.inputs = all.inputs;
  all.node.attributes = Fused{.pattern = "elementwise_many",
                              .members = static_cast<std::int64_t>(programs.size()),
                              .shared = static_cast<std::int64_t>(shared.size())};
  return all;
}

void settle_or_halve(Fusion& fusion, const std::vector<Program>& programs) {
  if (programs.size() < 2) return;
  MadeGroup all = merged(fusion, programs);
  if (!fusion.offer(all)) {
    const auto middle = programs.begin() + static_cast<std::ptrdiff_t>(programs.size() / 2);
    settle_or_halve(fusion, {programs.begin(), middle});
    settle_or_halve(fusion, {middle, programs.end()});
    return;
  }
  int group = programs[0].group;
  fusion.made.erase(group);
  for (std::size_t i = 1; i < programs.size(); ++i) {
    fusion.made.erase(programs[i].group);
    group = fusion.groups.join(group, programs[i].group);
  }
  fusion.groups.set_pattern(group, "elementwise_many");
  fusion.made[group] = std::move(all);
}

// Those of the programs that do not depend on each other, from the first on; the others are left behind.
std::vector<Program> independent(Fusion& fusion, std::vector<Program>& programs) {
  Groups& groups = fusion.groups;
  std::vector<Program> taken, left;
  int group = -1;
  for (Program& program : programs) {
    if (group < 0) {
      group = program.group;
    } else if (groups.may_join(group, program.group) && !groups.adjoins(group, program.group)) {
      group = groups.join(group, program.group);
    } else {
      left.push_back(std::move(program));
      continue;
    }
    taken.push_back(std::move(program));
  }
  std::vector<std::vector<int>> parts;
  for (const Program& program : taken) parts.push_back(program.members);
  const std::vector<int> numbers = groups.separate(group, parts);
  std::map<int, MadeGroup> made;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    auto entry = fusion.made.extract(taken[i].group);
    if (entry) made[numbers[i]] = std::move(entry.mapped());
    taken[i].group = numbers[i];
  }
  fusion.made.merge(made);
  programs = std::move(left);
  return taken;
}

}  // namespace

void fuse_many(Fusion& fusion) {
  Groups& groups = fusion.groups;
  const Graph& graph = groups.graph();
  std::vector<bool> next(static_cast<std::size_t>(graph.size()));
  for (const Graph::Next& n : graph.nexts()) next[static_cast<std::size_t>(n.value.node)] = true;

  std::map<std::string, std::vector<Program>> by_key;
  for (int node = 0; node < graph.size(); ++node) {
    const int group = groups.of(node);
    if (groups.members(group).front() != node) continue;
    const auto found = fusion.made.find(group);
    const bool single = found == fusion.made.end() && groups.pattern(group).empty() && fusion.elementwise(node);
    if (!single && (found == fusion.made.end() || groups.pattern(group) != "elementwise")) continue;
    const std::vector<int>& members = groups.members(group);
    if (std::none_of(members.begin(), members.end(), [&](int n) { return next[static_cast<std::size_t>(n)]; }))
      continue;
    Program program{group, members, single ? fusion.make(members, "elementwise") : found->second};
    const std::string key = key_of(program.made);
    if (!key.empty()) by_key[key].push_back(std::move(program));
  }
  for (auto& [key, programs] : by_key) {
    while (programs.size() > 1) settle_or_halve(fusion, independent(fusion, programs));
  }
}

}  // namespace strata
