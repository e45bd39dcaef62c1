// SPDX-License-Identifier: Apache-2.0
// Every example of every op, by every kernel of the CPU, in every float dtype, against the op's reference.
#include <doctest/doctest.h>

#include <set>

#include "support/kernel_run.h"

namespace strata::test {
namespace {

// The example with its float inputs in another dtype; an Error where the op does not take it.
Case example_case(const OpExample& example, DType dtype) {
  std::vector<Drawn> inputs;
  for (const OpExample::Input& input : example.inputs) {
    const bool floating = input.type.dtype == DType::float32;
    inputs.push_back({{input.type.shape, floating ? dtype : input.type.dtype}, input.low, input.high});
  }
  Case test = make_case(inputs, example.build);
  test.tolerance = example.tolerance;
  return test;
}

// `isa`: of kernels that have variants; not above what this machine has.
void check_all(DType dtype, std::string_view isa = "") {
  Backend& cpu = backend("cpu");
  DeviceModel device = cpu.model({});
  if (!isa.empty()) {
    device.isa = isa;
    device.threads = 3;
  }
  int cases = 0;
  std::set<std::string> slow;
  for (const auto& [name, op] : ops()) {
    if (!op->examples) continue;
    for (const OpExample& example : op->examples()) {
      Case test;
      try {
        test = example_case(example, dtype);
      } catch (const Error& error) {
        CHECK_MESSAGE(dtype != DType::float32, name, ", ", example.name, ": ", error.what());
        continue;
      }
      std::vector<std::string> used;
      CHECK_MESSAGE(check_kernels(test, cpu, device, &used) == "", name, ", ", example.name, ", ", to_text(dtype));
      if (!used.empty() && used.front() == "reference") slow.insert(std::string(name));
      ++cases;
    }
  }
  CHECK(cases > 100);
  std::string names;
  for (const std::string& name : slow) names += " " + name;
  CHECK_MESSAGE(names == "", "run by their references");
}

TEST_CASE("every op's examples, float32") { check_all(DType::float32); }
TEST_CASE("every op's examples on older processors") {
  const std::string best = backend("cpu").model({}).isa;
  if (best == "avx512") check_all(DType::float32, "avx2");
  if (best == "avx512") check_all(DType::float16, "avx2");
  check_all(DType::float32, "generic");
  check_all(DType::float16, "generic");
}
TEST_CASE("every op's examples, float64") { check_all(DType::float64); }
TEST_CASE("every op's examples, bfloat16") { check_all(DType::bfloat16); }
TEST_CASE("every op's examples, float16") { check_all(DType::float16); }

}  // namespace
}  // namespace strata::test
