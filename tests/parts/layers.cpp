// SPDX-License-Identifier: Apache-2.0
// Every layer's own examples: traced at several batch sizes, in training and not; gradients of inputs and weights against
// central differences; 16-bit policies; frozen layers.
#include <doctest/doctest.h>

#include "strata/layer.h"
#include "strata/precision.h"
#include "support/arrays.h"
#include "support/message.h"

using namespace strata;
using namespace strata::test;

namespace {

struct Traced {
  Graph graph;
  Trace trace;
  Values inputs, outputs;
  std::map<std::string, Array> feeds;
};

const Array& result(const std::vector<std::vector<Array>>& values, Value value) {
  return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

std::unique_ptr<Traced> traced(const Layer& layer, const Schema::Example& example, std::int64_t batch, bool training,
                               const std::string& policy = "float64") {
  auto t = std::make_unique<Traced>();
  t->trace.graph = &t->graph;
  t->trace.training = training;
  t->trace.rows = batch;
  t->trace.precision = precision_named(policy);
  Scope scope(t->trace, "", t->trace.precision);
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    Shape shape{batch};
    for (const std::int64_t extent : example.inputs[i]) shape = shape.append(extent);
    const DType dtype = i < example.dtypes.size() ? example.dtypes[i] : t->trace.precision.variable;
    const std::string name = cat("x", i);
    t->inputs.push_back(t->graph.input(name, {shape, dtype}));
    const bool whole = !is_floating(dtype);
    t->feeds[name] =
        drawn({{shape, dtype}, whole ? 0.0 : -1.0, whole ? static_cast<double>(example.high) : 1.0}, 5 + i);
  }
  t->outputs = call_layer(scope, layer, t->inputs, "layer");
  for (const auto& [path, declared] : t->trace.states) {
    // Positive, so that variances are; around 1, so that nothing vanishes.
    t->feeds[path] = uniform(declared.type.shape, std::hash<std::string>{}(path), 0.3, 1.2);
  }
  for (const char* name : {names::seed, names::step, names::first_row, names::faults}) t->feeds[name] = Array(Shape{});
  return t;
}

template <class F> void each_example(F f) {
  for (const std::string& name : parts<Layer>().names()) {
    CAPTURE(name);
    for (const auto& example : parts<Layer>().schema(name).examples) {
      const Config args = example.args();
      const std::string shown = to_text(args);
      CAPTURE(shown);
      try {
        f(name, parts<Layer>().make(name, args), example);
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

// The sum of all outputs and penalties, each element with a weight of its own.
Value weighed(const Traced& t) {
  Value total;
  auto add = [&](Value part) { total = total ? total + cast(part, total.dtype()) : part; };
  for (std::size_t o = 0; o < t.outputs.size(); ++o) {
    const Array weights = uniform(t.outputs[o].shape(), 40 + o);
    add(sum(t.outputs[o] * literal(*t.outputs[o].graph, weights.data, weights.shape, t.outputs[o].dtype())));
  }
  for (const Value& penalty : t.trace.penalties) add(penalty);
  return total;
}

}  // namespace

TEST_CASE("every example gives finite outputs with one row for each of the batch's") {
  each_example([](const std::string&, const Layer& layer, const Schema::Example& example) {
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
  each_example([](const std::string&, const Layer& layer, const Schema::Example& example) {
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
  each_example([](const std::string&, const Layer& layer, const Schema::Example& example) {
    for (const bool training : {false, true}) {
      CAPTURE(training);
      const auto t = traced(layer, example, 2, training);
      const Value loss = weighed(*t);
      Values wrt;
      for (const Value& input : t->inputs)
        if (is_floating(input.dtype())) wrt.push_back(input);
      for (const auto& path : t->trace.order)
        if (t->trace.states.at(path).trainable) wrt.push_back(t->graph.state(path, t->trace.states.at(path).type));
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
  each_example([](const std::string&, const Layer& layer, const Schema::Example& example) {
    const auto t = traced(layer, example, 4, true);
    Values wrt;
    std::vector<std::string> paths;
    for (const auto& path : t->trace.order)
      if (t->trace.states.at(path).trainable) {
        paths.push_back(path);
        wrt.push_back(t->graph.state(path, t->trace.states.at(path).type));
      }
    const Values found = gradients(weighed(*t), wrt);
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
  each_example([](const std::string&, const Layer& layer, const Schema::Example& example) {
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
      Values wrt;
      for (const auto& path : t->trace.order)
        if (t->trace.states.at(path).trainable) wrt.push_back(t->graph.state(path, t->trace.states.at(path).type));
      for (const Value& gradient : gradients(weighed(*t), wrt))
        if (gradient) CHECK(gradient.dtype() == DType::float32);
      verify(t->graph);
    }
  });
}

TEST_CASE("a frozen layer trains no weight and changes no state") {
  each_example([](const std::string& name, const Layer& layer, const Schema::Example& example) {
    Layer frozen = parts<Layer>().make(name, example.args());
    frozen.common().trainable = false;
    const auto t = traced(frozen, example, 2, true);
    for (const auto& [path, declared] : t->trace.states) {
      CHECK_FALSE(declared.trainable);
      CHECK_FALSE(t->graph.next_of(path));
    }
    CHECK(layer.common().trainable);
  });
}
