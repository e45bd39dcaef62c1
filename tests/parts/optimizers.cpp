// SPDX-License-Identifier: Apache-2.0
// Optimizers: every one falls on a quadratic; what all of them share (clips, decay, averages, constraints, the step);
// schedules.
#include "strata/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "strata/precision.h"
#include "support/arrays.h"
#include "support/message.h"

using namespace strata;
using namespace strata::test;

namespace {

// One weight or several with a graph that says what they are after a step; run() takes the step.
struct Descent {
  Graph graph;
  Trace trace;
  std::map<std::string, Array> feeds;

  // Each weight w has the loss sum(curvature * w²) / 2 unless `given` names gradients to be fed.
  Descent(const Optimizer& optimizer, const std::vector<Array>& weights, bool given = false,
          const Optional<Constraint>& constraint = {}, DType dtype = DType::float64) {
    trace.graph = &graph;
    trace.training = true;
    trace.precision = precision_named("float64");
    Scope scope(trace, "", trace.precision);
    std::vector<Trained> trained;
    for (std::size_t w = 0; w < weights.size(); ++w) {
      const std::string path = cat("w", w);
      feeds[path] = weights[w];
      Trained one{.weight = graph.state(path, {weights[w].shape, dtype}), .path = path, .constraint = constraint};
      if (given) {
        one.gradient = graph.input(cat("g", w), {weights[w].shape, dtype});
      } else {
        Array curvature(weights[w].shape);
        for (std::size_t i = 0; i < curvature.data.size(); ++i) curvature.data[i] = 1 + static_cast<double>(i);
        one.gradient = one.weight * literal(graph, curvature.data, curvature.shape, dtype);
      }
      trained.push_back(one);
    }
    apply_optimizer(scope, optimizer, trained);
    verify(graph);
    feeds[names::step] = Array(Shape{});
    for (const auto& path : trace.order) {
      const StateDeclaration& declared = trace.states.at(path);
      feeds[path] = Array(declared.type.shape);
      declared.initializer->make(Fill{declared.type.shape, 0, path}, feeds[path].data);
    }
    for (const auto& [path, value] : trace.knobs) feeds[path] = Array(Shape{}, {value});
  }
  void run() {
    const auto values = evaluate(graph, feeds);
    for (const auto& next : graph.nexts())
      feeds[graph[next.state].label] =
          values[static_cast<std::size_t>(next.value.node)][static_cast<std::size_t>(next.value.output)];
  }
  const std::vector<double>& at(const std::string& path) { return feeds.at(path).data; }
};

Array row(std::vector<double> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {Shape{n}, std::move(values)};
}

double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

Optimizer sgd(const std::string& args) { return parts<Optimizer>().make("SGD", parse_flow(args)); }

}  // namespace

TEST_CASE("every optimizer falls on a quadratic, and keeps its slots beside the weight's path") {
  for (const std::string& name : parts<Optimizer>().names()) {
    CAPTURE(name);
    for (const auto& example : parts<Optimizer>().schema(name).examples) {
      const std::string shown = to_text(example.args());
      CAPTURE(shown);
      Descent descent(parts<Optimizer>().make(name, example.args()), {row({3, -2, 1})});
      const double before = norm(descent.at("w0"));
      for (int step = 0; step < 200; ++step) descent.run();
      CHECK(norm(descent.at("w0")) < before / 2);
      CHECK(descent.at(names::step)[0] == 200);
      for (const auto& path : descent.trace.order) CHECK(path.starts_with("optimizer/w0/"));
    }
  }
}

TEST_CASE("every optimizer takes what all take, in one step") {
  for (const std::string& name : parts<Optimizer>().names()) {
    CAPTURE(name);
    Config args = parts<Optimizer>().schema(name).examples[0].args();
    const Config shared = parse_flow("{weight_decay: 0.1, clipnorm: 0.5, use_ema: true, name: mine}");
    for (const auto& [key, value] : *shared.map()) args.set(key, value);
    Descent descent(parts<Optimizer>().make(name, args), {row({3, -2, 1})});
    for (int step = 0; step < 3; ++step) descent.run();
    for (const double w : descent.at("w0")) CHECK(std::isfinite(w));
    CHECK(descent.feeds.contains("optimizer/w0/average"));
  }
}

TEST_CASE("gradients are clipped by value, each by its norm, or all by their common norm") {
  auto step = [](const std::string& args) {
    Descent d(sgd(args), {row({0, 0}), row({0})}, true);
    d.feeds["g0"] = row({3, -0.5});
    d.feeds["g1"] = row({4});
    d.run();
    return std::vector<double>{-d.at("w0")[0], -d.at("w0")[1], -d.at("w1")[0]};
  };
  CHECK(step("{learning_rate: 1, clipvalue: 1}") == std::vector<double>{1, -0.5, 1});
  const double own = std::sqrt(9.25), all = std::sqrt(25.25);
  auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
  };
  near(step("{learning_rate: 1, clipnorm: 2}"), {3 * 2 / own, -0.5 * 2 / own, 2});
  near(step("{learning_rate: 1, clipnorm: 100}"), {3, -0.5, 4});
  near(step("{learning_rate: 1, global_clipnorm: 2}"), {3 * 2 / all, -0.5 * 2 / all, 4 * 2 / all});
  CHECK(message_of([&] { step("{clipnorm: 1, clipvalue: 1}"); }).find("at most one of clipnorm") != std::string::npos);
}

TEST_CASE("a common norm is taken of weights of several dtypes, and of none") {
  for (const bool with_gradients : {false, true}) {
    Graph graph;
    Trace trace;
    trace.graph = &graph;
    Scope scope(trace, "", precision_named("float32"));
    std::vector<Trained> weights;
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Type type{{1}, dtype};
      const std::string path = cat("w", weights.size());
      weights.push_back({.weight = graph.state(path, type),
                         .gradient = with_gradients ? graph.input(cat("g", weights.size()), type) : Value{},
                         .path = path});
    }
    apply_optimizer(scope, sgd("{learning_rate: 1, global_clipnorm: 1}"), weights);
    verify(graph);
    CHECK(static_cast<bool>(graph.next_of("w0")) == with_gradients);
    if (!with_gradients) continue;
    const auto values = evaluate(graph, {{"w0", row({0})},
                                         {"w1", row({0})},
                                         {"g0", row({3})},
                                         {"g1", row({4})},
                                         {names::step, Array(Shape{})},
                                         {"optimizer/learning_rate", Array(Shape{}, {1})}});
    const Ref next = graph.next_of("w1");
    CHECK(values[static_cast<std::size_t>(next.node)][0].data[0] == doctest::Approx(-0.8));
  }
}

TEST_CASE("gradients are divided by the loss scale before they are clipped; decay is apart from the gradient") {
  Descent d(sgd("{learning_rate: 1, loss_scale_factor: 8, clipvalue: 1}"), {row({0})}, true);
  d.feeds["g0"] = row({4});
  d.run();
  CHECK(d.at("w0")[0] == -0.5);
  Descent decayed(sgd("{learning_rate: 0.5, weight_decay: 0.1}"), {row({2})}, true);
  decayed.feeds["g0"] = row({1});
  decayed.run();
  CHECK(decayed.at("w0")[0] == doctest::Approx(2 - 2 * 0.1 * 0.5 - 0.5));
}

TEST_CASE("averages begin at the first weights, follow, and replace the weights every so many steps") {
  Descent d(sgd("{learning_rate: 1, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 2}"), {row({0})}, true);
  d.feeds["g0"] = row({-1});
  d.run();  // weight 1, average 1
  CHECK(d.at("w0")[0] == 1);
  CHECK(d.at("optimizer/w0/average")[0] == 1);
  d.run();  // weight 2, average 1.5, which replaces it
  CHECK(d.at("optimizer/w0/average")[0] == 1.5);
  CHECK(d.at("w0")[0] == 1.5);
  d.run();
  CHECK(d.at("w0")[0] == 2.5);
}

TEST_CASE("constraints mend the weight after the update; a weight without a gradient stays") {
  Descent d(sgd("{learning_rate: 1}"), {row({0.5, 1})}, true, Constraint("non_neg"));
  d.feeds["g0"] = row({1, 0.25});
  d.run();
  CHECK(d.at("w0") == std::vector<double>{0, 0.75});

  Graph graph;
  Trace trace;
  trace.graph = &graph;
  Scope scope(trace, "", precision_named("float32"));
  const Trained still{.weight = graph.state("w", {{2}, DType::float32}), .path = "w"};
  apply_optimizer(scope, "adam", std::span(&still, 1));
  CHECK_FALSE(graph.next_of("w"));
  CHECK(graph.next_of(names::step));
  CHECK(trace.order.empty());
}

TEST_CASE("a number as learning rate is one state that may be set; a schedule follows the step") {
  Descent d(sgd("{learning_rate: 1}"), {row({0}), row({0})}, true);
  CHECK(d.trace.knobs == std::map<std::string, double>{{"optimizer/learning_rate", 1}});
  d.feeds["optimizer/learning_rate"] = Array(Shape{}, {0.25});
  d.feeds["g0"] = d.feeds["g1"] = row({1});
  d.run();
  CHECK(d.at("w1")[0] == -0.25);

  Descent scheduled(
      sgd("{learning_rate: {ExponentialDecay: {initial_learning_rate: 1, decay_steps: 1, decay_rate: 0.5}}}"),
      {row({0})}, true);
  CHECK(scheduled.trace.knobs.empty());
  scheduled.feeds["g0"] = row({1});
  for (int step = 0; step < 3; ++step) scheduled.run();
  CHECK(scheduled.at("w0")[0] == -1.75);
  CHECK(message_of([] {
          sgd("{learning_rate: {ExponentialDecay: {decay_steps: 1}}}");
        }).find("initial_learning_rate") != std::string::npos);
  CHECK(message_of([] { sgd("{learning_rate: true}"); }).find("a number or a schedule") != std::string::npos);
}

TEST_CASE("slots of 32-bit weights are 32-bit, and the correction is exact after many steps") {
  Descent d(parts<Optimizer>().make("Adam", parse_flow("{learning_rate: 0.5}")), {row({0})}, true, {}, DType::float32);
  for (const auto& path : d.trace.order) CHECK(d.trace.states.at(path).type.dtype == DType::float32);
  d.feeds["g0"] = row({2});
  d.feeds[names::step] = Array(Shape{}, {20'000'000.0});
  d.run();
  CHECK(d.at(names::step)[0] == 20'000'001.0);
  // The correction is 1 by then: m = 0.2, v = 0.004.
  CHECK(d.at("w0")[0] == doctest::Approx(-0.5 * 0.2 / std::sqrt(0.004)).epsilon(1e-5));
}

TEST_CASE("every schedule is finite and not negative at each step, also far out") {
  for (const std::string& name : parts<Schedule>().names()) {
    CAPTURE(name);
    for (const auto& example : parts<Schedule>().schema(name).examples) {
      const Schedule schedule = parts<Schedule>().make(name, example.args());
      Graph graph;
      Trace trace;
      trace.graph = &graph;
      Scope scope(trace, "", {});
      const Value rate = schedule->at(scope, graph.input("step", {{}, DType::int64}));
      CHECK(rate.type() == Type{{}, DType::float32});
      double first = -1;
      for (const double step : {0.0, 1.0, 7.0, 10.0, 99.0, 100.0, 101.0, 1e9}) {
        const auto values = evaluate(graph, {{"step", Array(Shape{}, {step})}});
        const double at = values[static_cast<std::size_t>(rate.node)][0].data[0];
        CAPTURE(step);
        CHECK(std::isfinite(at));
        CHECK(at >= 0);
        CHECK(at <= 0.1 + 1e-9);
        if (first < 0) first = at;
      }
      CHECK(first > 0);
    }
  }
}
