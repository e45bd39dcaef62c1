// SPDX-License-Identifier: Apache-2.0
// The order of launches: what may be put off until it is read is, nothing else moves.
#include <doctest/doctest.h>

#include "support/paper_backend.h"

namespace strata::test {
namespace {

// The launches' ops in order, without the passes over graphs, which would join some.
std::string order(std::string_view graph, bool scheduled = true, int replicas = 1) {
  CompileOptions options;
  options.skip = {"partition", "commit", "simplify", "fuse"};
  options.replicas = replicas;
  if (!scheduled) options.skip.insert("schedule");
  std::string ops;
  for (const PlannedLaunch& launch : planned(graph, {}, options).launches)
    ops += cat(ops.empty() ? "" : " ", launch.op);
  return ops;
}

const std::string_view noise = R"(
%0 = input("x") : float32[64]
%1 = input("z") : float32[64]
%2 = exp(%1) : float32[64]
%3 = tanh(%0) : float32[64]
%4 = sin(%3) : float32[64]
%5 = multiply(%4, %2) : float32[64]
output "y" = %5
)";

TEST_CASE("what needs feeds only is made just before it is read, so that it lives short") {
  CHECK(order(noise, false) == "exp tanh sin multiply");
  CHECK(order(noise) == "tanh sin exp multiply");
}

TEST_CASE("what reads a state keeps its place: the state may change on the way") {
  CHECK(order(R"(
%0 = state("x") : float32[64]
%1 = input("z") : float32[64]
%2 = exp(%0) : float32[64]
%3 = tanh(%1) : float32[64]
%4 = sin(%3) : float32[64]
%5 = multiply(%4, %2) : float32[64]
output "y" = %5
)") == "exp tanh sin multiply");
}

TEST_CASE("what reads another launch's result keeps its place, and so does what is only read after the run") {
  CHECK(order(R"(
%0 = input("x") : float32[64]
%1 = exp(%0) : float32[64]
%2 = square(%1) : float32[64]
%3 = input("z") : float32[64]
%4 = cos(%3) : float32[64]
%5 = tanh(%4) : float32[64]
%6 = multiply(%5, %2) : float32[64]
output "y" = %6
output "cos" = %4
)") == "exp square cos tanh multiply");
  CHECK(order("%0 = input(\"x\") : float32[2]\n%1 = exp(%0) : float32[2]\n%2 = input(\"z\") : float32[2]\n"
              "%3 = tanh(%2) : float32[2]\noutput \"y\" = %1\noutput \"z\" = %3\n") == "exp tanh");
}

TEST_CASE("exchanges stay where they are, in their order") {
  CHECK(order(R"(
%0 = input("x") : float32[64]
%1 = input("z") : float32[64]
%2 = all_reduce(%0) {axis: data} : float32[64]
%3 = all_reduce(%1) {axis: data} : float32[64]
%4 = tanh(%3) : float32[64]
%5 = multiply(%4, %2) : float32[64]
output "y" = %5
)",
              true, 0) == "all_reduce all_reduce tanh multiply");
}

}  // namespace
}  // namespace strata::test
