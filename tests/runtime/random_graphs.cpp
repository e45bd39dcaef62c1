// SPDX-License-Identifier: Apache-2.0
// Random graphs of ops' examples, compiled and run, against the oracle: with all passes, and with each left out.
#include <doctest/doctest.h>

#include "support/graph_run.h"
#include "support/toy_backend.h"

namespace strata::test {
namespace {

// Why two steps of the compiled graph are not the oracle's, or "".
std::string unlike_oracle(std::uint64_t seed, const std::string& skipped, Backend& on = backend("cpu")) {
  Arrays values;
  const Graph graph = random_graph(seed, values);
  verify(graph);
  CompileOptions options;
  options.verify = true;
  if (!skipped.empty()) options.skip.insert(skipped);
  CompiledGraph compiled(graph, on, values, options);
  for (int step = 0; step < 2; ++step) {
    const Step expected = oracle_step(graph, values), found = compiled.step(values);
    const auto [by, what] = difference(expected, found);
    if (by > 1e-9) {
      return cat("seed ", seed, ", step ", step, ", without '", skipped, "': ", what, " by ", by, "\n", to_text(graph),
                 compiled.plan().text());
    }
    for (const auto& [path, array] : expected.states) values[path] = array;
  }
  return "";
}

TEST_CASE("random graphs equal the oracle") {
  int states = 0, guards = 0, nodes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Arrays values;
    const Graph graph = random_graph(seed, values);
    states += !graph.nexts().empty();
    guards += static_cast<bool>(graph.ok());
    nodes += graph.size();
    CHECK_MESSAGE(unlike_oracle(seed, "") == "", seed);
  }
  CHECK(states > 50);  // the generator makes what this is about
  CHECK(guards > 50);
  CHECK(nodes > 200 * 15);
}

TEST_CASE("random graphs equal the oracle without each pass") {
  for (const std::string& pass : pass_names()) {
    if (pass == "lower") continue;
    for (std::uint64_t seed = 1000; seed < 1030; ++seed) CHECK_MESSAGE(unlike_oracle(seed, pass) == "", seed);
  }
}

TEST_CASE("random graphs equal the oracle on the toy backend") {
  const long before = toy_kernels_run();
  for (std::uint64_t seed = 2000; seed <= 2100; ++seed)
    CHECK_MESSAGE(unlike_oracle(seed, "", toy_backend()) == "", seed);
  CHECK(toy_kernels_run() - before > 100);
}

}  // namespace
}  // namespace strata::test
