// SPDX-License-Identifier: Apache-2.0
// Which elementwise ops run as one program, and which do not.
#include <doctest/doctest.h>

#include "graph/fused.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

std::string fused(std::string_view graph, PaperBackend::Answer answer = {}) {
  return after("fuse", graph, std::move(answer));
}
// The graph with its groups as "pattern(op op)", in order.
std::string groups_in(std::string_view text, PaperBackend::Answer answer = {}) {
  PaperBackend backend = answer ? PaperBackend(std::move(answer)) : PaperBackend();
  const Graph graph = run_pass("fuse", parse_graph(text), backend, backend.devices()[0]);
  std::string all;
  for (int node = 0; node < graph.size(); ++node) {
    if (graph[node].inputs.empty()) continue;
    if (!all.empty()) all += ", ";
    if (graph[node].op != &fused_op) {
      all += graph[node].op->name;
      continue;
    }
    all += graph[node].attributes.as<Fused>().pattern + "(";
    const Graph& body = *graph[node].bodies[0];
    std::string ops;
    for (int n = 0; n < body.size(); ++n) {
      if (!body[n].inputs.empty()) ops += cat(ops.empty() ? "" : " ", body[n].op->name);
    }
    all += ops + ")";
  }
  return all;
}

TEST_CASE("a chain is one program; scalar constants are part of it, what leaves it is its output") {
  CHECK(fused(R"(
%0 = input("x") : float32[2, 3]
%1 = input("b") : float32[3]
%2 = full() {value: 0.5} : float32[]
%3 = multiply(%0, %2) : float32[2, 3] @a
%4 = add(%3, %1) : float32[2, 3] @b
%5 = tanh(%4) : float32[2, 3] @b
%6 = softmax(%4) {axis: 1} : float32[2, 3]
output "y" = %5
output "z" = %6
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = input("b") : float32[3]
%2 = fused(%0, %1) {pattern: elementwise, members: 1, shared: 0} : float32[2, 3], float32[2, 3] @a
  {
    %0 = input("x0") : float32[2, 3]
    %1 = full() {value: 0.5, shape: [], dtype: float32} : float32[]
    %2 = multiply(%0, %1) : float32[2, 3]
    %3 = input("x1") : float32[3]
    %4 = add(%2, %3) : float32[2, 3]
    %5 = tanh(%4) : float32[2, 3]
    output "y0" = %4
    output "y1" = %5
  }
%3 = softmax(%2.0) {axis: 1} : float32[2, 3]
output "y" = %2.1
output "z" = %3
)");
}

TEST_CASE("a single op stays a node of its own") {
  CHECK(groups_in("%0 = input(\"x\") : float32[2]\n%1 = tanh(%0) : float32[2]\noutput \"y\" = %1\n") == "tanh");
}

TEST_CASE("two programs that read one array are joined, which saves reading it") {
  CHECK(groups_in(R"(
%0 = input("x") : float32[2, 3]
%1 = softmax(%0) : float32[2, 3]
%2 = tanh(%1) : float32[2, 3]
%3 = exp(%2) : float32[2, 3]
%4 = square(%2) : float32[2, 3]
output "y" = %3
output "z" = %4
output "t" = %2
)") == "softmax, elementwise(tanh exp square)");
}

TEST_CASE("arrays of other shapes end a program") {
  CHECK(groups_in(R"(
%0 = input("x") : float32[3]
%1 = input("y") : float32[2, 3]
%2 = exp(%0) : float32[3]
%3 = square(%2) : float32[3]
%4 = add(%3, %1) : float32[2, 3]
%5 = relu(%4) : float32[2, 3]
output "y" = %5
)") == "elementwise(exp square), elementwise(add relu)");
}

TEST_CASE("nothing is joined around an op that both need: a path may not leave a group and come back") {
  CHECK(groups_in(R"(
%0 = input("x") : float32[2, 3]
%1 = exp(%0) : float32[2, 3]
%2 = reduce_max(%1) {axes: [0, 1]} : float32[]
%3 = divide(%1, %2) : float32[2, 3]
%4 = square(%3) : float32[2, 3]
output "y" = %4
)") == "exp, reduce_max, elementwise(divide square)");
}

TEST_CASE("computations of scalars join even where they share nothing, each a launch less") {
  CHECK(groups_in(R"(
%0 = state("a") : float32[]
%1 = state("b") : float32[]
%2 = exp(%0) : float32[]
%3 = square(%1) : float32[]
output "a" = %2
output "b" = %3
)") == "elementwise(exp square)");
}

TEST_CASE("scalars keep out of arrays' programs, and arrays of like shape that share nothing stay apart") {
  CHECK(groups_in(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
%2 = state("c") : float32[]
%3 = exp(%0) : float32[2]
%4 = square(%1) : float32[2]
%5 = tanh(%2) : float32[]
output "a" = %3
output "b" = %4
output "c" = %5
)") == "exp, square, tanh");
}

TEST_CASE("what only serves the next values of states stays apart from the rest of the step") {
  CHECK(groups_in(R"(
%0 = state("w") : float32[2]
%1 = input("g") : float32[2]
%2 = exp(%1) : float32[2]
%3 = square(%2) : float32[2]
%4 = subtract(%0, %2) : float32[2]
%5 = tanh(%4) : float32[2]
next %0 = %5
output "y" = %3
output "e" = %2
)") == "elementwise(exp square), elementwise(subtract tanh)");
}

TEST_CASE("a backend that takes the beginning of a program gets the rest offered again") {
  const auto takes_two = [](const Problem& problem) {
    if (problem.node.bodies.empty()) return taken(problem);
    int ops = 0;
    for (int n = 0; n < problem.node.bodies[0]->size(); ++n) ops += !(*problem.node.bodies[0])[n].inputs.empty();
    return ops <= 2 ? taken(problem) : refuse("two at a time");
  };
  CHECK(groups_in(R"(
%0 = input("x") : float32[2]
%1 = exp(%0) : float32[2]
%2 = square(%1) : float32[2]
%3 = tanh(%2) : float32[2]
%4 = relu(%3) : float32[2]
%5 = sin(%4) : float32[2]
output "y" = %5
)",
                  takes_two) == "elementwise(exp square), elementwise(tanh relu), sin");
  CHECK(groups_in("%0 = input(\"x\") : float32[2]\n%1 = exp(%0) : float32[2]\n%2 = sin(%1) : float32[2]\n"
                  "output \"y\" = %2\n",
                  [](const Problem& problem) {
                    return problem.node.bodies.empty() ? taken(problem) : refuse("one op at a time");
                  }) == "exp, sin");
}

TEST_CASE("a program that ends in a sum takes the sum along, when nobody else reads what is summed") {
  CHECK(fused(R"(
%0 = input("x") : float32[4, 3]
%1 = input("y") : float32[4, 3]
%2 = multiply(%0, %1) : float32[4, 3]
%3 = reduce_sum(%2) {axes: [0], keepdims: false} : float32[3]
output "dot" = %3
)") == R"(
%0 = input("x") : float32[4, 3]
%1 = input("y") : float32[4, 3]
%2 = fused(%0, %1) {pattern: reduce, members: 1, shared: 0} : float32[3]
  {
    %0 = input("x0") : float32[4, 3]
    %1 = input("x1") : float32[4, 3]
    %2 = multiply(%0, %1) : float32[4, 3]
    %3 = reduce_sum(%2) {axes: [0], keepdims: false} : float32[3]
    output "y0" = %3
  }
output "dot" = %2
)");
  const std::string_view chain = R"(
%0 = input("x") : float32[4, 3]
%1 = exp(%0) : float32[4, 3]
%2 = square(%1) : float32[4, 3]
%3 = reduce_sum(%2) {axes: [0]} : float32[3]
output "sum" = %3
)";
  CHECK(groups_in(chain) == "reduce(exp square reduce_sum)");
  CHECK(groups_in(cat(chain, "output \"squares\" = %2\n")) == "elementwise(exp square), reduce_sum");
  CHECK(groups_in(cat(chain, "output \"exp\" = %1\n")) == "elementwise(exp square), reduce_sum");
}

TEST_CASE("a largest element, and a sum of what is no program's, stay as they are") {
  CHECK(groups_in("%0 = input(\"x\") : float32[4, 3]\n%1 = exp(%0) : float32[4, 3]\n"
                  "%2 = reduce_max(%1) {axes: [0]} : float32[3]\noutput \"y\" = %2\n") == "exp, reduce_max");
  CHECK(groups_in("%0 = input(\"x\") : float32[4, 3]\n%1 = softmax(%0) : float32[4, 3]\n"
                  "%2 = reduce_sum(%1) {axes: [0]} : float32[3]\noutput \"y\" = %2\n") == "softmax, reduce_sum");
}

TEST_CASE("a mask is made again by each reader from the smaller array it comes from") {
  CHECK(groups_in(R"(
%0 = input("x") : float32[2, 3]
%1 = input("m") : bool[2, 3]
%2 = cast(%1) {dtype: float32} : float32[2, 3]
%3 = multiply(%0, %2) : float32[2, 3]
%4 = softmax(%3) : float32[2, 3]
%5 = multiply(%4, %2) : float32[2, 3]
output "y" = %5
)") == "elementwise(cast multiply), softmax, elementwise(cast multiply)");
  // Not one that is no smaller, nor one that something else than elementwise ops of its shape reads.
  CHECK(groups_in(R"(
%0 = input("x") : float32[2, 3]
%1 = input("m") : float32[2, 3]
%2 = exp(%1) : float32[2, 3]
%3 = multiply(%0, %2) : float32[2, 3]
%4 = softmax(%3) : float32[2, 3]
%5 = multiply(%4, %2) : float32[2, 3]
output "y" = %5
)") == "elementwise(exp multiply), softmax, multiply");
  CHECK(groups_in(R"(
%0 = input("x") : float32[2, 3]
%1 = input("m") : bool[2, 3]
%2 = cast(%1) {dtype: float32} : float32[2, 3]
%3 = softmax(%2) : float32[2, 3]
%4 = multiply(%3, %2) : float32[2, 3]
output "y" = %4
)") == "cast, softmax, multiply");
}

TEST_CASE("exchanges keep their order, whatever is joined around them") {
  // The first exchange reads exp and the second makes what add reads: were the two one program, the order would turn.
  CHECK(groups_in(R"(
%0 = input("x") : float32[2]
%1 = exp(%0) : float32[2]
%2 = all_reduce(%1) {axis: data} : float32[2]
%3 = input("y") : float32[2]
%4 = all_reduce(%3) {axis: data} : float32[2]
%5 = add(%4, %1) : float32[2]
%6 = square(%5) : float32[2]
%7 = tanh(%2) : float32[2]
output "y" = %6
output "z" = %7
)") == "exp, all_reduce, all_reduce, elementwise(add square), tanh");
  // Here a program may be joined, which makes the first exchange late: the second one waits for it.
  CHECK(fused(R"(
%0 = input("x") : float32[2]
%1 = exp(%0) : float32[2]
%2 = all_reduce(%1) {axis: data} : float32[2]
%3 = input("y") : float32[3]
%4 = all_reduce(%3) {axis: data} : float32[3]
%5 = input("z") : float32[2]
%6 = softmax(%5) {axis: 0} : float32[2]
%7 = add(%6, %1) : float32[2]
output "a" = %2
output "b" = %4
output "c" = %7
)") == R"(
%0 = input("x") : float32[2]
%1 = input("y") : float32[3]
%2 = input("z") : float32[2]
%3 = softmax(%2) {axis: 0} : float32[2]
%4 = fused(%0, %3) {pattern: elementwise, members: 1, shared: 0} : float32[2], float32[2]
  {
    %0 = input("x0") : float32[2]
    %1 = exp(%0) : float32[2]
    %2 = input("x1") : float32[2]
    %3 = add(%2, %1) : float32[2]
    output "y0" = %1
    output "y1" = %3
  }
%5 = all_reduce(%4.0) {axis: data} : float32[2]
%6 = all_reduce(%1) {axis: data} : float32[3]
output "a" = %5
output "b" = %6
output "c" = %4.1
)");
}

}  // namespace
}  // namespace strata::test
