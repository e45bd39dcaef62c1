// SPDX-License-Identifier: Apache-2.0
// A convolution on denormal numbers takes no longer than on others; without flushing it takes a hundred times as long.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "compiler/compile.h"
#include "runtime/executor.h"
#include "strata/ops.h"
#include "support/arrays.h"

namespace strata::test {
namespace {

double best_seconds(double of_input) {
  const Type type{{8, 32, 32, 16}, DType::float32};
  Graph graph;
  const Value x = graph.input("x", type), kernel = graph.input("kernel", {{3, 3, 16, 16}, DType::float32});
  graph.output("y", conv2d(x, kernel, {}));
  Backend& cpu = backend("cpu");
  Store store;
  store.place(cpu, cpu.devices());
  const Plan plan = compile_graph(graph, cpu, cpu.devices()[0]);
  Executor executor(cpu, cpu.devices(), store);
  executor.prepare(plan);
  std::map<std::string, Tensor> feeds;
  feeds["x"] = Tensor::from_doubles(type, std::vector<double>(static_cast<std::size_t>(type.size()), of_input));
  feeds["kernel"] = Tensor::from_doubles({{3, 3, 16, 16}, DType::float32}, uniform({3, 3, 16, 16}, 2).data);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(executor.run(plan, {&feeds, 1}).status == Status::ok);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

TEST_CASE("a convolution on denormal numbers is as fast as on others") {
  const double normal = best_seconds(0.5), denormal = best_seconds(1e-39);
  MESSAGE("normal ", normal * 1e6, " us, denormal ", denormal * 1e6, " us");
  CHECK(denormal < 3 * normal);
}

}  // namespace
}  // namespace strata::test
