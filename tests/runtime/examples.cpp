// SPDX-License-Identifier: Apache-2.0
// Every op's examples as plans, on the CPU and on the toy backend: all outputs, and each of them alone, for kernels must bear that nobody reads
// the others.
#include <doctest/doctest.h>

#include "runtime/executor.h"
#include "support/arrays.h"
#include "support/graph_run.h"
#include "support/toy_backend.h"

namespace strata::test {
namespace {

bool comparable(const Value& value) { return value && value.dtype() != DType::opaque; }

// The example in this float dtype with one output, or all of them (-1), read; false when the op does not take the dtype.
bool build(const OpExample& example, DType dtype, int output, Graph& graph, Arrays& values) {
  Values inputs;
  for (const OpExample::Input& input : example.inputs) {
    Type type = input.type;
    if (type.dtype == DType::float32) type.dtype = dtype;
    const std::string name = cat("x", inputs.size());
    // As an array of that dtype holds it.
    values[name] = drawn({type, input.low, input.high}, 77 + inputs.size());
    for (double& value : values[name].data) value = round_to(type.dtype, value);
    inputs.push_back(graph.input(name, type));
  }
  try {
    const Values outputs = example.build(inputs);
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      const Value& value = outputs[static_cast<std::size_t>(o)];
      if ((output < 0 || output == o) && comparable(value)) graph.output(cat("y", o), value);
    }
  } catch (const Error&) {
    return false;
  }
  return !graph.outputs().empty();
}

double usual_tolerance(const Graph& graph) {
  double tolerance = 1e-9;
  for (int node = 0; node < graph.size(); ++node) {
    for (const Type& type : graph[node].types) {
      if (is_floating(type.dtype) && type.dtype != DType::float64) tolerance = 2e-5;
    }
  }
  return tolerance;
}

void check_examples(Backend& on, DType dtype) {
  int cases = 0;
  for (const auto& [name, op] : ops()) {
    if (!op->examples) continue;
    for (const OpExample& example : op->examples()) {
      for (int output = -1; output < 8; ++output) {
        Graph graph;
        Arrays values;
        if (!build(example, dtype, output, graph, values)) {
          if (output < 0) CHECK_MESSAGE(dtype != DType::float32, name, ", ", example.name);
          break;
        }
        CompiledGraph compiled(graph, on, values);
        const auto [by, what] = difference(oracle_step(graph, values), compiled.step(values));
        CHECK_MESSAGE(by <= usual_tolerance(graph) * example.tolerance, name, ", ", example.name, ", output ", output,
                      ": ", what, " by ", by);
        ++cases;
      }
    }
  }
  CHECK(cases > 200);
}

TEST_CASE("every op's examples as plans, float32") { check_examples(backend("cpu"), DType::float32); }
TEST_CASE("every op's examples as plans, float64") { check_examples(backend("cpu"), DType::float64); }
TEST_CASE("every op's examples as plans on the toy backend") {
  const long before = toy_kernels_run();
  check_examples(toy_backend(), DType::float32);
  check_examples(toy_backend(), DType::float64);
  CHECK(toy_kernels_run() - before > 10);
}

}  // namespace
}  // namespace strata::test
