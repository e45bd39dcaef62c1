// SPDX-License-Identifier: Apache-2.0
#include "compiler/groups.h"

#include <algorithm>
#include <queue>

namespace strata {

Groups::Groups(const Graph& graph)
    : graph_(graph),
      uses_(graph),
      exchange_after_(static_cast<std::size_t>(graph.size()), -1),
      members_(static_cast<std::size_t>(graph.size())),
      patterns_(static_cast<std::size_t>(graph.size())),
      seen_(static_cast<std::size_t>(graph.size())) {
  int collective = -1;
  for (int node = 0; node < graph.size(); ++node) {
    group_.push_back(node);
    furthest_.push_back(node);
    members_[static_cast<std::size_t>(node)] = {node};
    if (!graph[node].op->traits.collective) continue;
    if (collective >= 0) exchange_after_[static_cast<std::size_t>(collective)] = node;
    collective = node;
  }
}

// Whether a path leads from one group to another; `beyond_direct`: through at least one group between them. What a group
// on the path reads lies before that group's last member, which may lie behind `to`: the search is bounded by how far
// groups reach that begin before the bound.
bool Groups::reaches(int from, int to, bool beyond_direct) {
  int last = members(to).back();
  while (furthest_[static_cast<std::size_t>(last)] > last) last = furthest_[static_cast<std::size_t>(last)];
  std::vector<int> open{from};
  seen_[static_cast<std::size_t>(from)] = ++search_;
  while (!open.empty()) {
    const int group = open.back();
    open.pop_back();
    for (const int node : members(group)) {
      if (const int after = exchange_after_[static_cast<std::size_t>(node)]; after >= 0) {
        const int next = of(after);
        if (next == to && !(beyond_direct && group == from)) return true;
        if (next != to && seen_[static_cast<std::size_t>(next)] != search_ && members(next).front() <= last) {
          seen_[static_cast<std::size_t>(next)] = search_;
          open.push_back(next);
        }
      }
      for (int output = 0; output < static_cast<int>(graph_[node].types.size()); ++output) {
        for (const int reader : uses_.readers({node, output})) {
          const int next = of(reader);
          if (next == to) {
            if (beyond_direct && group == from) continue;
            return true;
          }
          if (seen_[static_cast<std::size_t>(next)] == search_ || members(next).front() > last) continue;
          seen_[static_cast<std::size_t>(next)] = search_;
          open.push_back(next);
        }
      }
    }
  }
  return false;
}

bool Groups::may_join(int a, int b) { return a != b && !reaches(a, b, true) && !reaches(b, a, true); }

bool Groups::adjoins(int a, int b) const {
  const auto reads = [&](int reader, int maker) {
    for (const int node : members(reader)) {
      for (const Ref input : graph_[node].inputs) {
        if (input && of(input.node) == maker) return true;
      }
    }
    return false;
  };
  return reads(a, b) || reads(b, a);
}

int Groups::join(int a, int b) {
  std::vector<int>& into = members_[static_cast<std::size_t>(a)];
  std::vector<int>& from = members_[static_cast<std::size_t>(b)];
  for (const int node : from) group_[static_cast<std::size_t>(node)] = a;
  std::vector<int> all;
  std::merge(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(all));
  into = std::move(all);
  from.clear();
  for (auto node = static_cast<std::size_t>(into.front()); node < furthest_.size(); ++node) {
    if (furthest_[node] >= into.back()) break;  // what follows reaches as far
    furthest_[node] = into.back();
  }
  return a;
}

std::vector<int> Groups::separate(int group, const std::vector<std::vector<int>>& parts) {
  std::vector<int> numbers;
  const std::string pattern = patterns_[static_cast<std::size_t>(group)];
  for (const std::vector<int>& part : parts) {
    int number = group;
    if (!numbers.empty()) {
      const auto free =
          std::find_if(members_.begin(), members_.end(), [](const auto& members) { return members.empty(); });
      number = static_cast<int>(free - members_.begin());
    }
    for (const int node : part) group_[static_cast<std::size_t>(node)] = number;
    members_[static_cast<std::size_t>(number)] = part;
    patterns_[static_cast<std::size_t>(number)] = pattern;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<int> Groups::order() const {
  std::vector<int> waiting(members_.size());
  std::vector<std::vector<int>> readers(members_.size());
  for (int node = 0; node < graph_.size(); ++node) {
    for (const Ref input : graph_[node].inputs) {
      if (!input || of(input.node) == of(node)) continue;
      readers[static_cast<std::size_t>(of(input.node))].push_back(of(node));
      ++waiting[static_cast<std::size_t>(of(node))];
    }
    if (const int after = exchange_after_[static_cast<std::size_t>(node)]; after >= 0 && of(after) != of(node)) {
      readers[static_cast<std::size_t>(of(node))].push_back(of(after));
      ++waiting[static_cast<std::size_t>(of(after))];
    }
  }
  // A group stands where its last member stood, or as soon after as its inputs are there.
  const auto later = [&](int a, int b) { return members(a).back() > members(b).back(); };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  int groups = 0;
  for (int group = 0; group < static_cast<int>(members_.size()); ++group) {
    if (members(group).empty()) continue;
    ++groups;
    if (waiting[static_cast<std::size_t>(group)] == 0) ready.push(group);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int group = ready.top();
    ready.pop();
    order.push_back(group);
    for (const int reader : readers[static_cast<std::size_t>(group)]) {
      if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  STRATA_CHECK(static_cast<int>(order.size()) == groups, "groups of nodes wait for each other");
  return order;
}

}  // namespace strata
