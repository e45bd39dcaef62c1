// SPDX-License-Identifier: Apache-2.0
// What a matmul or convolution takes along, and what it leaves.
#include <doctest/doctest.h>

#include "graph/fused.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

// Groups that begin with a matmul or convolution, as "op+op+op"; elementwise groups are not looked at here.
std::string anchored(std::string_view graph, PaperBackend::Answer answer = {}) {
  PaperBackend backend = answer ? PaperBackend(std::move(answer)) : PaperBackend();
  const Graph fused = run_pass("fuse", parse_graph(graph), backend, backend.devices()[0]);
  std::string found;
  for (int node = 0; node < fused.size(); ++node) {
    if (fused[node].op != &fused_op) continue;
    const std::string& pattern = fused[node].attributes.as<Fused>().pattern;
    if (pattern != "matmul" && pattern != "conv2d") continue;
    const Graph& body = *fused[node].bodies[0];
    std::string ops;
    for (int n = 0; n < body.size(); ++n) {
      if (!body[n].inputs.empty()) ops += cat(ops.empty() ? "" : "+", body[n].op->name);
    }
    found += cat(found.empty() ? "" : ", ", ops);
  }
  return found.empty() ? "nothing" : found;
}

// x [4, 3] times w [3, 2]: %0 to %3, with a bias %2.
std::string product(const std::string& rest) {
  return R"(
%0 = input("x") : float32[4, 3]
%1 = state("w") : float32[3, 2]
%2 = state("b") : float32[2]
%3 = matmul(%0, %1) : float32[4, 2] @dense
)" + rest;
}

TEST_CASE("bias and activation become part of the product; the bias stands second, whichever way it was added") {
  CHECK(after("fuse", product(R"(
%4 = add(%2, %3) : float32[4, 2] @dense
%5 = relu(%4) : float32[4, 2] @dense
output "y" = %5
)")) == R"(
%0 = input("x") : float32[4, 3]
%1 = state("w") : float32[3, 2]
%2 = state("b") : float32[2]
%3 = fused(%0, %1, %2) {pattern: matmul, members: 1, shared: 0} : float32[4, 2] @dense
  {
    %0 = input("x0") : float32[4, 3]
    %1 = input("x1") : float32[3, 2]
    %2 = matmul(%0, %1) {transpose_a: false, transpose_b: false} : float32[4, 2]
    %3 = input("x2") : float32[2]
    %4 = add(%2, %3) : float32[4, 2]
    %5 = relu(%4) : float32[4, 2]
    output "y0" = %5
  }
output "y" = %3
)");
}

TEST_CASE("a convolution likewise, and either of the two alone") {
  CHECK(anchored(R"(
%0 = input("x") : float32[1, 8, 8, 3]
%1 = state("k") : float32[3, 3, 3, 5]
%2 = state("b") : float32[5]
%3 = conv2d(%0, %1) : float32[1, 6, 6, 5]
%4 = add(%3, %2) : float32[1, 6, 6, 5]
%5 = sigmoid(%4) : float32[1, 6, 6, 5]
output "y" = %5
)") == "conv2d+add+sigmoid");
  CHECK(anchored(product("%4 = add(%3, %2) : float32[4, 2]\noutput \"y\" = %4\n")) == "matmul+add");
  CHECK(anchored(product("%4 = tanh(%3) : float32[4, 2]\noutput \"y\" = %4\n")) == "matmul+tanh");
}

TEST_CASE("one activation is taken, what follows it is not") {
  CHECK(anchored(product("%4 = tanh(%3) : float32[4, 2]\n%5 = exp(%4) : float32[4, 2]\noutput \"y\" = %5\n")) ==
        "matmul+tanh");
}

TEST_CASE("what others read between the steps is not swallowed") {
  const std::string bias = "%4 = add(%3, %2) : float32[4, 2]\n", activation = "%5 = relu(%4) : float32[4, 2]\n";
  CHECK(anchored(product(bias + activation + "output \"y\" = %5\noutput \"product\" = %3\n")) == "nothing");
  CHECK(anchored(product(bias + activation + "output \"y\" = %5\noutput \"sum\" = %4\n")) == "matmul+add");
  CHECK(anchored(product(bias + activation +
                         "%6 = softmax(%4) : float32[4, 2]\noutput \"y\" = %5\noutput \"z\" = %6\n")) == "matmul+add");
}

TEST_CASE("what is not a bias over the last axis, and what is not one input's activation, is left") {
  CHECK(
      anchored(product("%4 = input(\"row\") : float32[4, 2]\n%5 = add(%3, %4) : float32[4, 2]\noutput \"y\" = %5\n")) ==
      "nothing");
  CHECK(anchored(product(
            "%4 = full() {value: 2} : float32[]\n%5 = add(%3, %4) : float32[4, 2]\noutput \"y\" = %5\n")) == "nothing");
  CHECK(anchored(product("%4 = input(\"column\") : float32[4, 1]\n%5 = add(%3, %4) : float32[4, 2]\noutput \"y\" = "
                         "%5\n")) == "nothing");
  CHECK(anchored(product("%4 = subtract(%3, %2) : float32[4, 2]\noutput \"y\" = %4\n")) == "nothing");
  CHECK(anchored(product("%4 = multiply(%3, %3) : float32[4, 2]\noutput \"y\" = %4\n")) == "nothing");
  CHECK(anchored(product("%4 = cast(%3) {dtype: bfloat16} : bfloat16[4, 2]\noutput \"y\" = %4\n")) == "nothing");
  CHECK(anchored(product("%4 = softmax(%3) : float32[4, 2]\noutput \"y\" = %4\n")) == "nothing");
}

TEST_CASE("a backend may take less than is offered: without the activation, or nothing") {
  const std::string graph =
      product("%4 = add(%3, %2) : float32[4, 2]\n%5 = erf(%4) : float32[4, 2]\noutput \"y\" = %5\n");
  const auto takes = [](int most) {
    return [most](const Problem& problem) {
      if (problem.node.bodies.empty() || problem.node.attributes.as<Fused>().pattern != "matmul") return taken(problem);
      int ops = 0;
      const Graph& body = *problem.node.bodies[0];
      for (int n = 0; n < body.size(); ++n) ops += !body[n].inputs.empty();
      return ops <= most ? taken(problem) : refuse("too much");
    };
  };
  CHECK(anchored(graph, takes(3)) == "matmul+add+erf");
  CHECK(anchored(graph, takes(2)) == "matmul+add");
  CHECK(anchored(graph, takes(1)) == "nothing");
}

TEST_CASE("a group that would run by its reference stays as nodes with kernels of their own") {
  const auto by_reference = [](const Problem& problem) {
    Choice choice = taken(problem);
    choice.reference = !problem.node.bodies.empty();
    return choice;
  };
  CHECK(anchored(product("%4 = add(%3, %2) : float32[4, 2]\noutput \"y\" = %4\n"), by_reference) == "nothing");
}

}  // namespace
}  // namespace strata::test
