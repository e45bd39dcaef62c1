// SPDX-License-Identifier: Apache-2.0
// Layers and activations against real Keras: outputs, gradients of inputs and weights, moving statistics.
#include "support/golden.h"

using namespace strata;
using namespace strata::test;

namespace {

constexpr double tolerance = 1e-5;

// Keras's name of a weight, wherever it lies in the layer.
std::string path_of(const Trace& trace, const std::string& name) {
  for (const auto& path : trace.order)
    if (path.ends_with("/" + name)) return path;
  return "";
}

void check_layer(const json& c) {
  const std::string name = c["name"];
  CAPTURE(name);
  const Layer layer = parts<Layer>().make(c["kind"], config_of(c["args"]));
  const bool integers = c["kind"] == "Embedding";
  Traced t(c["training"], c["inputs"][0]["shape"][0]);
  Scope scope = t.scope();
  Values inputs;
  for (const auto& input : c["inputs"])
    inputs.push_back(
        t.input("x" + std::to_string(inputs.size()), array_of(input), integers ? DType::int32 : DType::float64));
  if (c.contains("mask") && !c["mask"].is_null())
    scope.set_mask(inputs[0], t.input("mask", array_of(c["mask"]), DType::boolean));
  const Values outputs = call_layer(scope, layer, inputs, "layer");
  for (const auto& weight : c["weights"]) {
    const std::string path = path_of(t.trace, weight["name"]);
    REQUIRE_MESSAGE(!path.empty(), "no weight " << weight["name"]);
    t.feeds[path] = array_of(weight["tensor"]);
  }
  Value loss;
  for (std::size_t o = 0; o < c["outputs"].size(); ++o) {
    if (c["cotangents"].size() <= o || c["cotangents"][o].is_null()) continue;
    Value part = sum(outputs[o] * t.input("cotangent" + std::to_string(o), array_of(c["cotangents"][o])));
    loss = loss ? loss + part : part;
  }
  Values wrt;
  for (const Value& input : inputs) wrt.push_back(input);
  std::vector<std::string> names;
  if (c.contains("weight_gradients"))
    for (const auto& [weight, _] : c["weight_gradients"].items()) {
      names.push_back(weight);
      const std::string path = path_of(t.trace, weight);
      wrt.push_back(t.graph.state(path, t.trace.states.at(path).type));
    }
  const Values gradient = gradients(loss, wrt);
  const auto values = evaluate(t.graph, t.feeds);
  for (std::size_t o = 0; o < c["outputs"].size(); ++o)
    CHECK(off(at(values, outputs[o]), array_of(c["outputs"][o])) < tolerance);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (c.contains("input_gradients") && !c["input_gradients"][i].is_null()) {
      const Array golden_gradient = array_of(c["input_gradients"][i]);
      const Array ours = gradient[i] ? at(values, gradient[i]) : Array(golden_gradient.shape);
      CHECK(off(ours, golden_gradient) < tolerance);
    }
  for (std::size_t w = 0; w < names.size(); ++w) {
    CAPTURE(names[w]);
    const Array golden_gradient = array_of(c["weight_gradients"][names[w]]);
    const Value& own = gradient[inputs.size() + w];
    CHECK(off(own ? at(values, own) : Array(golden_gradient.shape), golden_gradient) < tolerance);
  }
  if (!c.contains("weights_after") || c["weights_after"].is_null()) return;
  for (const auto& weight : c["weights_after"]) {
    const std::string path = path_of(t.trace, weight["name"]);
    const Ref next = t.graph.next_of(path);
    CHECK(off(next ? at(values, t.graph.value(next)) : t.feeds.at(path), array_of(weight["tensor"])) < tolerance);
  }
}

}  // namespace

TEST_CASE("layers give Keras's outputs and gradients") {
  int checked = 0;
  const json layers_file = golden("layers");
  for (const auto& c : layers_file["cases"]) {
    const std::string name = c["name"];
    if (!parts<Layer>().has(c["kind"].get<std::string>())) {
      FAIL_CHECK("there is no layer " << c["kind"] << " for " << name);
      continue;
    }
    try {
      check_layer(c);
      ++checked;
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
  CHECK(checked == static_cast<int>(layers_file["cases"].size()));
}

TEST_CASE("activations give Keras's outputs and gradients, by Keras's words") {
  const json activations_file = golden("activations");
  for (const auto& c : activations_file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    // Keras 3.15 adds up the running sums themselves, so that its rows do not sum to 1; ours do.
    if (name.starts_with("sparsemax")) continue;
    try {
      const Layer layer = parts<Layer>().make(c["kind"], config_of(c["args"]));
      Traced t(false, 1);
      Scope scope = t.scope();
      const Value x = t.input("x", array_of(c["input"])), g = t.input("g", array_of(c["cotangent"]));
      const Value y = call_layer(scope, layer, std::span<const Value>(&x, 1), "activation")[0];
      const Value gradient = gradients(sum(y * g), std::span<const Value>(&x, 1))[0];
      const auto values = evaluate(t.graph, t.feeds);
      CHECK(off(at(values, y), array_of(c["output"])) < tolerance);
      CHECK(off(at(values, gradient), array_of(c["input_gradient"])) < tolerance);
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
}
