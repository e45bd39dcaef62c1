// SPDX-License-Identifier: Apache-2.0
// Every layer's own examples: traced at several batch sizes, in training and not; gradients of inputs and weights against
// central differences; 16-bit policies; frozen layers.
#include <doctest/doctest.h>

#include "strata/precision.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/layer_example.h"

namespace strata::test {

TEST_CASE("every example gives finite outputs with one row for each of the batch's") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    for (const std::int64_t batch : {2, 5})
      for (const bool training : {false, true}) {
        const auto t = traced(layer, example, batch, training);
        verify(t->graph);
        const auto values = evaluate(t->graph, t->feeds);
        REQUIRE_FALSE(t->outputs.empty());
        for (const Value& output : t->outputs) {
          CHECK(output.shape()[0] == batch);
          CHECK(output.dtype() == DType::float64);
          for (const double value : result(values, output).data) CHECK(std::isfinite(value));
        }
        for (const auto& [path, declared] : t->trace.states) CHECK(path.starts_with("layer/"));
      }
  });
}

TEST_CASE("a row's output outside training does not depend on the other rows") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    const auto whole = traced(layer, example, 3, false), less = traced(layer, example, 2, false);
    for (std::size_t i = 0; i < less->inputs.size(); ++i) {
      auto& few = less->feeds[cat("x", i)];
      const auto& many = whole->feeds[cat("x", i)].data;
      std::copy_n(many.begin(), few.data.size(), few.data.begin());
    }
    const auto a = evaluate(whole->graph, whole->feeds), b = evaluate(less->graph, less->feeds);
    for (std::size_t o = 0; o < less->outputs.size(); ++o) {
      const Array &all = result(a, whole->outputs[o]), &some = result(b, less->outputs[o]);
      REQUIRE(all.data.size() >= some.data.size());
      for (std::size_t i = 0; i < some.data.size(); ++i)
        CHECK(all.data[i] == doctest::Approx(some.data[i]).epsilon(1e-12));
    }
  });
}

TEST_CASE("gradients of inputs and weights agree with central differences, in training and not") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    for (const bool training : {false, true}) {
      CAPTURE(training);
      const auto t = traced(layer, example, 2, training);
      const Value loss = t->weighed();
      Values wrt;
      for (const Value& input : t->inputs)
        if (is_floating(input.dtype())) wrt.push_back(input);
      for (const Value& weight : t->weights(t->trained())) wrt.push_back(weight);
      const Values found = gradients(loss, wrt);
      verify(t->graph);
      const auto at = evaluate(t->graph, t->feeds);
      for (std::size_t w = 0; w < wrt.size(); ++w) {
        const std::string label = t->graph[wrt[w].node].label;
        auto& fed = t->feeds[label].data;
        for (std::size_t i = 0; i < fed.size(); ++i) {
          const double h = 1e-5, before = fed[i];
          fed[i] = before + h;
          const double above = result(evaluate(t->graph, t->feeds), loss).data[0];
          fed[i] = before - h;
          const double below = result(evaluate(t->graph, t->feeds), loss).data[0];
          fed[i] = before;
          const double slope = (above - below) / (2 * h), own = found[w] ? result(at, found[w]).data[i] : 0;
          CHECK_MESSAGE(std::abs(slope - own) <= 1e-6 * std::max(1.0, std::abs(slope)),
                        label << "[" << i << "]: " << own << ", differences give " << slope);
        }
      }
    }
  });
}

TEST_CASE("every trainable weight has a gradient in training") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    const auto t = traced(layer, example, 4, true);
    const std::vector<std::string> paths = t->trained();
    const Values wrt = t->weights(paths);
    const Values found = gradients(t->weighed(), wrt);
    const auto values = evaluate(t->graph, t->feeds);
    for (std::size_t w = 0; w < wrt.size(); ++w) {
      CAPTURE(paths[w]);
      REQUIRE(found[w]);
      double size = 0;
      for (const double g : result(values, found[w]).data) size += std::abs(g);
      CHECK(size > 0);
    }
  });
}

TEST_CASE("under 16-bit policies activations are 16-bit, weights float32, and values near") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    for (const char* policy : {"mixed_bfloat16", "mixed_float16"}) {
      CAPTURE(policy);
      const DType compute = precision_named(policy).compute;
      const auto wide = traced(layer, example, 2, true, "float32");
      const auto t = traced(layer, example, 2, true, policy);
      verify(t->graph);
      for (const auto& [path, declared] : t->trace.states)
        if (is_floating(declared.type.dtype)) CHECK(declared.type.dtype == DType::float32);
      const bool own = layer.schema().compute_dtype.has_value();
      const auto a = evaluate(wide->graph, wide->feeds), b = evaluate(t->graph, t->feeds);
      for (std::size_t o = 0; o < t->outputs.size(); ++o) {
        CHECK(t->outputs[o].dtype() == (own ? *layer.schema().compute_dtype : compute));
        CHECK(difference(result(a, wide->outputs[o]), result(b, t->outputs[o])) < 0.06);
      }
      // The gradient reaches float32 weights as float32.
      for (const Value& gradient : gradients(t->weighed(), t->weights(t->trained())))
        if (gradient) CHECK(gradient.dtype() == DType::float32);
      verify(t->graph);
    }
  });
}

TEST_CASE("a frozen layer trains no weight and changes no state") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    Layer frozen = parts<Layer>().make(layer.name(), example.args());
    frozen.common().trainable = false;
    const auto t = traced(frozen, example, 2, true);
    for (const auto& [path, declared] : t->trace.states) {
      CHECK_FALSE(declared.trainable);
      CHECK_FALSE(t->graph.next_of(path));
    }
    CHECK(layer.common().trainable);
  });
}

}  // namespace strata::test
