// SPDX-License-Identifier: Apache-2.0
// Numbers next to zero are zero while a plan runs, and the caller's own arithmetic is as it was afterwards.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <immintrin.h>

#include "strata/ops.h"
#include "support/graph_run.h"

namespace strata::test {
namespace {

constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

// 1e-39, which is no normal float, many times: enough that a team of threads shares the work.
Step run_on_denormals(CompiledGraph& compiled, const Shape& shape) {
  Array x(shape);
  for (double& value : x.data) value = 1e-39;
  return compiled.step({{"x", x}});
}

// A team of threads that a program has made before it asks anything of strata; threads have the flags of their maker.
void make_team() {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  if (const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"))) {
    parallel([](void*) {}, nullptr, 0, 0);
  }
}

TEST_CASE("denormal numbers are flushed on every thread of a run, and the caller's flags stay as they are") {
  make_team();
  const Shape shape{64, 4096};
  Graph graph;
  const Value x = graph.input("x", {shape, DType::float32});
  graph.output("product", x * 1e30);                         // in an elementwise program
  graph.output("sum", reduce_sum(x, {0}) * 1e30);            // in a reduction
  graph.output("matmul", matmul(x, x, false, true) * 1e38);  // in oneDNN: 1e-39 squared is zero either way
  graph.output("made", sum((x + 3e-38) - 1.5e-38));          // normal numbers are left alone
  CompiledGraph compiled(graph, backend("cpu"), {});
  const unsigned own = _mm_getcsr();
  for (const unsigned flags : {0u, flush_to_zero, denormals_are_zero}) {
    // Rounding up, too: whatever the caller has set.
    const unsigned set = (own & ~(flush_to_zero | denormals_are_zero)) | flags | _MM_ROUND_UP;
    _mm_setcsr(set);
    const Step step = run_on_denormals(compiled, shape);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(own);
    const unsigned sticky = _MM_EXCEPT_MASK;  // what has happened, not what is set
    CHECK((after & ~sticky) == (set & ~sticky));
    for (const char* output : {"product", "sum", "matmul"}) {
      for (const double value : step.outputs.at(output).data) {
        if (value != 0) FAIL_CHECK(std::string(output), " has ", value);
        if (value != 0) break;
      }
    }
    CHECK(step.outputs.at("made").data[0] > 0);
  }
}

}  // namespace
}  // namespace strata::test
