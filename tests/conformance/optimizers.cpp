// SPDX-License-Identifier: Apache-2.0
// Every optimizer's and schedule's examples: compiled steps beside the oracle's, losses that fall, states that carry on
// to the last bit in another model, rates that follow the step.
#include <set>

#include "model/core.h"
#include "strata/layers.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/graph_run.h"
#include "support/toy_backend.h"
#include "support/training.h"

namespace strata::test {
namespace {

// What all optimizers take, tried with each.
const char* const variants[] = {"{}", "{use_ema: true, ema_overwrite_frequency: 2, clipnorm: 0.5}",
                                "{weight_decay: 0.01, global_clipnorm: 1}", "{clipvalue: 0.1, loss_scale_factor: 2}"};

Optimizer with(const Optimizer& optimizer, const Schema::Example& example, const std::string& more) {
  Config args = example.args();
  const Config shared = parse_flow(more);
  for (const auto& [key, value] : *shared.map()) args.set(key, value);
  return parts<Optimizer>().make(optimizer.name(), args);
}

// Two weights w0 and w1, each with a loss sum(w²) / 2, under one optimizer.
struct Descent {
  Graph graph;
  Trace trace;
  Arrays values;

  Descent(const Optimizer& optimizer, DType dtype) {
    trace.graph = &graph;
    trace.training = true;
    trace.precision = {dtype, dtype};
    Scope scope(trace, "", trace.precision);
    std::vector<Trained> trained;
    for (const Shape& shape : {Shape{3, 2}, Shape{4}}) {
      const std::string path = cat("w", trained.size());
      values[path] = uniform(shape, 20 + trained.size(), 0.5, 2);
      for (double& value : values[path].data) value = round_to(DType::float32, value);
      const Value weight = graph.state(path, {shape, dtype});
      trained.push_back({.weight = weight, .gradient = weight * 1.0, .path = path});
    }
    Scope own = scope.child("optimizer");
    apply_optimizer(own, optimizer, trained);
    for (const auto& [path, declared] : trace.states) {
      values[path] = Array(declared.type.shape);
      declared.initializer->make(Fill{declared.type.shape, 0, path}, values[path].data);
    }
    for (const auto& [path, value] : trace.knobs) values[path] = Array(Shape{}, {value});
    for (const char* name : {names::seed, names::step, names::faults, names::first_row}) values[name] = Array(Shape{});
  }
};

Arrays steps_of(const Optimizer& optimizer, Backend& on, int steps) {
  Descent descent(optimizer, DType::float32);
  CompiledGraph compiled(descent.graph, on, descent.values);
  Arrays states;
  for (int i = 0; i < steps; ++i) states = compiled.step(descent.values).states;
  return states;
}

Model small_model(const Optimizer& optimizer, std::int64_t seed) {
  Sequential model({5}, {Layer(layers::Dense{.units = 6, .activation = "tanh"}), Layer(layers::Dropout{.rate = 0.3}),
                         Layer(layers::Dense{.units = 3})});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  model.build(seed);
  return model;
}

void take_steps(Model& model, int from, int to) {
  for (int i = from; i < to; ++i)
    model.train_on_batch({numbers({4, 5}, 100 + static_cast<std::uint64_t>(i))},
                         {numbers({4, 3}, 200 + static_cast<std::uint64_t>(i))});
}

std::map<std::string, Tensor> everything(const Model& model) {
  std::map<std::string, Tensor> all;
  for (const auto& [path, _] : model.core().store.variables()) all[path] = model.core().store.read(path).clone();
  return all;
}

bool same_state(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  REQUIRE(a.size() == b.size());
  bool same = true;
  for (const auto& [path, value] : a) {
    REQUIRE_MESSAGE(b.count(path) == 1, path);
    same = same && same_bits(value, b.at(path));
  }
  return same;
}

}  // namespace

TEST_CASE("every optimizer's compiled steps in float32 are the oracle's, on the CPU and the toy backend") {
  each_example<Optimizer>([](const Optimizer& optimizer, const Schema::Example& example) {
    for (const std::string variant : variants) {
      CAPTURE(variant);
      const Optimizer own = with(optimizer, example, variant);
      Descent exact(own, DType::float64);
      constexpr int steps = 4;
      for (int i = 0; i < steps; ++i)
        for (auto& [path, value] : oracle_step(exact.graph, exact.values).states) exact.values[path] = value;
      for (Backend* on : {&backend("cpu"), &toy_backend()}) {
        CAPTURE(std::string(on->name()));
        for (const auto& [path, value] : steps_of(own, *on, steps)) {
          CHECK_MESSAGE(difference(value, exact.values.at(path)) < 1e-5, path);
          for (const double number : value.data) CHECK(std::isfinite(number));
        }
      }
    }
  });
}

TEST_CASE("every optimizer makes a model's loss fall, with all that optimizers share") {
  each_example<Optimizer>([](const Optimizer& optimizer, const Schema::Example& example) {
    for (const std::string variant : variants) {
      CAPTURE(variant);
      Sequential model({5}, {Layer(layers::Dense{.units = 2})});
      model.compile({.optimizer = with(optimizer, example, variant), .loss = "mse"});
      model.build(1);
      const Tensor x = numbers({16, 5}, 1), y = numbers({16, 2}, 2);
      const double before = model.evaluate(x, y).at("loss");
      for (int i = 0; i < 60; ++i) model.train_on_batch({x}, {y});
      CHECK(model.evaluate(x, y).at("loss") < 0.98 * before);
    }
  });
}

TEST_CASE("every optimizer carries on to the last bit in another model that was given its state") {
  int with_slots = 0;
  each_example<Optimizer>([&](const Optimizer& optimizer, const Schema::Example& example) {
    for (const std::string variant :
         {variants[0], variants[1], variants[2], "{gradient_accumulation_steps: 2, use_ema: true}"}) {
      CAPTURE(variant);
      const Optimizer own = with(optimizer, example, variant);
      Model first = small_model(own, 1);
      take_steps(first, 0, 3);  // an odd number: in the middle of an accumulation
      const auto state = everything(first);
      take_steps(first, 3, 6);
      const auto wanted = everything(first);

      Model second = small_model(with(optimizer, example, variant), 2);
      take_steps(second, 7, 8);
      for (const auto& [path, value] : state) {
        REQUIRE_MESSAGE(second.core().store.has(path), path);
        second.core().store.write(path, value);
      }
      CHECK(same_state(everything(second), state));
      take_steps(second, 3, 6);
      CHECK(same_state(everything(second), wanted));

      // Without its slots it goes elsewhere: they were part of what carried on.
      Model bare = small_model(with(optimizer, example, variant), 2);
      take_steps(bare, 7, 8);
      bool slots = false;
      for (const auto& [path, value] : state) {
        const bool slot = path.starts_with("optimizer/") && path != "optimizer/learning_rate";
        slots = slots || slot;
        if (!slot) bare.core().store.write(path, value);
      }
      take_steps(bare, 3, 6);
      CHECK(same_state(everything(bare), wanted) != slots);
      with_slots += slots;
    }
  });
  CHECK(with_slots > 20);
}

TEST_CASE("every schedule gives the rate of each step, also of one that a run goes on from") {
  each_example<Schedule>([](const Schedule& schedule, const Schema::Example&) {
    Graph alone;
    Trace trace;
    trace.graph = &alone;
    Scope scope(trace, "", {});
    const Value rate = schedule->at(scope, alone.input("step", {{}, DType::int64}));
    auto at = [&](std::int64_t step) {
      return evaluate(alone,
                      {{"step", Array(Shape{}, {static_cast<double>(step)})}})[static_cast<std::size_t>(rate.node)][0]
          .data[0];
    };
    // One weight whose gradient is always 1: it falls by the rate.
    const Optimizer sgd = parts<Optimizer>().make("SGD", Config(Config::Map{{"learning_rate", write_part(schedule)}}));
    Graph graph;
    Trace own;
    own.graph = &graph;
    Scope outer(own, "", {});
    Scope inner = outer.child("optimizer");
    const Trained one{.weight = graph.state("w", {{1}, DType::float32}),
                      .gradient = graph.input("g", {{1}, DType::float32}),
                      .path = "w"};
    apply_optimizer(inner, sgd, {&one, 1});
    CHECK(own.knobs.empty());
    for (const std::int64_t start : {0, 1, 6, 49, 50, 99, 100, 1000, 20'000'000}) {
      CAPTURE(start);
      Arrays values{{"w", Array(Shape{1})}, {"g", Array(Shape{1}, {1})}};
      for (const char* name : {names::seed, names::faults, names::first_row}) values[name] = Array(Shape{});
      values[names::step] = Array(Shape{}, {static_cast<double>(start)});
      CompiledGraph compiled(graph, backend("cpu"), values);
      double wanted = 0;
      for (std::int64_t step = start; step < start + 3; ++step) {
        CHECK(std::isfinite(at(step)));
        CHECK(at(step) >= 0);
        wanted -= at(step);
        const Step after = compiled.step(values);
        CHECK(after.states.at("w").data[0] == doctest::Approx(wanted).epsilon(1e-5));
        CHECK(after.states.at(names::step).data[0] == static_cast<double>(step + 1));
      }
    }
  });
}

}  // namespace strata::test
