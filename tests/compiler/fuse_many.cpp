// SPDX-License-Identifier: Apache-2.0
// Equal updates of many weights as one launch.
#include <doctest/doctest.h>

#include "graph/fused.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

// Weights of these types, each with its gradient times a shared rate taken off it: w - g * rate, tanh'ed.
std::string updates(const std::vector<std::string>& types, const std::string& last_op = "tanh") {
  std::string text = "%0 = state(\"rate\") : float32[]\n", ends;
  int node = 1;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string& type = types[i];
    text += cat("%", node, " = state(\"w", i, "\") : ", type, "\n%", node + 1, " = input(\"g", i, "\") : ", type, "\n");
    text += cat("%", node + 2, " = multiply(%", node + 1, ", %0) : ", type, "\n");
    text += cat("%", node + 3, " = subtract(%", node, ", %", node + 2, ") : ", type, "\n");
    text += cat("%", node + 4, " = ", i + 1 == types.size() ? last_op : "tanh", "(%", node + 3, ") : ", type, "\n");
    ends += cat("next %", node, " = %", node + 4, "\n");
    node += 5;
  }
  return text + ends;
}
// The groups' patterns with their members, and what is no group.
std::string launches(std::string_view text, PaperBackend::Answer answer = {}) {
  PaperBackend backend = answer ? PaperBackend(std::move(answer)) : PaperBackend();
  const Graph graph = run_pass("fuse", parse_graph(text), backend, backend.devices()[0]);
  std::string all;
  for (int node = 0; node < graph.size(); ++node) {
    if (graph[node].inputs.empty()) continue;
    if (!all.empty()) all += ", ";
    if (graph[node].op == &fused_op) {
      const auto& fused = graph[node].attributes.as<Fused>();
      all += fused.members > 1 ? cat(fused.members, " of ", fused.pattern) : fused.pattern;
    } else {
      all += graph[node].op->name;
    }
  }
  return all;
}

TEST_CASE("updates by equal programs become one launch, whatever the weights' shapes; what all share stands first") {
  CHECK(after("fuse", updates({"float32[2, 3]", "float32[3]"})) == R"(
%0 = state("rate") : float32[]
%1 = state("w0") : float32[2, 3]
%2 = input("g0") : float32[2, 3]
%3 = state("w1") : float32[3]
%4 = input("g1") : float32[3]
%5 = fused(%0, %2, %1, %4, %3) {pattern: elementwise_many, members: 2, shared: 1} : float32[2, 3], float32[3]
  {
    %0 = input("x0") : float32[]
    %1 = input("x1") : float32[2, 3]
    %2 = multiply(%1, %0) : float32[2, 3]
    %3 = input("x2") : float32[2, 3]
    %4 = subtract(%3, %2) : float32[2, 3]
    %5 = tanh(%4) : float32[2, 3]
    output "y0" = %5
  }
next %1 = %5.0
next %3 = %5.1
)");
  CHECK(launches(updates({"float32[2, 3]", "float32[3]", "float32[5, 2]", "float32[]"})) ==
        "3 of elementwise_many, elementwise");
}

TEST_CASE("programs that differ in an op stay apart") {
  CHECK(launches(updates({"float32[2]", "float32[3]", "float32[4]"}, "sin")) == "2 of elementwise_many, elementwise");
}

TEST_CASE("programs that differ in a constant stay apart") {
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[3]
%2 = full() {value: 0.9} : float32[]
%3 = full() {value: 0.8} : float32[]
%4 = multiply(%0, %2) : float32[2]
%5 = tanh(%4) : float32[2]
%6 = multiply(%1, %3) : float32[3]
%7 = tanh(%6) : float32[3]
next %0 = %5
next %1 = %7
)") == "elementwise, elementwise");
}

TEST_CASE("programs that differ in a dtype stay apart") {
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float64[3]
%2 = tanh(%0) : float32[2]
%3 = square(%2) : float32[2]
%4 = tanh(%1) : float64[3]
%5 = square(%4) : float64[3]
next %0 = %3
next %1 = %5
)") == "elementwise, elementwise");
}

TEST_CASE("an update that reads what another one makes cannot run beside it") {
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
%2 = softmax(%0) : float32[2]
%3 = tanh(%2) : float32[2]
%4 = softmax(%3) : float32[2]
%5 = tanh(%4) : float32[2]
next %0 = %3
next %1 = %5
)") == "softmax, tanh, softmax, tanh");
}

TEST_CASE("nor one that reads it straight, where the backend takes no chains") {
  const auto no_chains = [](const Problem& problem) {
    const bool chain = !problem.node.bodies.empty() && problem.node.attributes.as<Fused>().members == 1;
    return chain ? refuse("one op at a time") : taken(problem);
  };
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
%2 = state("c") : float32[3]
%3 = input("x") : float32[2]
%4 = input("y") : float32[3]
%5 = tanh(%3) : float32[2]
%6 = tanh(%5) : float32[2]
%7 = tanh(%4) : float32[3]
next %0 = %5
next %1 = %6
next %2 = %7
)",
                 no_chains) == "2 of elementwise_many, tanh");
}

TEST_CASE("a program that broadcasts along some axes is no flat one, and what states do not hold next is not merged") {
  CHECK(launches(R"(
%0 = state("a") : float32[2, 3]
%1 = state("b") : float32[4, 3]
%2 = input("bias") : float32[3]
%3 = add(%0, %2) : float32[2, 3]
%4 = tanh(%3) : float32[2, 3]
%5 = add(%1, %2) : float32[4, 3]
%6 = tanh(%5) : float32[4, 3]
next %0 = %4
next %1 = %6
)") == "elementwise, elementwise");
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[3]
%2 = square(%0) : float32[2]
%3 = tanh(%2) : float32[2]
%4 = square(%1) : float32[3]
%5 = tanh(%4) : float32[3]
output "a" = %3
output "b" = %5
)") == "elementwise, elementwise");
}

TEST_CASE("a backend that takes some at a time gets them in halves") {
  const auto two_at_most = [](const Problem& problem) {
    const bool many = !problem.node.bodies.empty() && problem.node.attributes.as<Fused>().members > 2;
    return many ? refuse("two at most") : taken(problem);
  };
  CHECK(launches(updates({"float32[2]", "float32[3]", "float32[4]", "float32[5]", "float32[6]"}), two_at_most) ==
        "2 of elementwise_many, elementwise, 2 of elementwise_many");
}

}  // namespace
}  // namespace strata::test
