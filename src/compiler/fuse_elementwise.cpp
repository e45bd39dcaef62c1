// SPDX-License-Identifier: Apache-2.0
// Programs of elementwise ops over one shape. First every array is removed whose readers can all be in the group of its
// maker; then groups that share an array are joined, which saves reading it; then scalar computations, which cost a launch
// each whatever they do. A last sum may end a program.
#include <algorithm>

#include "compiler/fuse.h"

namespace strata {

namespace {

// Nodes that only serve what states hold next. They stay apart from the rest of the step, so that the updates of all
// weights are equal programs.
std::vector<bool> only_for_nexts(const Graph& graph, const Uses& uses) {
  std::vector<bool> result(static_cast<std::size_t>(graph.size()), true);
  for (const Graph::Output& output : graph.outputs()) result[static_cast<std::size_t>(output.value.node)] = false;
  if (graph.ok()) result[static_cast<std::size_t>(graph.ok().node)] = false;
  for (int node = graph.size() - 1; node >= 0; --node) {
    for (int output = 0; output < static_cast<int>(graph[node].types.size()); ++output) {
      for (const int reader : uses.readers({node, output})) {
        const bool pure = graph[reader].op->traits.elementwise && result[static_cast<std::size_t>(reader)];
        if (!pure) result[static_cast<std::size_t>(node)] = false;
      }
    }
  }
  return result;
}

// The backend takes a group whole, or the longest beginning of it that it takes; the rest is tried again.
void settle_or_shrink(Fusion& fusion, int group) {
  while (fusion.groups.members(group).size() > 1) {
    if (fusion.settle(group, "elementwise")) return;
    const std::vector<int> all = fusion.groups.members(group);
    for (std::size_t count = all.size() - 1;; --count) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
      const std::vector<int> beginning(all.begin(), middle), rest(middle, all.end());
      if (count > 1 && !fusion.offer(fusion.make(beginning, "elementwise"))) continue;
      const std::vector<int> parts = fusion.groups.separate(group, {beginning, rest});
      if (count > 1) fusion.settle(parts[0], "elementwise");
      group = parts[1];
      break;
    }
  }
}

}  // namespace

void fuse_elementwise(Fusion& fusion) {
  Groups& groups = fusion.groups;
  const Graph& graph = groups.graph();
  const std::vector<bool> update = only_for_nexts(graph, groups.uses());
  std::vector<bool> member(static_cast<std::size_t>(graph.size()));
  for (int node = 0; node < graph.size(); ++node) {
    member[static_cast<std::size_t>(node)] = groups.pattern(groups.of(node)).empty() && fusion.elementwise(node);
  }
  const auto fits = [&](int reader, int node) {
    return member[static_cast<std::size_t>(reader)] && fusion.shape(reader) == fusion.shape(node);
  };

  for (int node = graph.size() - 1; node >= 0; --node) {
    if (!member[static_cast<std::size_t>(node)] || groups.uses().ends({node, 0})) continue;
    const std::vector<int>& readers = groups.uses().readers({node, 0});
    if (!std::all_of(readers.begin(), readers.end(), [&](int reader) { return fits(reader, node); })) continue;
    // All or none: one reader elsewhere keeps the array.
    std::vector<std::vector<int>> parts{{node}};
    int group = groups.of(node);
    bool all = true;
    for (const int reader : readers) {
      const int other = groups.of(reader);
      if (other == group) continue;
      all = groups.may_join(group, other);
      if (!all) break;
      parts.push_back(groups.members(other));
      group = groups.join(group, other);
    }
    if (!all && parts.size() > 1) groups.separate(group, parts);
  }

  for (int node = 0; node < graph.size(); ++node) {
    if (!member[static_cast<std::size_t>(node)]) continue;
    for (const int reader : groups.uses().readers({node, 0})) {
      const int a = groups.of(node), b = groups.of(reader);
      const bool alike = update[static_cast<std::size_t>(node)] == update[static_cast<std::size_t>(reader)];
      if (alike && fits(reader, node) && groups.may_join(a, b)) groups.join(a, b);
    }
  }

  // Scalars of one rank, in the graph's order, each to the nearest group before it that it may join.
  std::vector<int> scalars;
  for (int node = 0; node < graph.size(); ++node) {
    if (!member[static_cast<std::size_t>(node)] || graph[node].types[0].size() != 1) continue;
    const int group = groups.of(node);
    if (groups.members(group).front() != node) continue;
    bool joined = false;
    for (std::size_t back = 1; back <= std::min<std::size_t>(scalars.size(), 8) && !joined; ++back) {
      int& other = scalars[scalars.size() - back];
      const bool alike =
          fusion.shape(groups.members(other).front()) == fusion.shape(node) &&
          update[static_cast<std::size_t>(groups.members(other).front())] == update[static_cast<std::size_t>(node)];
      joined = alike && groups.may_join(other, group);
      if (joined) other = groups.join(other, group);
    }
    if (!joined) scalars.push_back(group);
  }

  for (int node = 0; node < graph.size(); ++node) {
    const int group = groups.of(node);
    if (member[static_cast<std::size_t>(node)] && groups.members(group).front() == node && !fusion.made.count(group)) {
      settle_or_shrink(fusion, group);
    }
  }
}

void fuse_reductions(Fusion& fusion) {
  Groups& groups = fusion.groups;
  const Graph& graph = groups.graph();
  for (int sum = 0; sum < graph.size(); ++sum) {
    if (graph[sum].op->name != "reduce_sum") continue;
    const int last = graph[sum].inputs[0].node;
    const int group = groups.of(last);
    if (!fusion.elementwise(last) || fusion.sole_reader(last) != sum) continue;
    if (!(groups.pattern(group) == "elementwise" || groups.members(group).size() == 1)) continue;
    const auto found = fusion.made.find(group);
    if (found != fusion.made.end() && found->second.outputs != std::vector<Ref>{{last, 0}}) continue;
    std::vector<int> members = groups.members(group);
    members.push_back(sum);
    std::sort(members.begin(), members.end());
    MadeGroup made = fusion.make(members, "reduce");
    if (!fusion.offer(made)) continue;
    const int whole = groups.join(group, groups.of(sum));
    groups.set_pattern(whole, "reduce");
    fusion.made[whole] = std::move(made);
  }
}

}  // namespace strata
