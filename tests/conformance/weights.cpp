// SPDX-License-Identifier: Apache-2.0
// What makes and holds weights: every initializer's, regularizer's and constraint's examples.
#include <algorithm>
#include <numeric>

#include "strata/layers.h"
#include "strata/ops.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/graph_run.h"
#include "support/message.h"
#include "support/training.h"

namespace strata::test {
namespace {

std::vector<double> made(const Initializer& initializer, const Shape& shape, const std::string& path = "a/kernel",
                         std::uint64_t seed = 1) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()), NAN);
  initializer->make(Fill{shape, seed, path}, values);
  return values;
}

bool draws(const Initializer& initializer) { return initializer.schema().find("seed") != nullptr; }

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  Moments m;
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (const double value : values) m.deviation += (value - m.mean) * (value - m.mean);
  m.deviation = std::sqrt(m.deviation / count);
  return m;
}

// A weight, something made of it, and their values.
struct Made {
  Graph graph;
  Arrays feeds;
  Value weight;

  explicit Made(const Array& value, DType dtype = DType::float64) {
    feeds["w"] = value;
    weight = graph.input("w", {value.shape, dtype});
  }
  Array result(const Value& value) const {
    return evaluate(graph, feeds)[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
};

Array weights_of(const Shape& shape) {
  Array array = uniform(shape, 5);
  for (double& value : array.data) value = round_to(DType::float32, value);
  return array;
}

}  // namespace

TEST_CASE("every initializer: the same numbers for the same path and seed, others elsewhere when they are drawn") {
  each_example<Initializer>([](const Initializer& initializer, const Schema::Example& example) {
    const Shape shape{4, 6};
    const auto first = made(initializer, shape);
    CHECK(first == made(initializer, shape));
    CHECK(first == made(initializer.clone(), shape));
    const bool drawn = draws(initializer) && !example.args().find("seed");
    CHECK((first != made(initializer, shape, "b/kernel")) == drawn);
    CHECK((first != made(initializer, shape, "a/kernel", 2)) == drawn);
    if (!draws(initializer)) return;
    Config args = example.args();
    args.set("seed", Config(11));
    const Initializer own = parts<Initializer>().make(initializer.name(), args);
    CHECK(made(own, shape, "a", 1) == made(own, shape, "b", 2));
    args.set("seed", Config(12));
    CHECK(made(own, shape) != made(parts<Initializer>().make(initializer.name(), args), shape));
  });
}

TEST_CASE("every initializer fills any shape with finite numbers, or names the weight and its shape") {
  each_example<Initializer>([](const Initializer& initializer, const Schema::Example&) {
    int filled = 0;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 4}, Shape{4, 3}, Shape{1, 1},
                               Shape{0, 3}, Shape{3, 2, 4}, Shape{3, 3, 2, 5}, Shape{2, 3, 3, 2, 5}}) {
      CAPTURE(to_text(shape));
      std::vector<double> values;
      const std::string said = message_of([&] { values = made(initializer, shape, "block/kernel"); });
      if (said == "(no error)") {
        ++filled;
        for (const double value : values) CHECK(std::isfinite(value));
      } else {
        CHECK_MESSAGE(said.find(initializer.name()) != std::string::npos, said);
        CHECK_MESSAGE(said.find("block/kernel") != std::string::npos, said);
        CHECK_MESSAGE(said.find(to_text(shape)) != std::string::npos, said);
      }
    }
    CHECK(filled >= 3);
  });
}

TEST_CASE("what is drawn has one distribution all over a large weight, whatever the seed and the path") {
  each_example<Initializer>([](const Initializer& initializer, const Schema::Example&) {
    if (!draws(initializer)) return;
    const Shape shape{120, 100};
    const auto values = made(initializer, shape), other = made(initializer, shape, "b/kernel", 9);
    const std::span<const double> all(values);
    const Moments m = moments(all);
    CHECK(m.deviation > 0);
    const std::size_t half = values.size() / 2;
    std::vector<double> columns;
    for (std::size_t i = 0; i < values.size(); i += 2) columns.push_back(values[i]);
    for (const std::span<const double>& part :
         {all.first(half), all.last(half), std::span<const double>(columns), std::span<const double>(other)}) {
      const Moments p = moments(part);
      const double error = m.deviation / std::sqrt(static_cast<double>(half));
      CHECK(std::abs(p.mean - m.mean) < 6 * error);
      CHECK(std::abs(p.deviation - m.deviation) < 6 * error);
    }
    // Neighbours know nothing of each other.
    double together = 0;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) together += (values[i] - m.mean) * (values[i + 1] - m.mean);
    CHECK(std::abs(together) < 6 * m.deviation * m.deviation * std::sqrt(static_cast<double>(values.size())));
    // Of 24 bits: 4 or 5 of 12,000 numbers come twice by chance.
    auto sorted = values;
    std::ranges::sort(sorted);
    int twice = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) twice += sorted[i] == sorted[i - 1];
    CHECK(twice < 24);
  });
}

TEST_CASE("every initializer makes a model's weights: one seed, one model") {
  each_example<Initializer>([](const Initializer& initializer, const Schema::Example& example) {
    auto kernel = [&](std::int64_t seed) {
      Sequential model({4}, {Layer(layers::Dense{.units = 6, .kernel_initializer = initializer})});
      model.build(seed);
      return model.weight("dense/kernel");
    };
    CHECK(same_bits(kernel(3), kernel(3)));
    CHECK(same_bits(kernel(3), kernel(4)) == (!draws(initializer) || example.args().find("seed")));
    CHECK(off(kernel(3),
              Tensor::from_doubles({{4, 6}, DType::float32}, made(initializer, {4, 6}, "dense/kernel", 3))) == 0);
  });
}

TEST_CASE(
    "every regularizer: a number that is 0 at 0 and grows; its gradient agrees with differences; in a model's loss") {
  each_example<Regularizer>([](const Regularizer& regularizer, const Schema::Example&) {
    Made m(weights_of({3, 4}));
    const Value penalty = regularizer->of(m.weight), twice = regularizer->of(m.weight * 2.0),
                nothing = regularizer->of(m.weight * 0.0);
    CHECK(penalty.shape() == Shape{});
    const double once = m.result(penalty).data[0];
    CHECK(once > 0);
    CHECK(m.result(twice).data[0] > once);
    CHECK(m.result(nothing).data[0] == 0);
    const Value gradient = gradients(penalty, std::span<const Value>(&m.weight, 1))[0];
    const Array own = m.result(gradient);
    auto& fed = m.feeds["w"].data;
    for (std::size_t i = 0; i < fed.size(); ++i) {
      const double h = 1e-6, before = fed[i];
      fed[i] = before + h;
      const double above = m.result(penalty).data[0];
      fed[i] = before - h;
      const double below = m.result(penalty).data[0];
      fed[i] = before;
      CHECK(own.data[i] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-6));
    }
    auto loss = [&](const Optional<Regularizer>& kernel_regularizer) {
      Sequential model({3}, {Layer(layers::Dense{.units = 4, .kernel_regularizer = kernel_regularizer})});
      model.compile({.loss = "mse"});
      model.set_weight("dense/kernel", tensor_of(m.feeds["w"]));
      return model.evaluate(numbers({5, 3}, 1), numbers({5, 4}, 2)).at("loss");
    };
    CHECK(loss(regularizer) - loss({}) == doctest::Approx(once).epsilon(1e-5));
  });
}

TEST_CASE("every constraint holds once applied, and in a model after a step; applying it again changes nothing") {
  each_example<Constraint>([](const Constraint& constraint, const Schema::Example& example) {
    // A rate below 1 goes part of the way: then many times are as once.
    const int times = example.args().find("rate") ? 60 : 1;
    auto settled = [&](Value w) {
      for (int i = 0; i < times; ++i) w = constraint->apply(w);
      return w;
    };
    for (const double scale : {0.05, 1.0, 20.0}) {
      CAPTURE(scale);
      Made m(weights_of({3, 4}));
      for (double& value : m.feeds["w"].data) value *= scale;
      const Value once = settled(m.weight);
      CHECK(once.type() == m.weight.type());
      const Array first = m.result(once), again = m.result(constraint->apply(once));
      CHECK(difference(first, again) < 1e-5);
      for (const double value : first.data) CHECK(std::isfinite(value));
    }
    Made nothing(Array(Shape{3, 4}));
    for (const double value : nothing.result(constraint->apply(nothing.weight)).data) CHECK(std::isfinite(value));

    Made large(weights_of({3, 4}));
    for (double& value : large.feeds["w"].data) value *= 20;
    CHECK(difference(large.result(settled(large.weight)), large.feeds["w"]) > 0.01);
    Sequential model({3}, {Layer(layers::Dense{.units = 4, .kernel_constraint = constraint})});
    model.compile({.optimizer = parts<Optimizer>().make("SGD", parse_flow("{learning_rate: 0.1}")), .loss = "mse"});
    model.set_weight("dense/kernel", tensor_of(large.feeds["w"]));
    for (int i = 0; i < times; ++i) model.train_on_batch({numbers({5, 3}, 1)}, {numbers({5, 4}, 2)});
    Made trained(array_of(model.weight("dense/kernel")));
    CHECK(difference(trained.result(constraint->apply(trained.weight)), trained.feeds["w"]) < (times > 1 ? 0.1 : 1e-5));
  });
}

TEST_CASE("every regularizer, its gradient, and every constraint compiled in float32 are the oracle's") {
  auto check = [](auto build) {
    Made exact(weights_of({3, 4})), own(weights_of({3, 4}), DType::float32);
    for (Made* m : {&exact, &own}) build(*m);
    CompiledGraph compiled(own.graph, backend("cpu"), own.feeds);
    const auto [by, what] = difference(oracle_step(exact.graph, exact.feeds), compiled.step(own.feeds));
    CHECK_MESSAGE(by < 1e-5, what << " by " << by);
  };
  each_example<Regularizer>([&](const Regularizer& regularizer, const Schema::Example&) {
    check([&](Made& m) {
      const Value penalty = regularizer->of(m.weight);
      m.graph.output("penalty", penalty);
      m.graph.output("gradient", gradients(penalty, std::span<const Value>(&m.weight, 1))[0]);
    });
  });
  each_example<Constraint>([&](const Constraint& constraint, const Schema::Example&) {
    check([&](Made& m) { m.graph.output("w", constraint->apply(m.weight)); });
  });
}

}  // namespace strata::test
