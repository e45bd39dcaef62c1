// SPDX-License-Identifier: Apache-2.0
// What parts ask a scope for: paths, weights, streams of random numbers, masks, checks, penalties.
#include "strata/scope.h"

#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

struct Traced {
  Graph graph;
  Trace trace;
  Traced() {
    trace.graph = &graph;
    trace.training = true;
    trace.rows = 4;
  }
  Scope scope(const std::string& path, Precision precision = {}) { return Scope(trace, path, precision); }
  const Random& random_of(Value value) { return graph[value.node].attributes.as<Random>(); }
};

TEST_CASE("weights stand at their paths, declared once, in the order they were asked for") {
  Traced t;
  const Scope dense = t.scope("block").child("dense");
  CHECK(dense.path() == "block/dense");
  CHECK(t.scope("").child("dense").path() == "dense");
  Value kernel = dense.weight("kernel", {3, 2}), bias = dense.weight("bias", {2}, {.initializer = "zeros"});
  CHECK(dense.weight("kernel", {3, 2}) == kernel);
  CHECK(t.graph[bias.node].label == "block/dense/bias");
  CHECK(t.trace.order == std::vector<std::string>{"block/dense/kernel", "block/dense/bias"});
  CHECK(t.trace.states.at("block/dense/kernel").trainable);
  CHECK(test::message_of([&] {
          (void)dense.weight("kernel", {3, 4});
        }) == "state 'block/dense/kernel' is float32[3, 2], but is asked for again as float32[3, 4]");
}

TEST_CASE("weights are kept in the variable dtype and read in the compute dtype, unless autocast is off") {
  Traced t;
  const Scope s = t.scope("dense", {DType::bfloat16, DType::float32});
  CHECK(s.weight("kernel", {2}).dtype() == DType::bfloat16);
  CHECK(s.weight("scale", {2}, {.autocast = false}).dtype() == DType::float32);
  CHECK(s.state("mean", {{2}, DType::float32}).dtype() == DType::float32);
  CHECK(t.trace.states.at("dense/kernel").type.dtype == DType::float32);
  CHECK_FALSE(t.trace.states.at("dense/mean").trainable);
}

TEST_CASE("nothing is trainable in a frozen layer") {
  Traced t;
  const Scope s(t.trace, "dense", {}, false);
  (void)s.weight("kernel", {2});
  CHECK_FALSE(s.child("inner").trainable());
  CHECK_FALSE(t.trace.states.at("dense/kernel").trainable);
}

TEST_CASE("each call for random numbers is a stream of its own; an explicit seed is another") {
  Traced t;
  const Scope dropout = t.scope("dropout");
  Value a = dropout.random({4, 2}), b = dropout.random({4, 2}), c = dropout.random({4, 2}, Distribution::normal, 7),
        d = t.scope("other").random({4, 2}, Distribution::bits);
  CHECK(t.random_of(a).stream == "dropout#0");
  CHECK(t.random_of(b).stream == "dropout#1");
  CHECK(t.random_of(c).stream == "dropout#2#7");
  CHECK(t.random_of(d).stream == "other#0");
  CHECK(t.random_of(c).distribution == "normal");
  CHECK(d.dtype() == DType::int64);
  const auto values = [&](double seed, double step, double row) {
    return evaluate(
        t.graph,
        {{names::seed, Array({}, {seed})}, {names::step, Array({}, {step})}, {names::first_row, Array({}, {row})}});
  };
  const auto first = values(1, 0, 0);
  CHECK(test::result(first, a).data != test::result(first, b).data);
  CHECK(test::result(values(1, 0, 0), a).data == test::result(first, a).data);
  CHECK(test::result(values(2, 0, 0), a).data != test::result(first, a).data);
  CHECK(test::result(values(1, 1, 0), a).data != test::result(first, a).data);
  // The second half of a batch drawn alone is the second half of the whole: rows 2 and 3.
  const auto later = values(1, 0, 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK(test::result(later, a).data[i] == test::result(first, a).data[i + 4]);
}

TEST_CASE("what is not a row a sample is the same on every replica") {
  Traced t;
  Value a = t.scope("noise").random({3, 2}), scalar = t.scope("noise").random({});
  CHECK_FALSE(t.graph.find_input(names::first_row));
  CHECK(a.shape() == Shape{3, 2});
  CHECK(scalar.shape() == Shape{});
}

TEST_CASE("a mask goes with a value until it is taken off") {
  Traced t;
  const Scope s = t.scope("embedding");
  Value x = t.graph.input("x", {{4, 5, 2}, DType::float32}), mask = t.graph.input("m", {{4, 5}, DType::boolean});
  CHECK_FALSE(s.mask(x));
  CHECK_FALSE(s.mask(Value{}));
  s.set_mask(x, mask);
  CHECK(s.mask(x) == mask);
  CHECK_FALSE(s.mask(x * 2.0));
  s.set_mask(x, {});
  CHECK_FALSE(s.mask(x));
}

TEST_CASE("a check that fails stops the commit and sets its bit, whether the step counts or not") {
  Traced t;
  const Scope s = t.scope("loss");
  Value x = t.graph.input("x", {{}, DType::float32});
  s.check(less(x, full_like(x, 1)), "x is below 1");
  s.check(less(x, full_like(x, 2)), "x is below 2");
  s.check(greater(x, full_like(x, -1)), "x is above -1");
  CHECK(t.trace.checks[1].second == "x is below 2");
  REQUIRE(t.graph.nexts().size() == 1);
  CHECK(t.graph.nexts()[0].advance == Advance::always);
  const auto outcome = [&](double value) {
    const auto values = evaluate(t.graph, {{"x", Array({}, {value})}, {names::faults, Array({}, {0})}});
    const Ref faults = t.graph.next_of(names::faults);
    return std::pair(values[static_cast<std::size_t>(t.graph.ok().node)][0].data[0],
                     values[static_cast<std::size_t>(faults.node)][0].data[0]);
  };
  CHECK(outcome(0) == std::pair(1.0, 0.0));
  CHECK(outcome(1.5) == std::pair(0.0, 1.0));
  CHECK(outcome(3) == std::pair(0.0, 3.0));
  CHECK(outcome(-2) == std::pair(0.0, 4.0));
}

TEST_CASE("penalties count in training and evaluation; knobs are float32 scalars with a first value") {
  Traced t;
  const Scope s = t.scope("dense");
  Value x = t.graph.input("x", {{}, DType::float32});
  s.penalty(x);
  CHECK(t.trace.penalties.size() == 1);
  t.trace.training = false;
  s.penalty(x);
  CHECK(t.trace.penalties.size() == 2);
  Value rate = s.knob("optimizer/learning_rate", 0.25);
  CHECK(rate.type() == Type{{}, DType::float32});
  CHECK(s.knob("optimizer/learning_rate", 0.5) == rate);
  CHECK(t.trace.knobs.at("optimizer/learning_rate") == 0.25);
  CHECK(s.step().type() == Type{{}, DType::int64});
}

}  // namespace
}  // namespace strata
