// SPDX-License-Identifier: Apache-2.0
// Building programs, running them by the oracle, copying one into another, and what verify finds.
#include "strata/graph.h"

#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

using test::message_of, test::result;

const Type row{{3}, DType::float32};

TEST_CASE("asking for an input or a state again gives the same value; another type is refused with both") {
  Graph graph;
  Value x = graph.input("x", row), w = graph.state("dense/kernel", row);
  CHECK(graph.input("x", row) == x);
  CHECK(graph.state("dense/kernel", row) == w);
  CHECK(graph.size() == 2);
  CHECK(message_of([&] {
          (void)graph.input("x", {{4}, DType::float32});
        }) == "input 'x' is float32[3], but is asked for as float32[4]");
  CHECK(message_of([&] {
          (void)graph.state("dense/kernel", {{3}, DType::float16});
        }) == "state 'dense/kernel' is float32[3], but is asked for as float16[3]");
  CHECK(message_of([&] { (void)graph.input("", row); }) == "input needs a name; this one, float32[3], has none");
  CHECK(graph.find_input("x") == Graph::ref(x));
  CHECK_FALSE(graph.find_input("dense/kernel"));
  CHECK_FALSE(graph.find_state("x"));
}

TEST_CASE("a state's next may be replaced, an output too; guards are joined") {
  Graph graph;
  Value w = graph.state("w", row), half = w * 0.5, twice = w * 2.0;
  CHECK_FALSE(graph.next_of("w"));
  graph.next(w, half);
  graph.next(w, twice, Advance::always);
  REQUIRE(graph.nexts().size() == 1);
  CHECK(graph.nexts()[0].advance == Advance::always);
  CHECK(graph.next_of("w") == Graph::ref(twice));
  CHECK(message_of([&] { graph.next(w, sum(w)); }) == "state 'w' is float32[3], but would hold float32[] next");
  graph.output("y", half);
  graph.output("y", twice);
  REQUIRE(graph.outputs().size() == 1);
  CHECK(graph.outputs()[0].value == Graph::ref(twice));
  CHECK_FALSE(graph.ok());
  Value finite = reduce_all(is_finite(w)), small = reduce_all(less(w, full_like(w, 1)));
  graph.guard(finite);
  CHECK(graph.ok() == Graph::ref(finite));
  graph.guard(small);
  const auto holds = [&](double value) {
    return evaluate(graph, {{"w", Array({3}, {value, 0, 0})}})[static_cast<std::size_t>(graph.ok().node)][0].data[0];
  };
  CHECK(holds(0.5) == 1);
  CHECK(holds(2) == 0);
  CHECK(holds(-HUGE_VAL) == 0);
  CHECK(message_of([&] { graph.guard(w); }) == "a guard must be a bool scalar, got float32[3]");
}

TEST_CASE("nodes bear the scope they were made in") {
  Graph graph;
  Value x = graph.input("x", row);
  {
    const Graph::Labelled outer(graph, "block");
    Value y = x + x;
    CHECK(graph[y.node].scope == "block");
    {
      const Graph::Labelled inner(graph, "block/dense");
      CHECK(graph[(y * y).node].scope == "block/dense");
    }
    CHECK(graph[(y - x).node].scope == "block");
  }
  CHECK(graph[(x * x).node].scope.empty());
}

TEST_CASE("the oracle says what is not fed, or fed in another shape") {
  Graph graph;
  Value y = graph.input("x", row) + graph.state("w", row);
  CHECK(message_of([&] {
          (void)evaluate(graph, {{"x", Array({3}, {1, 2, 3})}});
        }) == "evaluate: state 'w' (float32[3]) is not fed");
  CHECK(message_of([&] {
          (void)evaluate(graph, {{"x", Array(Shape{2})}, {"w", Array(Shape{3})}});
        }) == "evaluate: input 'x' is float32[3], fed with [2]");
  const auto values = evaluate(graph, {{"x", Array({3}, {1, 2, 3})}, {"w", Array({3}, {1, 1, 1})}});
  CHECK(result(values, y).data == std::vector<double>{2, 3, 4});
}

TEST_CASE("the oracle keeps floats in double and integers as their type does") {
  Graph graph;
  Value x = graph.input("x", {{4}, DType::float32});
  const Array fed({4}, {-1.75, 0.1, 2.5, 300.9});
  Value narrow = cast(cast(x, DType::bfloat16), DType::float32), whole = cast(x, DType::int32), rounded = round(x),
        truth = cast(x, DType::boolean);
  const auto values = evaluate(graph, {{"x", fed}});
  CHECK(result(values, narrow).data == fed.data);
  CHECK(result(values, whole).data == std::vector<double>{-1, 0, 2, 300});
  CHECK(result(values, rounded).data == std::vector<double>{-2, 0, 2, 301});
  CHECK(result(values, truth).data == std::vector<double>{1, 1, 1, 1});
}

TEST_CASE("a body is copied in with its inputs replaced, in the order they were made") {
  Graph body;
  Value b = body.input("second_by_name", row), a = body.input("first_by_name", row);
  body.output("difference", b - a);
  body.output("scaled", b * body.state("scale", row));
  Graph graph;
  const Values inputs{graph.input("x", row), graph.input("y", row)};
  const Graph::Labelled label(graph, "here");
  const Values outputs = inlined(graph, body, inputs);
  verify(graph);
  REQUIRE(outputs.size() == 2);
  CHECK(graph[outputs[0].node].scope == "here");
  const auto values =
      evaluate(graph, {{"x", Array({3}, {5, 6, 7})}, {"y", Array({3}, {1, 1, 1})}, {"scale", Array({3}, {2, 2, 2})}});
  CHECK(result(values, outputs[0]).data == std::vector<double>{4, 5, 6});
  CHECK(result(values, outputs[1]).data == std::vector<double>{10, 12, 14});
  CHECK_THROWS_AS((void)inlined(graph, body, std::span(inputs).first(1)), InternalError);
}

TEST_CASE("verify finds what a pass may have broken") {
  const auto broken = [](void (*damage)(Graph&)) -> std::string {
    Graph graph;
    Value x = graph.input("x", row), w = graph.state("w", row), y = tanh(x) * w;
    graph.next(w, y);
    graph.output("y", y);
    graph.guard(reduce_all(is_finite(y)));
    verify(graph);
    damage(graph);
    try {
      verify(graph);
    } catch (const InternalError& error) {
      const std::string text = error.what();
      return text.substr(text.rfind(": ") + 2);
    }
    return "(sound)";
  };
  CHECK(broken([](Graph&) {}) == "(sound)");
  CHECK(broken([](Graph& g) {
          g.mutable_node(2).inputs[0] = {3, 0};
        }) == "node 2 (tanh) reads node 3, which does not come before it");
  CHECK(broken([](Graph& g) { g.mutable_node(2).inputs[0] = {0, 1}; }) == "node 2 (tanh) reads output 1 of node 0");
  CHECK(broken([](Graph& g) {
          g.mutable_node(2).types[0] = {{2}, DType::float32};
        }) == "node 2 (tanh) says float32[2], its rule gives float32[3]");
  CHECK(broken([](Graph& g) { g.mutable_node(2).types.clear(); }) == "node 2 (tanh) has no outputs");
  CHECK(broken([](Graph& g) { g.mutable_node(2).op = nullptr; }) == "node 2 has no op");
  CHECK(broken([](Graph& g) { g.mutable_node(0).label.clear(); }) == "leaf 0 has no name");
  CHECK(broken([](Graph& g) { g.mutable_node(1).types[0].dtype = DType::float64; }) ==
        "a float32[3], b float64[3]; cast one of them");
  CHECK(broken([](Graph& g) { g.mutable_node(1).op = g[0].op; }) == "a next is of node 1 (input), which is no state");
}

TEST_CASE("an op's name belongs to one op") {
  static constinit const OpDef impostor{.name = "tanh", .doc = "Something else."};
  CHECK(message_of([] { register_op(impostor); }) == "there is an op 'tanh' already; give yours another name");
  CHECK(ops().at("tanh") != &impostor);
}

}  // namespace
}  // namespace strata
