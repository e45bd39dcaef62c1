// SPDX-License-Identifier: Apache-2.0
// Every layer's examples as compiled plans on the CPU and on the toy backend: outputs, gradients and next states in
// float32 equal the oracle's doubles; under 16-bit policies they are near.
#include <algorithm>

#include "strata/ops.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/graph_run.h"
#include "support/layer_example.h"
#include "support/toy_backend.h"

namespace strata::test {
namespace {

// The layer called once; its outputs, the gradient of each floating input and trainable weight as outputs of the graph.
std::unique_ptr<LayerTrace> both_ways(const Layer& layer, const Schema::Example& example, bool training,
                                      const std::string& policy) {
  auto t = traced(layer, example, 3, training, policy);
  for (std::size_t o = 0; o < t->outputs.size(); ++o) t->graph.output(cat("y", o), t->outputs[o]);
  Values wrt;
  std::vector<std::string> names;
  for (const Value& input : t->inputs)
    if (is_floating(input.dtype())) {
      wrt.push_back(input);
      names.push_back(t->graph[input.node].label);
    }
  const std::vector<std::string> trained = t->trained();
  for (const Value& weight : t->weights(trained)) wrt.push_back(weight);
  names.insert(names.end(), trained.begin(), trained.end());
  const Values found = gradients(t->weighed(), wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (found[i]) t->graph.output(cat("gradient of ", names[i]), found[i]);
  return t;
}

Step run(const Layer& layer, const Schema::Example& example, bool training, const std::string& policy, Backend& on) {
  const auto t = both_ways(layer, example, training, policy);
  CompiledGraph compiled(t->graph, on, t->feeds);
  return compiled.step(t->feeds);
}

// The largest difference relative to the array's own size; with its name.
std::pair<double, std::string> apart(const Step& a, const Step& b) {
  if (a.outputs.size() != b.outputs.size()) return {HUGE_VAL, "the number of outputs"};
  std::pair<double, std::string> most{0, ""};
  for (const auto& [name, array] : a.outputs) {
    const Array& other = b.outputs.at(name);
    if (!(array.shape == other.shape)) return {HUGE_VAL, name};
    double size = 1;
    for (const double value : array.data) size = std::max(size, std::abs(value));
    for (std::size_t i = 0; i < array.data.size(); ++i) {
      const double by = std::abs(array.data[i] - other.data[i]) / size;
      if (!(by <= most.first)) most = {std::isnan(by) ? HUGE_VAL : by, name};
    }
  }
  return most;
}

void check_float32(Backend& on) {
  each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
    for (const bool training : {false, true}) {
      CAPTURE(training);
      const auto exact = both_ways(layer, example, training, "float64");
      const Step wanted = oracle_step(exact->graph, exact->feeds), found = run(layer, example, training, "float32", on);
      for (std::size_t o = 0; o < exact->outputs.size(); ++o)
        CHECK(found.outputs.at(cat("y", o)).shape == exact->outputs[o].shape());
      const auto [by, what] = difference(wanted, found);
      CHECK_MESSAGE(by < 2e-5, what << " by " << by);
    }
  });
}

void check_policies(Backend& on) {
  each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
    const Step wide = run(layer, example, true, "float32", on);
    for (const auto& [policy, tolerance] : {std::pair("mixed_bfloat16", 0.05), std::pair("mixed_float16", 0.006)}) {
      CAPTURE(policy);
      const auto [by, what] = apart(wide, run(layer, example, true, policy, on));
      CHECK_MESSAGE(by < tolerance, what << " by " << by);
    }
  });
}

}  // namespace

TEST_CASE("on the CPU float32 outputs, gradients and next states are the oracle's, in training and not") {
  check_float32(backend("cpu"));
}

TEST_CASE("on the toy backend float32 outputs, gradients and next states are the oracle's, in training and not") {
  const long before = toy_kernels_run();
  check_float32(toy_backend());
  CHECK(toy_kernels_run() > before);
}

TEST_CASE("on the CPU outputs and gradients under 16-bit policies are near those in float32") {
  check_policies(backend("cpu"));
}

TEST_CASE("on the toy backend outputs and gradients under 16-bit policies are near those in float32") {
  check_policies(toy_backend());
}

}  // namespace strata::test
