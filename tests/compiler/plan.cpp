// SPDX-License-Identifier: Apache-2.0
// A plan as text, its signature, and the table of passes.
#include "compiler/plan.h"

#include <doctest/doctest.h>

#include <regex>

#include "support/message.h"
#include "support/paper_backend.h"

namespace strata::test {
namespace {

const std::string_view step = R"(
%0 = input("x") : float32[64, 3] @dense
%1 = state("dense/kernel") : float32[3, 2]
%2 = matmul(%0, %1) : float32[64, 2] @dense
%3 = tanh(%2) : float32[64, 2] @dense
%4 = reduce_sum(%3) {axes: [0, 1]} : float32[]
%5 = matmul(%0, %3) {transpose_a: true} : float32[3, 2] @dense
%6 = subtract(%1, %5) : float32[3, 2] @optimizer
%7 = is_finite(%4) : bool[]
next %1 = %6
output "loss" = %4
guard %7
)";

PaperBackend::Answer step_kernels() {
  return [](const Problem& problem) {
    if (!problem.node.bodies.empty()) return refuse("one op at a time");
    Choice choice = taken(problem, cat("best ", problem.node.op->name));
    if (problem.node.op->name == "matmul" && problem.outputs[0].shape[0] == 64) {
      choice.packs.push_back({1, 256, "blocked", choice.kernel});
    }
    if (problem.node.op->name == "matmul") choice.workspace_bytes = 4096;
    if (problem.node.op->name == "tanh") choice.in_place = {{0, 0}};
    choice.reference = problem.node.op->name == "is_finite";
    return choice;
  };
}

// Times are not the same twice; digests are only the same for equal kernels.
std::string steady(std::string text) {
  text = std::regex_replace(text, std::regex("compiled in [^\n]*"), "compiled in 1 ms");
  return std::regex_replace(text, std::regex("/[0-9a-f]{16}"), "/digest");
}

TEST_CASE(
    "a plan's text names every launch's layer, op, kernel, arrays and workspace, then what is copied, then totals") {
  CompileOptions options;
  options.name = "train 64";
  CHECK("\n" + steady(planned(step, step_kernels(), options).text()) == R"(
plan train 64 on paper (none, 1 thread): 8 launches, arena 4.6 KiB (least 4.6 KiB), compiled in 1 ms
  0  dense: pack [blocked] (dense/kernel float32[3, 2]) -> packed dense/kernel opaque[3, 2]  when changed
  1  dense: matmul [best matmul] (<x> float32[64, 3], packed dense/kernel opaque[3, 2]) -> @4096 float32[64, 2]  workspace 4.0 KiB
  2  dense: tanh [best tanh] (@4096 float32[64, 2]) -> @4096 float32[64, 2]
  3  reduce_sum [best reduce_sum] (@4096 float32[64, 2]) -> @4608 float32[]
  4  dense: matmul [best matmul] (<x> float32[64, 3], @4096 float32[64, 2]) -> @4672 float32[3, 2]  workspace 4.0 KiB
  5  optimizer: subtract [best subtract] (dense/kernel float32[3, 2], @4672 float32[3, 2]) -> @0 float32[3, 2]
  6  is_finite [best is_finite, slow reference] (@4608 float32[]) -> @64 bool[]
  7  optimizer: select [best select] (@64 bool[], @0 float32[3, 2], dense/kernel float32[3, 2]) -> @128 float32[3, 2]
  commit dense/kernel <- @128 float32[3, 2]
  0.001805 MFLOP, signature paper/none/1/digest
)");
}

TEST_CASE("equal kernels give equal signatures; another kernel, instruction set or thread count gives another") {
  const Plan plan = planned(step, step_kernels());
  CHECK(plan.signature() == planned(step, step_kernels()).signature());
  CHECK(plan.signature().starts_with("paper/none/1/"));
  Plan other = plan;
  other.launches[1].kernel_name = "second best";
  CHECK(other.signature() != plan.signature());
  other = plan;
  other.device.isa = "all";
  CHECK(other.signature() != plan.signature());
  other = plan;
  other.device.threads = 2;
  CHECK(other.signature() != plan.signature());
}

TEST_CASE("passes are named in order, timed, and can be dumped one by one") {
  CHECK(pass_names() ==
        std::vector<std::string>{"partition", "commit", "simplify", "fuse", "lower", "schedule", "memory"});
  const Plan plan = planned(step);
  std::vector<std::string> timed;
  for (const auto& [name, seconds] : plan.pass_seconds) {
    timed.push_back(name);
    CHECK(seconds >= 0);
    CHECK(seconds <= plan.compile_seconds);
  }
  CHECK(timed == pass_names());
  for (const std::string& pass : pass_names()) {
    CompileOptions options;
    options.dump_after = pass;
    std::vector<std::string> dumped;
    options.dump = [&](const std::string& name, const std::string& text) {
      dumped.push_back(name);
      const bool graph = pass == "partition" || pass == "commit" || pass == "simplify" || pass == "fuse";
      CHECK(text.starts_with(graph ? "%0 = " : "plan plan on paper"));
      if (graph) verify(parse_graph(text));
    };
    (void)planned(step, {}, options);
    CHECK(dumped == std::vector<std::string>{pass});
  }
}

TEST_CASE("a pass may be left out, but for the one that makes launches; an unknown name is refused with the nearest") {
  for (const std::string& pass : pass_names()) {
    if (pass == "lower") continue;
    CompileOptions options;
    options.skip = {pass};
    CHECK(planned(step, {}, options).launches.size() > 1);
  }
  const auto skipping = [](const std::string& pass) {
    return message_of([&] {
      CompileOptions options;
      options.skip = {pass};
      (void)planned(step, {}, options);
    });
  };
  CHECK(skipping("fuze") ==
        "there is no pass 'fuze' to skip; did you mean 'fuse'?; passes are partition, commit, simplify, fuse, lower, "
        "schedule and memory");
  CHECK(skipping("lower") == "pass 'lower' cannot be skipped: it makes the launches");
  CHECK(message_of([] { (void)after("shedule", step); }).starts_with("there is no pass 'shedule' over graphs"));
}

}  // namespace
}  // namespace strata::test
