// SPDX-License-Identifier: Apache-2.0
// Losses and metrics: reductions, sample weights, masks; shapes and labels that are refused.
#include "strata/loss.h"

#include <doctest/doctest.h>

#include <cmath>

#include "strata/metric.h"
#include "strata/precision.h"
#include "support/arrays.h"
#include "support/message.h"

using namespace strata;
using namespace strata::test;

namespace {

struct Batch {
  Graph graph;
  Trace trace;
  std::map<std::string, Array> feeds;

  Batch() {
    trace.graph = &graph;
    trace.training = true;
    trace.rows = 4;
    trace.precision = precision_named("float64");
    for (const char* name : {names::seed, names::step, names::first_row, names::faults}) feeds[name] = Array(Shape{});
  }
  Scope scope() { return {trace, "", trace.precision}; }
  Value input(const std::string& name, const Array& value, DType dtype = DType::float64) {
    feeds[name] = value;
    return graph.input(name, {value.shape, dtype});
  }
  Array result(Value value) {
    return evaluate(graph, feeds)[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
};

double reduced(const std::string& loss, const Array& p, const Array& t, const Array* weight = nullptr,
               const Array* mask = nullptr) {
  Batch b;
  Scope scope = b.scope();
  const Reduced r =
      reduce_loss(scope, parts<Loss>().make("mse", parse_flow(loss)), b.input("p", p), b.input("t", t),
                  weight ? b.input("w", *weight) : Value{}, mask ? b.input("m", *mask, DType::boolean) : Value{});
  return b.result(r.numerator).data[0] / b.result(r.denominator).data[0];
}

std::string refusal(const char* loss, const Shape& p, const Shape& t, DType dtype = DType::float64) {
  return message_of([&] {
    Batch b;
    Scope scope = b.scope();
    reduce_loss(scope, loss, b.input("p", Array(p)), b.input("t", Array(t), dtype), {}, {});
  });
}

}  // namespace

TEST_CASE("reductions divide as Keras does") {
  const Array p(Shape{4, 1}, {1, 2, 3, 4}), t(Shape{4, 1}, {0, 0, 0, 0}), w(Shape{4}, {1, 0, 2, 1});
  const Array m(Shape{4}, {1, 1, 0, 0});
  CHECK(reduced("{}", p, t) == 7.5);
  CHECK(reduced("{reduction: mean}", p, t, &w) == (1 + 18 + 16) / 4.0);  // weights do not enter the divisor
  CHECK(reduced("{reduction: mean_with_sample_weight}", p, t, &w) == (1 + 18 + 16) / 4.0);
  const Array heavy(Shape{4}, {2, 0, 0, 0});
  CHECK(reduced("{}", p, t, &heavy) == 0.5);
  CHECK(reduced("{reduction: mean_with_sample_weight}", p, t, &heavy) == 1);
  CHECK(reduced("{reduction: sum}", p, t, &w) == 35);
  CHECK(reduced("{}", p, t, nullptr, &m) == 2.5);  // the mean over what counts
  CHECK(reduced("{}", p, t, &heavy, &m) == 1);
  const Array nothing(Shape{4});
  CHECK(reduced("{}", p, t, nullptr, &nothing) == 0);
  CHECK(reduced("{reduction: mean_with_sample_weight}", p, t, &nothing) == 0);
}

TEST_CASE("what lies under a mask does not count, NaN included") {
  const Array p(Shape{2, 2, 1}, {1, NAN, 2, INFINITY}), t(Shape{2, 2, 1}), m(Shape{2, 2}, {1, 0, 1, 0});
  CHECK(reduced("{}", p, t, nullptr, &m) == 2.5);
}

TEST_CASE("a trailing axis of 1 is bridged; other shapes that would broadcast are refused") {
  const Array p(Shape{4, 1}, {1, 2, 3, 4}), flat(Shape{4});
  CHECK(reduced("{}", p, flat) == 7.5);
  CHECK(reduced("{}", Array(Shape{4}, {1, 2, 3, 4}), Array(Shape{4, 1})) == 7.5);
  const std::string said = refusal("mse", {4, 1}, {4, 3});
  CHECK(said.find("MeanSquaredError") != std::string::npos);
  CHECK(said.find("[4, 1]") != std::string::npos);
  CHECK(said.find("[4, 3]") != std::string::npos);
  CHECK(refusal("mse", {4, 3}, {4}).find("[4, 3]") != std::string::npos);
  CHECK(refusal("sparse_categorical_crossentropy", {4, 3}, {4, 3}, DType::int32).find("one class number") !=
        std::string::npos);
  CHECK(refusal("sparse_categorical_crossentropy", {4, 3}, {4, 1}, DType::int32) == "(no error)");
  const std::string weights = message_of([] {
    const Array w(Shape{3}, {1, 1, 1});
    reduced("{}", Array(Shape{4, 1}), Array(Shape{4, 1}), &w);
  });
  CHECK(weights.find("sample weight [3]") != std::string::npos);
}

TEST_CASE("labels outside their range fail the step and say so") {
  for (const double label : {-1.0, 3.0, 2.0}) {
    Batch b;
    Scope scope = b.scope();
    reduce_loss(scope, "sparse_categorical_crossentropy", b.input("p", uniform({1, 3}, 1, 0.1, 0.9)),
                b.input("t", Array(Shape{1}, {label}), DType::int32), {}, {});
    REQUIRE(b.trace.checks.size() == 1);
    CHECK(b.trace.checks[0].second == "a label is outside [0, 3)");
    CHECK(b.result(b.graph.value(b.graph.ok())).data[0] == (label == 2 ? 1 : 0));
  }
  Batch b;  // what is ignored may be any number
  Scope scope = b.scope();
  reduce_loss(scope, parts<Loss>().make("SparseCategoricalCrossentropy", parse_flow("{ignore_class: -1}")),
              b.input("p", uniform({1, 3}, 1, 0.1, 0.9)), b.input("t", Array(Shape{1}, {-1}), DType::int32), {}, {});
  CHECK(b.result(b.graph.value(b.graph.ok())).data[0] == 1);
}

TEST_CASE("16-bit predictions are reduced in float32, float64 ones in float64") {
  for (const auto& [in, out] : {std::pair(DType::bfloat16, DType::float32), std::pair(DType::float16, DType::float32),
                                std::pair(DType::float64, DType::float64)}) {
    Batch b;
    Scope scope = b.scope();
    const Reduced r =
        reduce_loss(scope, "mse", b.input("p", Array(Shape{4, 1}), in), b.input("t", Array(Shape{4, 1})), {}, {});
    CHECK(r.numerator.dtype() == out);
    CHECK(r.denominator.dtype() == out);
  }
}

TEST_CASE("a dtype that a loss or metric would not compute in is refused") {
  CHECK(message_of([] { parts<Loss>().make("mse", parse_flow("{dtype: flot64}")); }) ==
        "loss: 'dtype' must be one of float32 or float64, got flot64; did you mean 'float64'?");
  CHECK(message_of([] { parts<Loss>().make("mse", parse_flow("{dtype: ''}")); }) == "(no error)");
  CHECK(message_of([] {
          parts<Metric>().make("mse", parse_flow("{dtype: float64}"));
        }).starts_with("metric: 'dtype' must be float32, got float64"));
}

TEST_CASE("accuracy and crossentropy mean what fits the shapes") {
  const Type one{{4, 1}, DType::float32}, many{{4, 3}, DType::float32}, classes{{4}, DType::int32},
      column{{4, 1}, DType::int32};
  CHECK(accuracy_for(one, one).name() == "BinaryAccuracy");
  CHECK(accuracy_for(many, classes).name() == "SparseCategoricalAccuracy");
  CHECK(accuracy_for(many, column).name() == "SparseCategoricalAccuracy");
  CHECK(accuracy_for(many, many).name() == "CategoricalAccuracy");
  CHECK(crossentropy_for(one, one).name() == "BinaryCrossentropy");
  CHECK(crossentropy_for(many, column).name() == "SparseCategoricalCrossentropy");
  CHECK(crossentropy_for(many, many).name() == "CategoricalCrossentropy");
}
