// SPDX-License-Identifier: Apache-2.0
// From nodes to launches: what is none, what each kernel is given, and what happens when none is there.
#include <doctest/doctest.h>

#include "graph/fused.h"
#include "support/message.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

// The plan with no other pass than lower: every array has bytes of its own.
Plan lowered(std::string_view graph, PaperBackend::Answer answer = {}) {
  CompileOptions options;
  options.skip = {"partition", "commit", "simplify", "fuse", "schedule", "memory"};
  return planned(graph, std::move(answer), options);
}
std::string launches(std::string_view graph, PaperBackend::Answer answer = {}) {
  return launches_of(lowered(graph, std::move(answer)));
}
bool is(const Problem& problem, std::string_view op) { return problem.node.op->name == op; }

TEST_CASE("each node is a launch that reads slots and makes slots; what nobody reads of a kernel has none") {
  CHECK(launches(R"(
%0 = input("x") : float32[4, 2]
%1 = state("gamma") : float32[2]
%2 = batch_norm(%0, %1, _) {epsilon: 0.5} : float32[4, 2], float32[2], float32[2] @norm
%3 = tanh(%2.0) : float32[4, 2]
output "y" = %3
output "mean" = %2.1
)") == R"(
  0  norm: batch_norm [any] (<x> float32[4, 2], gamma float32[2], _) -> @0 float32[4, 2], @64 float32[2], _
  1  tanh [any] (@0 float32[4, 2]) -> @128 float32[4, 2]
)");
  // Kernels may count on their first output.
  CHECK(launches(R"(
%0 = input("x") : float32[4, 2]
%1 = batch_norm(%0, _, _) {epsilon: 0.5} : float32[4, 2], float32[2], float32[2]
output "variance" = %1.2
)") == R"(
  0  batch_norm [any] (<x> float32[4, 2], _, _) -> @0 float32[4, 2], _, @64 float32[2]
)");
}

TEST_CASE("what only gives an array another type is no launch") {
  CHECK(launches(R"(
%0 = input("x") : float32[2, 3]
%1 = tanh(%0) : float32[2, 3]
%2 = reshape(%1) {shape: [6]} : float32[6]
%3 = stop_gradient(%2) : float32[6]
%4 = exp(%3) : float32[6]
output "y" = %4
output "flat" = %3
)") == R"(
  0  tanh [any] (<x> float32[2, 3]) -> @0 float32[2, 3]
  1  exp [any] (@0 float32[2, 3]) -> @64 float32[6]
)");
}

TEST_CASE("constants are held with their contents; a large uniform one is filled when it is needed") {
  const Plan plan = lowered(R"(
%0 = input("x") : float32[3]
%1 = literal() {values: [1, 2, 3], shape: [3]} : float32[3]
%2 = add(%0, %1) : float32[3]
%3 = full() {value: 2, shape: [1024, 1024]} : float32[1024, 1024]
%4 = reduce_sum(%3) {axes: [0]} : float32[1024]
%5 = full() {value: 0.5} : float32[]
output "y" = %2
output "z" = %4
)");
  CHECK(launches_of(plan) == R"(
  0  add [any] (<x> float32[3], constant float32[3]) -> @4198400 float32[3]
  1  full [any] () -> @0 float32[1024, 1024]
  2  reduce_sum [any] (@0 float32[1024, 1024]) -> @4194304 float32[1024]
)");
  REQUIRE(plan.constants.size() == 1);
  CHECK(plan.constants[0].second.to_doubles() == std::vector<double>{1, 2, 3});
  CHECK(lowered(R"(
%0 = full() {value: 2, shape: [1024, 1025]} : float32[1024, 1025]
%1 = reduce_sum(%0) {axes: [0]} : float32[1025]
output "z" = %1
)")
            .constants.empty());
}

TEST_CASE("a packed copy is made once for all that want its format; of what lasts, only when that has changed") {
  const auto packing = [](const Problem& problem) {
    Choice choice = taken(problem);
    if (is(problem, "matmul")) {
      const std::string format = problem.outputs[0].shape[0] == 4 ? "wide" : "narrow";
      choice.packs.push_back({1, 256, format, choice.kernel});
    }
    return choice;
  };
  CHECK(launches(R"(
%0 = input("x") : float32[4, 3]
%1 = input("z") : float32[5, 3]
%2 = state("w") : float32[3, 2]
%3 = matmul(%0, %2) : float32[4, 2] @a
%4 = matmul(%0, %2) {} : float32[4, 2] @b
%5 = matmul(%1, %2) : float32[5, 2] @c
%6 = tanh(%2) : float32[3, 2]
%7 = matmul(%0, %6) : float32[4, 2] @d
output "a" = %3
output "b" = %4
output "c" = %5
output "d" = %7
)",
                 packing) == R"(
  0  a: pack [wide] (w float32[3, 2]) -> packed w opaque[3, 2]  when changed
  1  a: matmul [any] (<x> float32[4, 3], packed w opaque[3, 2]) -> @256 float32[4, 2]
  2  b: matmul [any] (<x> float32[4, 3], packed w opaque[3, 2]) -> @320 float32[4, 2]
  3  c: pack [narrow] (w float32[3, 2]) -> packed w opaque[3, 2]  when changed
  4  c: matmul [any] (<z> float32[5, 3], packed w opaque[3, 2]) -> @384 float32[5, 2]
  5  tanh [any] (w float32[3, 2]) -> @448 float32[3, 2]
  6  d: pack [wide] (@448 float32[3, 2]) -> @0 opaque[3, 2]
  7  d: matmul [any] (<x> float32[4, 3], @0 opaque[3, 2]) -> @512 float32[4, 2]
)");
}

TEST_CASE("an output that a run does not leave alone is copied: a feed, a state that changes") {
  CHECK(launches(R"(
%0 = input("x") : float32[2]
%1 = state("changes") : float32[2]
%2 = state("stays") : float32[2]
%3 = tanh(%1) : float32[2]
next %1 = %3
output "feed" = %0
output "before" = %1
output "stays" = %2
output "after" = %3
)") == R"(
  0  tanh [any] (changes float32[2]) -> @0 float32[2]
  1  copy [copy] (<x> float32[2]) -> @64 float32[2]
  2  copy [copy] (changes float32[2]) -> @128 float32[2]
  commit changes <- @0 float32[2]
)");
}

TEST_CASE("states that hold each other's value next are set aside first") {
  CHECK(launches(R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
next %0 = %1
next %1 = %0
)") == R"(
  0  copy [copy] (b float32[2]) -> @0 float32[2]
  1  copy [copy] (a float32[2]) -> @64 float32[2]
  commit a <- @0 float32[2]
  commit b <- @64 float32[2]
)");
}

// max_pool2d keeps where the largest elements stood in an opaque array; its gradient reads that.
const std::string_view pooled = R"(
%0 = input("x") : float32[1, 4, 4, 2]
%1 = max_pool2d(%0) {} : float32[1, 2, 2, 2], opaque[1, 2, 2, 2] @pool
%2 = max_pool2d_gradient(%1.0, %1.1) {shape: [1, 4, 4, 2]} : float32[1, 4, 4, 2] @pool
output "dx" = %2
)";

// Three kernels for the pooling, best first, each with a format of its own; the gradient reads one of them.
PaperBackend::Answer reading(const std::string& format) {
  return [format](const Problem& problem) {
    const std::vector<std::pair<std::string, std::string>> kernels{
        {"fast", "bytes"}, {"plain", "integers"}, {"reference", "doubles"}};
    if (is(problem, "max_pool2d")) {
      const auto candidate = static_cast<std::size_t>(problem.candidate);
      return candidate < kernels.size() ? taken(problem, kernels[candidate].first, kernels[candidate].second)
                                        : refuse("there are no more");
    }
    if (is(problem, "max_pool2d_gradient") && problem.formats[1] != format) return refuse("another format");
    return taken(problem);
  };
}

TEST_CASE("an op and its gradient are chosen together: the first kernel whose format the gradient reads") {
  CHECK(launches(pooled, reading("bytes")) == R"(
  0  pool: max_pool2d [fast] (<x> float32[1, 4, 4, 2]) -> @128 float32[1, 2, 2, 2], @192 opaque[1, 2, 2, 2]
  1  pool: max_pool2d_gradient [any] (@128 float32[1, 2, 2, 2], @192 opaque[1, 2, 2, 2]) -> @0 float32[1, 4, 4, 2]
)");
  const Plan plan = lowered(pooled, reading("doubles"));
  CHECK(launches_of(plan) == R"(
  0  pool: max_pool2d [reference] (<x> float32[1, 4, 4, 2]) -> @128 float32[1, 2, 2, 2], @192 opaque[1, 2, 2, 2]
  1  pool: max_pool2d_gradient [any] (@128 float32[1, 2, 2, 2], @192 opaque[1, 2, 2, 2]) -> @0 float32[1, 4, 4, 2]
)");
  CHECK(plan.launches[0].refusals == std::vector<std::string>{"fast: max_pool2d_gradient cannot read its bytes",
                                                              "plain: max_pool2d_gradient cannot read its integers"});
  const int kept = plan.launches[0].outputs[1];
  CHECK(plan.slots[static_cast<std::size_t>(kept)].format == "doubles");
  CHECK(plan.slots[static_cast<std::size_t>(kept)].bytes == 64);
}

TEST_CASE("where no format is common the error says what the gradient could not read") {
  CHECK(message_of([] { (void)lowered(pooled, reading("letters")); }) ==
        "pool: max_pool2d: paper:0 has no kernel for (float32[1, 4, 4, 2])\n"
        "    fast: max_pool2d_gradient cannot read its bytes\n"
        "    plain: max_pool2d_gradient cannot read its integers\n"
        "    reference: max_pool2d_gradient cannot read its doubles\n"
        "    there are no more\n"
        "  use another device, or another dtype for this layer");
}

TEST_CASE("an op that no kernel takes is written out in simpler ones, and so on until kernels are there") {
  const auto no_norm = [](const Problem& problem) {
    return is(problem, "layer_norm") || is(problem, "reduce_mean") ? refuse("none for this") : taken(problem);
  };
  CHECK(launches(R"(
%0 = input("x") : float32[4, 2]
%1 = layer_norm(%0, _, _) {epsilon: 0.5} : float32[4, 2], float32[4], float32[4] @head
output "y" = %1.0
)",
                 no_norm) == R"(
  0  head: reduce_sum [any] (<x> float32[4, 2]) -> @0 float32[4, 1]
  1  head: multiply [any] (@0 float32[4, 1], constant float32[]) -> @64 float32[4, 1]
  2  head: subtract [any] (<x> float32[4, 2], @64 float32[4, 1]) -> @128 float32[4, 2]
  3  head: square [any] (@128 float32[4, 2]) -> @192 float32[4, 2]
  4  head: reduce_sum [any] (@192 float32[4, 2]) -> @256 float32[4, 1]
  5  head: multiply [any] (@256 float32[4, 1], constant float32[]) -> @320 float32[4, 1]
  6  head: add [any] (@320 float32[4, 1], constant float32[]) -> @384 float32[4, 1]
  7  head: rsqrt [any] (@384 float32[4, 1]) -> @448 float32[4, 1]
  8  head: subtract [any] (<x> float32[4, 2], @64 float32[4, 1]) -> @512 float32[4, 2]
  9  head: multiply [any] (@512 float32[4, 2], @448 float32[4, 1]) -> @576 float32[4, 2]
)");
}

TEST_CASE("a group that no kernel takes is taken apart") {
  const auto single = [](const Problem& problem) {
    return problem.node.bodies.empty() ? taken(problem) : refuse("one op at a time");
  };
  CHECK(launches(R"(
%0 = input("x") : float32[4]
%1 = fused(%0) {pattern: elementwise, members: 1, shared: 0} : float32[4] @a
  {
    %0 = input("x0") : float32[4]
    %1 = exp(%0) : float32[4]
    %2 = tanh(%1) : float32[4]
    output "y0" = %2
  }
output "y" = %1
)",
                 single) == R"(
  0  a: exp [any] (<x> float32[4]) -> @0 float32[4]
  1  a: tanh [any] (@0 float32[4]) -> @64 float32[4]
)");
}

TEST_CASE("what cannot run is an error that names the layer, the types and every kernel's reason") {
  const auto none = [](const Problem& problem) {
    if (!is(problem, "sort_descending")) return taken(problem);
    Choice choice = refuse("fast: only up to 8 elements");
    choice.refusals.push_back("reference: the host cannot reach this device's memory");
    return choice;
  };
  CHECK(message_of([&] {
          (void)lowered(R"(
%0 = input("x") : float32[4, 9]
%1 = sort_descending(%0) : float32[4, 9], int32[4, 9] @top
output "y" = %1.0
)",
                        none);
        }) ==
        "top: sort_descending: paper:0 has no kernel for (float32[4, 9])\n"
        "    fast: only up to 8 elements\n"
        "    reference: the host cannot reach this device's memory\n"
        "  use another device, or another dtype for this layer");
}

TEST_CASE("a kernel that was taken keeps what better ones said against it") {
  const auto second = [](const Problem& problem) {
    Choice choice = taken(problem, "plain loops");
    choice.refusals = {"winograd: only 3x3", "direct: channels are no multiple of 8"};
    return choice;
  };
  const Plan plan = lowered("%0 = input(\"x\") : float32[4]\n%1 = tanh(%0) : float32[4]\noutput \"y\" = %1\n", second);
  REQUIRE(plan.launches.size() == 1);
  CHECK(plan.launches[0].kernel_name == "plain loops");
  CHECK(plan.launches[0].refusals ==
        std::vector<std::string>{"winograd: only 3x3", "direct: channels are no multiple of 8"});
}

TEST_CASE("a launch counts the floating-point operations of its op's definition") {
  const Plan plan = lowered(R"(
%0 = input("x") : float32[4, 3]
%1 = state("w") : float32[3, 5]
%2 = matmul(%0, %1) : float32[4, 5]
%3 = tanh(%2) : float32[4, 5]
%4 = reduce_sum(%3) {axes: [0]} : float32[5]
%5 = input("image") : float32[2, 8, 8, 3]
%6 = state("k") : float32[3, 3, 3, 4]
%7 = conv2d(%5, %6) : float32[2, 6, 6, 4]
output "y" = %4
output "z" = %7
)");
  std::vector<double> flops;
  for (const PlannedLaunch& launch : plan.launches) flops.push_back(launch.flops);
  CHECK(flops == std::vector<double>{2 * 4 * 3 * 5, 20, 20, 2. * 2 * 6 * 6 * 4 * 3 * 3 * 3});
}

}  // namespace
}  // namespace strata::test
