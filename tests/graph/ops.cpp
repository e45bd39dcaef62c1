// SPDX-License-Identifier: Apache-2.0
// Every op's own examples: its rule against its reference, its gradient against central differences, its decomposition
// against itself, its text read back.
#include "graph/examples.h"

namespace strata {
namespace {

using test::built, test::result;

// Calls f(op's name, op, example) for every example of every op.
template <class F> void each_example(F f) {
  for (const auto& [name, op] : ops()) {
    if (!op->examples) continue;
    for (const OpExample& example : op->examples()) {
      CAPTURE(name);
      CAPTURE(example.name);
      f(*op, example);
    }
  }
}

TEST_CASE("every op has a doc, a rule, a reference and examples") {
  CHECK(ops().size() > 60);
  for (const auto& [name, op] : ops()) {
    CAPTURE(name);
    CHECK(name == op->name);
    CHECK(op->doc.ends_with('.'));
    CHECK((op->attributes == nullptr || op->traits.internal || op->read != nullptr));
    if (!op->infer) continue;  // leaves
    CHECK((op->reference != nullptr));
    if (op->traits.internal || name == "max_pool2d_gradient" || name == "lstm_gradient")
      continue;  // reached through their op
    REQUIRE((op->examples != nullptr));
    CHECK(!op->examples().empty());
  }
}

TEST_CASE("every reference gives the shapes of its rule") {
  each_example([](const OpDef& op, const OpExample& example) {
    auto b = built(example, 11);
    verify(b->graph);
    const auto values = evaluate(b->graph, b->feeds);
    bool used = false;
    for (int n = 0; n < b->graph.size(); ++n) {
      const Node& node = b->graph[n];
      used = used || node.op == &op;
      for (std::size_t o = 0; o < node.types.size(); ++o) {
        const Array& value = values[static_cast<std::size_t>(n)][o];
        CHECK(value.shape == node.types[o].shape);
        CHECK(static_cast<std::int64_t>(value.data.size()) == value.shape.size());
      }
    }
    CHECK_MESSAGE(used, "the example does not use its op");
  });
}

TEST_CASE("every op's gradient agrees with central differences") {
  each_example([](const OpDef&, const OpExample& example) {
    if (!example.differentiable) return;
    auto b = built(example, 11);
    test::check_slopes(*b, test::weighed(b->outputs, 77), 2e-7);
  });
}

TEST_CASE("every op's gradient can be differentiated again") {
  each_example([](const OpDef&, const OpExample& example) {
    if (!example.differentiable) return;
    auto b = built(example, 11);
    Values wrt;
    for (const Value& input : b->inputs)
      if (is_floating(input.dtype())) wrt.push_back(input);
    // Squared, so that the second gradient depends on what arrives at the op as well.
    const Value second = test::weighed(gradients(square(test::weighed(b->outputs, 77)), wrt), 99);
    if (second) test::check_slopes(*b, second, 1e-6);
  });
}

TEST_CASE("the text of every example's graph, with its gradient, reads back") {
  each_example([](const OpDef&, const OpExample& example) {
    auto b = built(example, 11);
    if (example.differentiable) (void)gradients(test::weighed(b->outputs, 77), b->inputs);
    const std::string text = to_text(b->graph);
    const Graph again = parse_graph(text);
    verify(again);
    CHECK(to_text(again) == text);
  });
}

TEST_CASE("what an op decomposes into gives the same, and the same gradients") {
  each_example([](const OpDef& op, const OpExample& example) {
    if (!op.decompose) return;
    auto b = built(example, 5);
    const int nodes = b->graph.size();
    for (int n = 0; n < nodes; ++n) {
      if (b->graph[n].op != &op) continue;
      Values inputs, wrt, own, other;
      for (const Ref& ref : b->graph[n].inputs) inputs.push_back(b->graph.value(ref));
      const Attributes attributes = b->graph[n].attributes;
      const Values simpler = op.decompose(inputs, attributes);
      REQUIRE(simpler.size() == b->graph[n].types.size());
      for (std::size_t o = 0; o < simpler.size(); ++o) {
        if (b->graph[n].types[o].dtype == DType::opaque) continue;
        own.push_back({&b->graph, n, static_cast<int>(o)});
        other.push_back(simpler[o]);
        CHECK(own.back().type() == other.back().type());
      }
      for (const Value& input : b->inputs)
        if (is_floating(input.dtype())) wrt.push_back(input);
      if (op.vjp && example.differentiable) {
        const Values own_gradients = gradients(test::weighed(own, 3), wrt),
                     other_gradients = gradients(test::weighed(other, 3), wrt);
        for (std::size_t i = 0; i < wrt.size(); ++i) {
          REQUIRE(static_cast<bool>(own_gradients[i]) == static_cast<bool>(other_gradients[i]));
          if (!own_gradients[i]) continue;
          own.push_back(own_gradients[i]);
          other.push_back(other_gradients[i]);
        }
      }
      const auto values = evaluate(b->graph, b->feeds);
      for (std::size_t i = 0; i < own.size(); ++i)
        CHECK(test::difference(result(values, own[i]), result(values, other[i])) < 1e-10);
    }
  });
}

}  // namespace
}  // namespace strata
