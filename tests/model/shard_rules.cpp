// SPDX-License-Identifier: Apache-2.0
// Every op's examples, and their gradients, spread over replicas: whichever axis 0 is taken for the batch, the joined
// result is that of the whole.
#include <doctest/doctest.h>

#include <set>

#include "model/plans.h"
#include "strata/ops.h"
#include "support/arrays.h"

namespace strata::test {
namespace {

using Arrays = std::map<std::string, Array>;

struct Trial {
  Graph graph;
  Arrays values;
  std::int64_t first_row = 0;
};

// The example in doubles; all that can be read of it is an output. Nothing when the op does not take doubles.
bool build(const OpExample& example, bool random, Trial& trial) {
  Values inputs;
  for (const OpExample::Input& input : example.inputs) {
    Type type = input.type;
    if (type.dtype == DType::float32) type.dtype = DType::float64;
    const bool row = random && inputs.size() == 2;
    const std::string name = row ? names::first_row : cat("x", inputs.size());
    trial.values[name] = drawn({type, input.low, input.high}, 77 + inputs.size());
    for (double& value : trial.values[name].data) value = round_to(type.dtype, value);
    if (row) trial.first_row = static_cast<std::int64_t>(trial.values[name].data[0]);
    inputs.push_back(trial.graph.input(name, type));
  }
  Values outputs;
  try {
    outputs = example.build(inputs);
  } catch (const Error&) {
    return false;
  }
  Value loss;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Value& value = outputs[o];
    if (!value || value.dtype() == DType::opaque) continue;
    trial.graph.output(cat("y", o), value);
    if (value.dtype() != DType::float64 || value.type().size() == 0) continue;
    const Value term = sum(square(value + 0.5));
    loss = loss ? loss + term : term;
  }
  Values leaves;
  for (const Value& input : inputs) {
    if (input.dtype() == DType::float64) leaves.push_back(input);
  }
  if (!loss || leaves.empty()) return !outputs.empty();
  const Values slopes = gradients(loss, leaves);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (slopes[i]) trial.graph.output(cat("d", i), slopes[i]);
  }
  return true;
}

// The joined outputs on this many replicas; a message where they differ from the whole's.
std::string differs(const Trial& trial, std::int64_t rows, int replicas) {
  Mesh mesh;
  mesh.devices.clear();
  for (int r = 0; r < replicas; ++r) mesh.devices.push_back({"cpu", r});
  mesh.axes = {{"data", replicas}};
  Store store;
  store.place(backend("cpu"), mesh.devices);
  Runner runner(backend("cpu"), mesh, store, true);
  Compilation compiled = runner.compile(trial.graph, "example", rows);
  std::map<std::string, Tensor> feeds;
  for (const auto& [name, node] : trial.graph.inputs())
    feeds[name] = Tensor::from_doubles(trial.graph[node].types[0], trial.values.at(name).data);
  if (runner.run(compiled, feeds, trial.first_row).status != Status::ok) return "a launch failed";
  const auto whole = evaluate(trial.graph, trial.values);
  for (const Graph::Output& output : trial.graph.outputs()) {
    const Tensor joined = runner.output(compiled, output.name);
    const Array& wanted =
        whole[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.output)];
    const double by = difference(Array(joined.shape(), joined.to_doubles()), wanted);
    // float32 where the op makes it.
    if (by > (joined.dtype() == DType::float64 ? 1e-9 : 1e-5)) return cat(output.name, " by ", by);
  }
  return "";
}

TEST_CASE("shard rules: every op's examples and their gradients over replicas are the whole's") {
  int cases = 0;
  for (const auto& [name, op] : ops()) {
    if (!op->examples || op->traits.collective) continue;  // collectives are what the rules are made of
    for (const OpExample& example : op->examples()) {
      std::set<std::int64_t> counts;
      for (const OpExample::Input& input : example.inputs) {
        if (input.type.shape.rank() > 0) counts.insert(input.type.shape[0]);
      }
      Trial trial;
      if (!build(example, op->traits.random, trial)) continue;
      for (const Graph::Output& output : trial.graph.outputs()) {
        if (trial.graph.type(output.value).shape.rank() > 0) counts.insert(trial.graph.type(output.value).shape[0]);
      }
      for (const std::int64_t rows : counts) {
        for (const int replicas : {2, 3, 5}) {
          if (rows < 2) continue;
          ++cases;
          try {
            const std::string what = differs(trial, rows, replicas);
            CHECK_MESSAGE(what.empty(), name, ", ", example.name, ", ", rows, " rows on ", replicas, ": ", what);
          } catch (const std::exception& error) {
            FAIL_CHECK(cat(name, ", ", example.name, ", ", rows, " rows on ", replicas, ": ", error.what()));
          }
        }
      }
    }
  }
  CHECK(cases > 300);
}

}  // namespace
}  // namespace strata::test
