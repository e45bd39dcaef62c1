// SPDX-License-Identifier: Apache-2.0
// Groups of nodes stay convex, by search over the whole graph in plain terms.
#include "compiler/groups.h"

#include <doctest/doctest.h>

#include <set>

#include "strata/ops.h"
#include "support/arrays.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

// Random elementwise nodes over a few inputs, here and there an exchange.
Graph random_nodes(Numbers& numbers, int count) {
  Graph graph;
  Values pool{graph.input("a", {{2}, DType::float32}), graph.input("b", {{2}, DType::float32})};
  const auto any = [&] {
    const double from_the_end = numbers.next() * numbers.next();
    return pool[pool.size() - 1 - static_cast<std::size_t>(from_the_end * static_cast<double>(pool.size()))];
  };
  for (int i = 0; i < count; ++i) {
    pool.push_back(numbers.next() < 0.2 ? all_reduce(any()) : numbers.next() < 0.5 ? tanh(any()) : any() + any());
  }
  graph.output("y", pool.back());
  return graph;
}

// Whether a path from `from` to `to` leads over a node that is in neither `inside` set; collectives in a row count.
bool convex(const Graph& graph, const std::set<int>& inside) {
  // What lies outside, depends on the inside and is needed by the inside again.
  std::vector<bool> below(static_cast<std::size_t>(graph.size()));
  int collective = -1;
  for (int node = 0; node < graph.size(); ++node) {
    std::vector<int> before;
    for (const Ref input : graph[node].inputs) before.push_back(input.node);
    if (graph[node].op->traits.collective) {
      if (collective >= 0) before.push_back(collective);
      collective = node;
    }
    for (const int maker : before) {
      if (inside.count(node) && !inside.count(maker) && below[static_cast<std::size_t>(maker)]) return false;
      if (inside.count(maker) || below[static_cast<std::size_t>(maker)]) below[static_cast<std::size_t>(node)] = true;
    }
  }
  return true;
}

TEST_CASE("two groups may join exactly when no path leads out of them and back, and then all can run in some order") {
  Numbers numbers(11);
  int joined = 0, kept_apart = 0;
  for (int round = 0; round < 60; ++round) {
    const Graph graph = random_nodes(numbers, 12);
    Groups groups(graph);
    for (int attempt = 0; attempt < 40; ++attempt) {
      const auto pick = [&] { return groups.of(static_cast<int>(numbers.next() * graph.size())); };
      const int a = pick(), b = pick();
      if (a == b) {
        CHECK_FALSE(groups.may_join(a, b));
        continue;
      }
      std::set<int> both(groups.members(a).begin(), groups.members(a).end());
      both.insert(groups.members(b).begin(), groups.members(b).end());
      // Joined groups are one step: a path over another group's members counts although it jumps within that group.
      const bool may = groups.may_join(a, b);
      if (may) CHECK(convex(graph, both));
      if (!may) {
        ++kept_apart;
        continue;
      }
      groups.join(a, b);
      ++joined;
      const std::vector<int> order = groups.order();  // throws when there is none
      std::vector<int> at(static_cast<std::size_t>(graph.size()));
      int nodes = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        for (const int node : groups.members(order[i])) {
          at[static_cast<std::size_t>(node)] = static_cast<int>(i);
          ++nodes;
        }
      }
      REQUIRE(nodes == graph.size());
      int last_exchange = -1;
      for (int node = 0; node < graph.size(); ++node) {
        for (const Ref input : graph[node].inputs) {
          CHECK(at[static_cast<std::size_t>(input.node)] <= at[static_cast<std::size_t>(node)]);
        }
        if (!graph[node].op->traits.collective) continue;
        CHECK(at[static_cast<std::size_t>(node)] >= last_exchange);
        last_exchange = at[static_cast<std::size_t>(node)];
      }
    }
  }
  CHECK(joined > 200);
  CHECK(kept_apart > 100);
}

TEST_CASE("single nodes that may not join are really those with a path around") {
  Numbers numbers(5);
  for (int round = 0; round < 40; ++round) {
    const Graph graph = random_nodes(numbers, 10);
    Groups groups(graph);
    for (int a = 0; a < graph.size(); ++a) {
      for (int b = 0; b < a; ++b) CHECK(groups.may_join(a, b) == convex(graph, {a, b}));
    }
  }
}

TEST_CASE("a path may lead over a group that reaches far behind both") {
  const Graph graph = parse_graph(R"(
%0 = input("x") : float32[2]
%1 = tanh(%0) : float32[2]
%2 = exp(%0) : float32[2]
%3 = sin(%2) : float32[2]
%4 = cos(%1) : float32[2]
%5 = square(%4) : float32[2]
output "y" = %3
output "z" = %5
)");
  Groups groups(graph);
  groups.join(2, 5);
  CHECK_FALSE(groups.may_join(1, 3));  // 1 is read by 4, which {2, 5} reads, which 3 reads
  CHECK(groups.may_join(1, 4));
}

TEST_CASE("a group taken apart is the parts it was made of, the first under the old number") {
  const Graph graph = parse_graph(R"(
%0 = input("x") : float32[2]
%1 = tanh(%0) : float32[2]
%2 = exp(%1) : float32[2]
%3 = sin(%2) : float32[2]
output "y" = %3
)");
  Groups groups(graph);
  const int group = groups.join(groups.join(1, 2), 3);
  CHECK(groups.members(group) == std::vector<int>{1, 2, 3});
  CHECK(groups.adjoins(group, 0));
  CHECK_FALSE(groups.adjoins(group, group == 2 ? 3 : 2));
  const std::vector<int> parts = groups.separate(group, {{1, 2}, {3}});
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == group);
  CHECK(groups.members(parts[0]) == std::vector<int>{1, 2});
  CHECK(groups.of(3) == parts[1]);
  CHECK(groups.adjoins(parts[0], parts[1]));
}

}  // namespace
}  // namespace strata::test
