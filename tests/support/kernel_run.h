// SPDX-License-Identifier: Apache-2.0
// Runs the kernels a backend chooses for one node and compares them with the op's reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "strata/graph.h"
#include "strata/tensor.h"

namespace strata::test {

// A graph around one op, with random inputs.
struct Case {
  Graph graph;
  std::vector<Tensor> inputs;  // of the graph, in the order they were made
  double tolerance = 1;        // times the dtype's usual one
};
struct Drawn {
  Type type;
  double low = -1, high = 1;
};
Case make_case(const std::vector<Drawn>& inputs, const std::function<Values(std::span<const Value>)>& build);
Tensor draw(const Type& type, double low, double high, std::uint64_t seed);

double usual_tolerance(DType dtype);

// What went wrong, or "". Every node of the case is run by every candidate of the backend on what the references made
// of the nodes before it, rounded; and again in place, where a choice allows that. Names of the kernels go to `used`.
std::string check_kernels(const Case& test, Backend& backend, std::vector<std::string>* used = nullptr);
std::string check_kernels(const Case& test, Backend& backend, const DeviceModel& device,
                          std::vector<std::string>* used = nullptr);

// Runs a choice; opaque outputs are bytes in a uint8 tensor.
std::vector<Tensor> run_choice(const Choice& choice, std::span<const Tensor> inputs, std::span<const Type> outputs);

// Why two tensors differ by more than `tolerance` of the largest expected value, or "".
std::string difference(const Tensor& got, const std::vector<double>& expected, double tolerance);

long allocations();  // of this thread, so far, outside third-party libraries

}  // namespace strata::test
