// SPDX-License-Identifier: Apache-2.0
// Graphs as text: what is printed, what is read back, what a reader refuses and where.
#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

const Type matrix{{2, 3}, DType::float32};

TEST_CASE("a graph is printed a node a line, with scopes, nulls, several outputs, bodies, states and guards") {
  Graph graph;
  Value x = graph.input("x", matrix), w = graph.state("dense/kernel", {{3, 2}, DType::float32});
  Value y;
  {
    const Graph::Labelled label(graph, "block1/dense");
    y = matmul(x, w);
  }
  const Values normal = batch_norm(y, {}, {}, 0.5);
  auto body = std::make_shared<Graph>();
  Value h = body->input("h", {{3}, DType::float32}), step = body->input("x", {{3}, DType::float32});
  body->output("h", h + step);
  const Values start{full(graph, 0, {3})}, rows{x};
  graph.output("last", scan(graph, body, start, rows, {}, true)[0]);
  graph.output("mean \"of\" y", normal[1]);
  graph.next(w, w * 0.5);
  graph.next(graph.state("strata/step", {{}, DType::int64}), full(graph, 7, {}, DType::int64), Advance::always);
  graph.guard(reduce_all(is_finite(x)));
  const std::string text =
      "%0 = input(\"x\") : float32[2, 3]\n"
      "%1 = state(\"dense/kernel\") : float32[3, 2]\n"
      "%2 = matmul(%0, %1) {transpose_a: false, transpose_b: false} : float32[2, 2] @block1/dense\n"
      "%3 = batch_norm(%2, _, _) {epsilon: 0.5} : float32[2, 2], float32[2], float32[2]\n"
      "%4 = full() {value: 0.0, shape: [3], dtype: float32} : float32[3]\n"
      "%5 = scan(%4, %0) {carries: 1, sequences: 1, reverse: true} : float32[3]\n"
      "  {\n"
      "    %0 = input(\"h\") : float32[3]\n"
      "    %1 = input(\"x\") : float32[3]\n"
      "    %2 = add(%0, %1) : float32[3]\n"
      "    output \"h\" = %2\n"
      "  }\n"
      "%6 = full() {value: 0.5, shape: [], dtype: float32} : float32[]\n"
      "%7 = multiply(%1, %6) : float32[3, 2]\n"
      "%8 = full() {value: 7.0, shape: [], dtype: int64} : int64[]\n"
      "%9 = state(\"strata/step\") : int64[]\n"
      "%10 = is_finite(%0) : bool[2, 3]\n"
      "%11 = reduce_all(%10) : bool[]\n"
      "next %1 = %7\n"
      "next %9 = %8 always\n"
      "output \"last\" = %5\n"
      "output \"mean \\\"of\\\" y\" = %3.1\n"
      "guard %11\n";
  CHECK(to_text(graph) == text);
  const Graph again = parse_graph(text);
  verify(again);
  CHECK(to_text(again) == text);
  CHECK(again[2].scope == "block1/dense");
  CHECK(again[5].attributes == graph[5].attributes);
  CHECK(again.nexts()[1].advance == Advance::always);
}

TEST_CASE("what is written by hand may number nodes as it likes and leave out attributes at their defaults") {
  const Graph graph = parse_graph(
      "  %7 = input(\"a\") : float32[2, 3]\n"
      "\n"
      "%2=input(\"b\"):float32[3, 4]\n"
      "%9 = matmul(%7, %2) : float32[2, 4]\n"
      "output \"y\" = %9\n");
  verify(graph);
  CHECK(graph.size() == 3);
  CHECK(graph.outputs()[0].value == Ref{2, 0});
}

TEST_CASE("what a reader refuses is said with line and column") {
  const auto refused = [](const std::string& text) { return test::message_of([&] { (void)parse_graph(text); }); };
  const std::string x = "%0 = input(\"x\") : float32[2, 3]\n";
  CHECK(refused("x = 3\n") == "graph:1:1: '%' is expected here");
  CHECK(refused("%0 = inptu(\"x\") : float32[2]\n") == "graph:1:6: there is no op 'inptu'; did you mean 'input'?");
  CHECK(refused("%0 = input(\"x) : float32[2]\n") == "graph:1:28: '\"' is expected here");
  CHECK(refused("%0 = input(\"x\") : float23[2]\n")
            .starts_with("graph:1:19: there is no dtype 'float23'; did you mean 'float32'?"));
  CHECK(refused("%0 = input(\"x\") : float32[-2]\n") == "graph:1:27: a number is expected here");
  CHECK(refused("%0 = input(\"x\") : float32[2\n") == "graph:1:28: ',' is expected here");
  CHECK(refused(x + "%1 = tanh(%3) : float32[2, 3]\n") == "graph:2:13: %3 is not defined above");
  CHECK(refused(x + "%1 = tanh(%0.1) : float32[2, 3]\n") == "graph:2:15: %0 has no output 1");
  CHECK(refused(x + "%1 = add(%0) : float32[2, 3]\n") == "graph:2:13: add takes 2 inputs, got 1");
  CHECK(refused(x + "%1 = concatenate() : float32[2, 3]\n") == "graph:2:6: concatenate needs at least one array");
  CHECK(refused(x + "%1 = tanh(%0) {axis: 1} : float32[2, 3]\n") == "graph:2:15: tanh has no attributes");
  CHECK(refused(x + "%1 = softmax(%0) {axes: 1} : float32[2, 3]\n") ==
        ("graph:2:19: axis has no argument 'axes'; did you mean 'axis'?"));
  CHECK(refused(x + "%1 = tanh(%0) : float32[3, 2]\n") ==
        "graph:2:6: tanh gives float32[2, 3], but float32[3, 2] is written");
  CHECK(refused(x + "%1 = tanh(%0) : float32[2, 3], float32[2]\n") ==
        "graph:2:6: tanh gives 1 output, but 2 are written");
  CHECK(refused(x + "%1 = tanh(%0) : float32[2, 3] and more\n") == "graph:2:31: 'and more' is too much here");
  CHECK(refused(x + "%1 = matmul(%0, %0) : float32[2, 2]\n") ==
        "graph:2:6: matmul needs matching inner sizes: a [2, 3], b [2, 3]");
  CHECK(refused(x + "%0 = tanh(%0) : float32[2, 3]\n") == "graph:2:3: %0 is defined twice");
  CHECK(refused(x + "%1 = input(\"x\") : float32[2]\n") ==
        "graph:2:6: input 'x' is float32[2, 3], but is asked for as float32[2]");
  CHECK(refused(x + "next %0 = %0\n") == "graph:2:8: %0 is no state");
  CHECK(refused(x + "output \"y\" = _\n") == "graph:2:15: a value is needed here, not _");
  CHECK(refused(x + "guard %0\n") == "graph:2:9: a guard must be a bool scalar, got float32[2, 3]");
  CHECK(
      refused(
          x +
          "%1 = scan(%0, %0) {carries: 1, sequences: 1} : float32[2, 3]\n  {\n    %0 = input(\"h\") : float32[2]\n") ==
      "graph:5:1: a body is not closed with '}'");
}

TEST_CASE("damaged text is refused, never worse") {
  Graph graph;
  Value x = graph.input("x", matrix);
  graph.output("y", softmax(x) * literal(graph, {1, 2, 3}, {3}));
  const std::string text = to_text(graph);
  test::Numbers numbers(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    const auto at = static_cast<std::size_t>(numbers.next() * static_cast<double>(text.size()));
    if (i % 3 == 0) damaged.erase(at, 1 + static_cast<std::size_t>(numbers.next() * 4));
    else if (i % 3 == 1) damaged[at] = static_cast<char>(' ' + static_cast<int>(numbers.next() * 94));
    else damaged.resize(at);
    try {
      verify(parse_graph(damaged));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace strata
