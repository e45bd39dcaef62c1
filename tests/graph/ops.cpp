// SPDX-License-Identifier: Apache-2.0
// Every op's own examples: its rule against its reference, its gradient against central differences, its decomposition
// against itself, its text read back.
#include <doctest/doctest.h>

#include <cmath>

#include "strata/ops.h"
#include "support/arrays.h"

using namespace strata;

namespace {

struct Built {
  Graph graph;
  Values inputs, outputs;
  std::map<std::string, Array> feeds;
};

std::unique_ptr<Built> built(const OpExample& example, std::uint64_t seed) {
  auto made = std::make_unique<Built>();
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    made->inputs.push_back(made->graph.input(name, example.inputs[i].type));
    made->feeds[name] = test::drawn(example.inputs[i], seed + i);
  }
  made->outputs = example.build(made->inputs);
  return made;
}

// A fixed weighted sum of all floating outputs, as a number.
double weighed(const Built& b, const std::vector<std::vector<Array>>& values, std::uint64_t seed) {
  double total = 0;
  for (std::size_t o = 0; o < b.outputs.size(); ++o) {
    if (!b.outputs[o] || !is_floating(b.outputs[o].dtype())) continue;
    const Array weights = test::uniform(b.outputs[o].shape(), seed + o);
    const Array& value =
        values[static_cast<std::size_t>(b.outputs[o].node)][static_cast<std::size_t>(b.outputs[o].output)];
    for (std::size_t i = 0; i < value.data.size(); ++i) total += weights.data[i] * value.data[i];
  }
  return total;
}

Value weighed(Built& b, std::uint64_t seed) {
  Value total;
  for (std::size_t o = 0; o < b.outputs.size(); ++o) {
    if (!b.outputs[o] || !is_floating(b.outputs[o].dtype())) continue;
    const Array weights = test::uniform(b.outputs[o].shape(), seed + o);
    Value part = sum(b.outputs[o] * literal(b.graph, weights.data, weights.shape, b.outputs[o].dtype()));
    total = total ? total + part : part;
  }
  return total;
}

}  // namespace

TEST_CASE("every op has a doc, a rule, a reference and examples") {
  CHECK(ops().size() > 60);
  for (const auto& [name, op] : ops()) {
    CAPTURE(name);
    CHECK(!op->doc.empty());
    if (!op->infer) continue;  // leaves
    CHECK((op->reference != nullptr));
    if (op->traits.internal || name == "max_pool2d_gradient" || name == "lstm_gradient")
      continue;  // reached through their op
    REQUIRE((op->examples != nullptr));
    CHECK(!op->examples().empty());
  }
}

TEST_CASE("every op's gradient agrees with central differences, and the text of its graph reads back") {
  for (const auto& [name, op] : ops()) {
    if (!op->examples) continue;
    for (const OpExample& example : op->examples()) {
      CAPTURE(name);
      CAPTURE(example.name);
      auto b = built(example, 11);
      const auto values = evaluate(b->graph, b->feeds);
      for (const Value& output : b->outputs)
        if (output)
          CHECK(values[static_cast<std::size_t>(output.node)][static_cast<std::size_t>(output.output)].shape ==
                output.shape());
      if (example.differentiable) {
        Value loss = weighed(*b, 77);
        Values wrt;
        for (const Value& input : b->inputs)
          if (is_floating(input.dtype())) wrt.push_back(input);
        const Values found = gradients(loss, wrt);
        verify(b->graph);
        const auto at = evaluate(b->graph, b->feeds);
        std::size_t next = 0;
        for (const Value& input : b->inputs) {
          if (!is_floating(input.dtype())) continue;
          const Value gradient = found[next++];
          const std::string label = b->graph[input.node].label;
          for (std::size_t i = 0; i < b->feeds[label].data.size(); ++i) {
            const double h = 1e-5, before = b->feeds[label].data[i];
            b->feeds[label].data[i] = before + h;
            const double above = weighed(*b, evaluate(b->graph, b->feeds), 77);
            b->feeds[label].data[i] = before - h;
            const double below = weighed(*b, evaluate(b->graph, b->feeds), 77);
            b->feeds[label].data[i] = before;
            const double slope = (above - below) / (2 * h);
            const double own =
                gradient
                    ? at[static_cast<std::size_t>(gradient.node)][static_cast<std::size_t>(gradient.output)].data[i]
                    : 0;
            CHECK_MESSAGE(std::abs(slope - own) <= 2e-7 * std::max(1.0, std::abs(slope)),
                          label << "[" << i << "]: " << own << ", differences give " << slope);
          }
        }
      }
      const std::string text = to_text(b->graph);
      CHECK(to_text(parse_graph(text)) == text);
    }
  }
}

TEST_CASE("what an op decomposes into gives the same, and the same gradients") {
  for (const auto& [name, op] : ops()) {
    if (!op->decompose || !op->examples) continue;
    for (const OpExample& example : op->examples()) {
      CAPTURE(name);
      CAPTURE(example.name);
      auto b = built(example, 5);
      const auto values = evaluate(b->graph, b->feeds);
      int nodes = b->graph.size();
      for (int n = 0; n < nodes; ++n) {
        if (b->graph[n].op != op) continue;
        Values inputs;
        for (const Ref& ref : b->graph[n].inputs) inputs.push_back(b->graph.value(ref));
        const Attributes attributes = b->graph[n].attributes;
        const Values simpler = op->decompose(inputs, attributes);
        const auto again = evaluate(b->graph, b->feeds);
        for (std::size_t o = 0; o < simpler.size(); ++o) {
          if (!simpler[o] || b->graph[n].types[o].dtype == DType::opaque) continue;
          CHECK(test::difference(
                    values[static_cast<std::size_t>(n)][o],
                    again[static_cast<std::size_t>(simpler[o].node)][static_cast<std::size_t>(simpler[o].output)]) <
                1e-10);
        }
      }
    }
  }
}
