// SPDX-License-Identifier: Apache-2.0
// Every loss's and metric's examples: gradients against differences, the ends of the range, compiled beside the oracle,
// batches of several sizes that give one batch's figures.
#include "strata/datasets.h"
#include "strata/layers.h"
#include "strata/ops.h"
#include "strata/precision.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/graph_run.h"
#include "support/training.h"

namespace strata::test {
namespace {

// Predictions [rows, 3, 3] and targets that suit, in a graph of one dtype.
struct Judged {
  Graph graph;
  Trace trace;
  Arrays feeds;
  Value predicted, target, weight;

  Scope scope() { return {trace, "", trace.precision}; }
  Array result(const Value& value) const {
    return evaluate(graph, feeds)[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
};

// The axis along which classes lie; the targets have one less axis then.
Shape target_shape(Target kind, const Config& args, const Shape& predicted) {
  if (kind != Target::classes) return predicted;
  const Config* axis = args.find("axis");
  return predicted.without(predicted.axis(axis ? static_cast<int>(std::get<std::int64_t>(axis->data)) : -1));
}

std::unique_ptr<Judged> judged(Target kind, const Config& args, const Array& predicted, DType dtype = DType::float64,
                               const Array& weights = {}) {
  auto j = std::make_unique<Judged>();
  j->trace.graph = &j->graph;
  j->trace.training = true;
  j->trace.rows = predicted.shape[0];
  j->trace.precision = {dtype, dtype};
  for (const char* name : {names::seed, names::step, names::first_row, names::faults}) j->feeds[name] = Array(Shape{});
  const Shape targets = target_shape(kind, args, predicted.shape);
  const DType labels = kind == Target::classes ? DType::int32 : dtype;
  j->feeds["p"] = predicted;
  j->feeds["t"] = drawn({{targets, labels}, kind == Target::classes ? 0 : 0.05, kind == Target::classes ? 3 : 0.95}, 4);
  for (double& value : j->feeds["t"].data) value = round_to(DType::float32, value);
  j->predicted = j->graph.input("p", {predicted.shape, dtype});
  j->target = j->graph.input("t", {targets, labels});
  if (!weights.data.empty()) {
    j->feeds["w"] = weights;
    j->weight = j->graph.input("w", {weights.shape, dtype});
  }
  return j;
}

Array float_array(Array array) {
  for (double& value : array.data) value = round_to(DType::float32, value);
  return array;
}
Array predictions(std::int64_t rows) { return float_array(uniform({rows, 3, 3}, 3, 0.05, 0.95)); }
Array rows_of(const Array& array, std::int64_t begin, std::int64_t end) {
  const std::size_t row = array.data.size() / static_cast<std::size_t>(array.shape[0]);
  return {array.shape.with(0, end - begin),
          {array.data.begin() + begin * static_cast<std::ptrdiff_t>(row),
           array.data.begin() + end * static_cast<std::ptrdiff_t>(row)}};
}

// value and gradient of a loss as outputs of the graph.
std::pair<Value, Value> traced_loss(Judged& j, const Loss& loss) {
  Scope scope = j.scope();
  const Reduced r = reduce_loss(scope, loss, j.predicted, j.target, j.weight, {});
  const Value value = r.numerator / r.denominator;
  const Value gradient = gradients(value, std::span<const Value>(&j.predicted, 1))[0];
  j.graph.output("value", value);
  j.graph.output("gradient", gradient);
  verify(j.graph);
  return {value, gradient};
}

}  // namespace

TEST_CASE("every loss: one number a sample, and a gradient that agrees with differences") {
  each_example<Loss>([](const Loss& loss, const Schema::Example& example) {
    const auto j = judged(loss->target(), example.args(), predictions(4));
    Scope scope = j->scope();
    const Reduced alone = reduce_loss(scope, loss, j->predicted, j->target, {}, {});
    CHECK(alone.per_sample.shape() == Shape{4, 3});
    const auto [value, gradient] = traced_loss(*j, loss);
    const Array own = j->result(gradient);
    auto& fed = j->feeds["p"].data;
    for (std::size_t i = 0; i < fed.size(); ++i) {
      const double h = 1e-6, before = fed[i];
      fed[i] = before + h;
      const double above = j->result(value).data[0];
      fed[i] = before - h;
      const double below = j->result(value).data[0];
      fed[i] = before;
      CHECK(own.data[i] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-6));
    }
  });
}

TEST_CASE("every loss compiled in float32 gives the oracle's value and gradient, with sample weights") {
  const Array weights = float_array(uniform({4}, 9, 0, 2));
  each_example<Loss>([&](const Loss& loss, const Schema::Example& example) {
    const auto exact = judged(loss->target(), example.args(), predictions(4), DType::float64, weights);
    const auto own = judged(loss->target(), example.args(), predictions(4), DType::float32, weights);
    traced_loss(*exact, loss);
    traced_loss(*own, loss);
    CompiledGraph compiled(own->graph, backend("cpu"), own->feeds);
    const Step wanted = oracle_step(exact->graph, exact->feeds), found = compiled.step(own->feeds);
    CHECK(found.committed == wanted.committed);
    for (const char* name : {"value", "gradient"})
      CHECK_MESSAGE(difference(wanted.outputs.at(name), found.outputs.at(name)) < 1e-5, name);
  });
}

TEST_CASE("every loss and its gradient are finite where predictions are 0 and 1, all equal, or large logits") {
  each_example<Loss>([&](const Loss& loss, const Schema::Example& example) {
    const Config args = example.args();
    const Config* logits = args.find("from_logits");
    // Not all 0: what sums to 0 is no distribution, and NaN as in Keras.
    std::vector<Array> ends{Array(Shape{4, 3, 3}, std::vector<double>(36, 1.0)),
                            Array(Shape{4, 3, 3}, std::vector<double>(36, 0.5))};
    Array corners(Shape{4, 3, 3});
    for (std::size_t i = 0; i < 36; i += 2) corners.data[i] = 1;
    ends.push_back(corners);
    if (logits && *logits == Config(true))
      for (const double size : {90.0, 1e4}) {
        ends.push_back(corners);
        for (double& value : ends.back().data) value = (2 * value - 1) * size;
      }
    for (std::size_t e = 0; e < ends.size(); ++e) {
      CAPTURE(e);
      const auto j = judged(loss->target(), example.args(), ends[e], DType::float32);
      traced_loss(*j, loss);
      CompiledGraph compiled(j->graph, backend("cpu"), j->feeds);
      for (const auto& [name, array] : compiled.step(j->feeds).outputs)
        for (const double value : array.data) CHECK_MESSAGE(std::isfinite(value), name);
    }
  });
}

TEST_CASE("every metric: the statistics of two batches, weighted, add up to those of both; none counted is 0") {
  each_example<Metric>([](const Metric& metric, const Schema::Example& example) {
    const Array all = predictions(8), weights = float_array(uniform({8}, 6, 0, 2));
    Array targets;
    auto totals = [&](std::int64_t begin, std::int64_t end, bool weighted) {
      const auto j = judged(metric->target(), example.args(), rows_of(all, begin, end), DType::float64,
                            weighted ? rows_of(weights, begin, end) : Array());
      if (begin == 0 && end == 8) targets = j->feeds["t"];
      j->feeds["t"] = rows_of(targets, begin, end);
      Scope scope = j->scope();
      std::vector<Array> found;
      for (const Value& statistic : metric->statistics(scope, j->predicted, j->target, j->weight))
        found.push_back(j->result(statistic));
      return found;
    };
    for (const bool weighted : {false, true}) {
      CAPTURE(weighted);
      const auto both = totals(0, 8, weighted), first = totals(0, 3, weighted), second = totals(3, 8, weighted);
      std::vector<Array> sums = first, none;
      for (std::size_t k = 0; k < both.size(); ++k) {
        REQUIRE(both[k].shape == first[k].shape);  // a state: it cannot depend on the rows
        for (std::size_t i = 0; i < both[k].data.size(); ++i) {
          sums[k].data[i] += second[k].data[i];
          CHECK(both[k].data[i] == doctest::Approx(sums[k].data[i]).epsilon(1e-6));
        }
        none.emplace_back(both[k].shape);
      }
      CHECK(std::isfinite(metric->result(both)));
      CHECK(metric->result(sums) == doctest::Approx(metric->result(both)).epsilon(1e-6));
      CHECK(metric->result(none) == 0);
    }
  });
}

TEST_CASE("evaluate gives the same figures in batches of 4, 4 and 2 as in one, for every metric and loss") {
  const Tensor x = tensor_of(predictions(10));
  auto figures = [&](const Loss& loss, const MetricList& metrics, Target kind, const Config& args, int batch_size) {
    Sequential model({3, 3}, {Layer(layers::Identity{})});
    model.compile({.loss = loss, .metrics = metrics});
    const Shape shape = target_shape(kind, args, x.shape());
    const Tensor y = kind == Target::classes ? numbers(shape, 4, 0, 3, DType::int32) : numbers(shape, 4, 0.05, 0.95);
    return model.evaluate(x, y, {.batch_size = batch_size});
  };
  auto check = [&](const Loss& loss, const MetricList& metrics, Target kind, const Config& args) {
    const Figures one = figures(loss, metrics, kind, args, 10), several = figures(loss, metrics, kind, args, 4);
    REQUIRE(one.size() == 1 + metrics.metrics.size());
    for (const auto& [name, value] : one) {
      CAPTURE(name);
      CHECK(std::isfinite(value));
      CHECK(several.at(name) == doctest::Approx(value).epsilon(1e-5));
    }
  };
  int checked = 0;
  each_example<Loss>([&](const Loss& loss, const Schema::Example& example) {
    // Batches count by their rows, as in Keras, also those of which samples are ignored: then the figure differs.
    const auto j = judged(loss->target(), example.args(), predictions(4));
    Scope scope = j->scope();
    if (loss->counted(scope, j->target)) return;
    check(loss, {}, loss->target(), example.args());
    ++checked;
  });
  CHECK(checked > 5);
  each_example<Metric>([&](const Metric& metric, const Schema::Example& example) {
    const bool labels = metric->target() == Target::classes;
    check(labels ? parts<Loss>().make("SparseCategoricalCrossentropy",
                                      example.args().find("axis") ? parse_flow("{axis: 1}") : Config())
                 : Loss("mse"),
          {metric}, metric->target(), example.args());
  });
}

}  // namespace strata::test
