// SPDX-License-Identifier: Apache-2.0
// Where arrays lie: next values in their states, results in dying inputs, everything else by lifetime.
#include <doctest/doctest.h>

#include "support/paper_backend.h"

namespace strata::test {
namespace {

// Every op may write its first output over any input of the same type; `workspace` bytes for the op named.
PaperBackend::Answer in_place(const std::string& op = "", std::size_t workspace = 0) {
  return [op, workspace](const Problem& problem) {
    Choice choice = taken(problem);
    for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
      const bool elementwise = problem.node.op->traits.elementwise;
      if (elementwise && problem.inputs[i] == problem.outputs[0]) choice.in_place.push_back({0, static_cast<int>(i)});
    }
    if (problem.node.op->name == op) choice.workspace_bytes = workspace;
    return choice;
  };
}
Plan placed(std::string_view graph, PaperBackend::Answer answer = in_place(), const std::string& skip = "") {
  CompileOptions options;
  options.skip = {"partition", "simplify", "fuse", "schedule"};
  if (!skip.empty()) options.skip.insert(skip);
  return planned(graph, std::move(answer), options);
}
std::string launches(std::string_view graph, PaperBackend::Answer answer = in_place()) {
  return launches_of(placed(graph, std::move(answer)));
}

TEST_CASE("a result lies in its dying input's memory, and what is dead makes room") {
  const Plan plan = placed(R"(
%0 = input("x") : float32[64]
%1 = exp(%0) : float32[64]
%2 = tanh(%1) : float32[64]
%3 = softmax(%2) : float32[64]
%4 = softmax(%3) : float32[64]
output "y" = %4
)");
  CHECK(launches_of(plan) == R"(
  0  exp [any] (<x> float32[64]) -> @0 float32[64]
  1  tanh [any] (@0 float32[64]) -> @0 float32[64]
  2  softmax [any] (@0 float32[64]) -> @256 float32[64]
  3  softmax [any] (@256 float32[64]) -> @0 float32[64]
)");
  CHECK(plan.arena_bytes == 512);
  CHECK(plan.max_live_bytes == 512);
}

TEST_CASE("a result does not lie in an input that is read again, read twice, or a feed") {
  CHECK(launches(R"(
%0 = input("x") : float32[64]
%1 = exp(%0) : float32[64]
%2 = tanh(%1) : float32[64]
%3 = softmax(%1) : float32[64]
%4 = add(%2, %3) : float32[64]
%5 = multiply(%4, %4) : float32[64]
output "y" = %5
)") == R"(
  0  exp [any] (<x> float32[64]) -> @0 float32[64]
  1  tanh [any] (@0 float32[64]) -> @256 float32[64]
  2  softmax [any] (@0 float32[64]) -> @512 float32[64]
  3  add [any] (@256 float32[64], @512 float32[64]) -> @256 float32[64]
  4  multiply [any] (@256 float32[64], @256 float32[64]) -> @0 float32[64]
)");
}

TEST_CASE("a next value is written straight into its state by a kernel that reads it element by element") {
  CHECK(launches(R"(
%0 = state("w") : float32[64]
%1 = input("g") : float32[64]
%2 = subtract(%0, %1) : float32[64]
next %0 = %2
)") == R"(
  0  subtract [any] (w float32[64], <g> float32[64]) -> w float32[64]
)");
}

TEST_CASE("a state keeps its value while anything reads it: the next one is copied after the run") {
  CHECK(launches(R"(
%0 = state("w") : float32[64]
%1 = input("g") : float32[64]
%2 = subtract(%0, %1) : float32[64]
%3 = softmax(%0) : float32[64]
next %0 = %2
output "y" = %3
)") == R"(
  0  subtract [any] (w float32[64], <g> float32[64]) -> @0 float32[64]
  1  softmax [any] (w float32[64]) -> @256 float32[64]
  commit w <- @0 float32[64]
)");
  // A kernel that reads it otherwise than element by element.
  CHECK(launches(R"(
%0 = state("w") : float32[64]
%1 = softmax(%0) : float32[64]
next %0 = %1
)") == R"(
  0  softmax [any] (w float32[64]) -> @0 float32[64]
  commit w <- @0 float32[64]
)");
}

TEST_CASE("one value that several states hold next goes into one of them and is copied to the other") {
  CHECK(launches(R"(
%0 = state("a") : float32[64]
%1 = state("b") : float32[64]
%2 = input("x") : float32[64]
%3 = exp(%2) : float32[64]
next %0 = %3
next %1 = %3
output "y" = %3
)") == R"(
  0  exp [any] (<x> float32[64]) -> a float32[64]
  commit b <- a float32[64]
)");
}

TEST_CASE(
    "a guarded update reads the guard and its state, and so lies in place; without the select it waits for the end") {
  const std::string_view guarded = R"(
%0 = state("w") : float32[64]
%1 = input("g") : float32[64]
%2 = subtract(%0, %1) : float32[64]
%3 = is_finite(%1) : bool[64]
%4 = reduce_all(%3) : bool[]
next %0 = %2
guard %4
)";
  CHECK(launches(guarded) == R"(
  0  subtract [any] (w float32[64], <g> float32[64]) -> @0 float32[64]
  1  is_finite [any] (<g> float32[64]) -> @256 bool[64]
  2  reduce_all [any] (@256 bool[64]) -> @320 bool[]
  3  select [any] (@320 bool[], @0 float32[64], w float32[64]) -> w float32[64]
)");
  CHECK(launches_of(placed(guarded, in_place(), "commit")) == R"(
  0  subtract [any] (w float32[64], <g> float32[64]) -> @0 float32[64]
  1  is_finite [any] (<g> float32[64]) -> @256 bool[64]
  2  reduce_all [any] (@256 bool[64]) -> @320 bool[]
  commit w <- @0 float32[64] if ok
)");
}

TEST_CASE("what an exchange makes is not written into a state while other replicas may still read") {
  CompileOptions options;
  options.skip = {"partition", "simplify", "fuse"};
  options.replicas = 0;  // left as they are
  CHECK(launches_of(planned(R"(
%0 = state("w") : float32[64]
%1 = input("g") : float32[64]
%2 = all_reduce(%1) {axis: data} : float32[64]
next %0 = %2
)",
                            in_place(), options)) == R"(
  0  all_reduce [communicator] (<g> float32[64]) -> @0 float32[64]
  commit w <- @0 float32[64]
)");
}

TEST_CASE("workspaces lie where nothing lives during their launch") {
  const Plan plan = placed(R"(
%0 = input("x") : float32[64]
%1 = exp(%0) : float32[64]
%2 = softmax(%1) : float32[64]
%3 = reduce_sum(%2) {axes: [0]} : float32[]
%4 = softmax(%2) : float32[64]
output "y" = %4
output "sum" = %3
)",
                           in_place("reduce_sum", 100));
  CHECK(launches_of(plan) == R"(
  0  exp [any] (<x> float32[64]) -> @0 float32[64]
  1  softmax [any] (@0 float32[64]) -> @256 float32[64]
  2  reduce_sum [any] (@256 float32[64]) -> @512 float32[]  workspace 100 bytes
  3  softmax [any] (@256 float32[64]) -> @0 float32[64]
)");
  CHECK(plan.slots.back().name == "workspace");
  CHECK(plan.slots.back().offset == 0);
}

TEST_CASE("without this pass every array has bytes of its own and every next value is copied") {
  const Plan plan = placed(R"(
%0 = state("w") : float32[64]
%1 = exp(%0) : float32[64]
%2 = tanh(%1) : float32[64]
next %0 = %2
)",
                           in_place(), "memory");
  CHECK(launches_of(plan) == R"(
  0  exp [any] (w float32[64]) -> @0 float32[64]
  1  tanh [any] (@0 float32[64]) -> @256 float32[64]
  commit w <- @256 float32[64]
)");
  CHECK(plan.arena_bytes == 512);
}

}  // namespace
}  // namespace strata::test
