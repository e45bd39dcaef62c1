// SPDX-License-Identifier: Apache-2.0
// Gradients of programs: through layers, twice, through ops of a user's own, past what stops them.
#include <algorithm>

#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

using test::Built, test::result;

Array value_of(const Built& b, Value value) { return result(evaluate(b.graph, b.feeds), value); }

TEST_CASE("the second derivative of a layer agrees with differences of the first") {
  Built b;
  Value x = b.input("x", {4, 3}, 1), w = b.input("w", {3, 5}, 2), v = b.input("v", {5, 2}, 3);
  Value loss = mean(square(matmul(tanh(matmul(x, w)), v)));
  const Values first = gradients(loss, b.inputs);
  test::check_slopes(b, test::weighed(first, 8), 1e-7);
}

TEST_CASE("a gradient penalty: the square of a gradient's norm") {
  Built b;
  Value x = b.input("x", {3, 2}, 1), w = b.input("w", {2, 4}, 2);
  Value score = sum(softplus(matmul(x, w)));
  const Value slope = gradients(score, std::span<const Value>(&x, 1))[0];
  test::check_slopes(b, square(sqrt(sum(square(slope))) - 1.0), 1e-7);
}

TEST_CASE("a value that is used twice gets the sum; one that is not used gets null") {
  Built b;
  Value x = b.input("x", {3}, 1), y = b.input("y", {3}, 2);
  const Values found = gradients(sum(x * x + x), b.inputs);
  CHECK_FALSE(found[1]);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(value_of(b, found[0]).data[i] == doctest::Approx(2 * b.feeds["x"].data[i] + 1));
  CHECK(y.graph == &b.graph);
}

TEST_CASE("the loss itself, a seed, and values between inputs and loss can be asked for") {
  Built b;
  Value x = b.input("x", {3}, 1), h = tanh(x), y = square(h);
  const Values wanted{h, y};
  const Values found = gradients(sum(y), wanted);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(value_of(b, found[0]).data[i] == doctest::Approx(2 * std::tanh(b.feeds["x"].data[i])));
    CHECK(value_of(b, found[1]).data[i] == 1);
  }
  Value seed = literal(b.graph, {1, 0, -2}, {3}, DType::float64);
  const Array seeded = value_of(b, gradients(y, std::span<const Value>(&h, 1), seed)[0]);
  CHECK(seeded.data[1] == 0);
  CHECK(seeded.data[2] == doctest::Approx(-4 * std::tanh(b.feeds["x"].data[2])));
  CHECK(gradients(y, std::span<const Value>(&y, 1), seed)[0] == seed);
}

TEST_CASE("only what lies between is differentiated: no node is made for the rest") {
  Graph graph;
  Value x = graph.input("x", {{8, 4}, DType::float32}), w = graph.state("w", {{4, 2}, DType::float32});
  Value h = matmul(relu(x), w), loss = sum(h);
  const int before = graph.size();
  const Values found = gradients(loss, std::span<const Value>(&w, 1));
  CHECK(found[0]);
  bool through_relu = false;
  for (int n = before; n < graph.size(); ++n) through_relu = through_relu || graph[n].op->name == "select";
  CHECK_FALSE(through_relu);
  // Wanting a value does not differentiate what it is made of.
  const int then = graph.size();
  (void)gradients(loss, std::span<const Value>(&h, 1));
  for (int n = then; n < graph.size(); ++n) CHECK(graph[n].op->name != "matmul");
}

TEST_CASE("nothing passes stop_gradient, comparisons and integers") {
  Built b;
  Value x = b.input("x", {3}, 1);
  const auto slope = [&](Value loss) { return gradients(loss, std::span<const Value>(&x, 1))[0]; };
  CHECK_FALSE(slope(sum(stop_gradient(x))));
  CHECK_FALSE(slope(sum(cast(greater(x, full_like(x, 0)), DType::float64))));
  CHECK_FALSE(slope(sum(cast(cast(x, DType::int32), DType::float64))));
  CHECK_FALSE(slope(sum(floor(x))));
  const Array partly = value_of(b, slope(sum(stop_gradient(x) * x)));
  for (std::size_t i = 0; i < 3; ++i) CHECK(partly.data[i] == b.feeds["x"].data[i]);
}

TEST_CASE("a gradient passes a cast between floats in the input's dtype") {
  Graph graph;
  Value x = graph.input("x", {{3}, DType::bfloat16});
  Value loss = sum(square(cast(x, DType::float32)));
  CHECK(gradients(loss, std::span<const Value>(&x, 1))[0].type() == x.type());
}

TEST_CASE("of an op's outputs, those without use have no gradient and cost nothing") {
  for (const int used : {0, 1, 2}) {
    CAPTURE(used);
    Built b;
    Value x = b.input("x", {5, 2}, 1), gamma = b.input("gamma", {2}, 2), beta = b.input("beta", {2}, 3);
    const Value y = batch_norm(x, gamma, beta, 1e-2)[static_cast<std::size_t>(used)];
    test::check_slopes(b, test::weighed({&y, 1}, 4), 2e-7);
    bool kernel = false;
    for (int n = 0; n < b.graph.size(); ++n) kernel = kernel || b.graph[n].op->name == "batch_norm_gradient";
    CHECK(kernel == (used == 0));
  }
}

// --- ops of a user's own ----------------------------------------------------------------------------------------------

// Rounds to steps of a quarter; its gradient is that of the identity.
extern const OpDef quantize_op;
Values quantized(std::span<const Value> x) { return {x[0].graph->add(quantize_op, {x[0]})}; }

constinit const OpDef quantize_op{.name = "quantize",
                                  .doc = "Rounds to quarters, straight through.",
                                  .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
                                  .vjp = [](const Vjp& v) -> Values { return {v.gradients[0]}; },
                                  .reference =
                                      [](const Reference& r) {
                                        for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
                                          r.outputs[0].data[i] = std::nearbyint(r.inputs[0]->data[i] * 4) / 4;
                                      },
                                  .examples = []() -> std::vector<OpExample> {
                                    return {{"a row", {{{{5}, DType::float32}, -2, 2}}, quantized, 1, false}};
                                  }};

// x³ and x² by decomposition only, in one op of two outputs.
constinit const OpDef powers_op{.name = "powers",
                                .doc = "The cube and the square.",
                                .infer = [](const Inference& in) -> Types {
                                  return {in.inputs[0], in.inputs[0]};
                                },
                                .reference =
                                    [](const Reference& r) {
                                      for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) {
                                        const double x = r.inputs[0]->data[i];
                                        r.outputs[0].data[i] = x * x * x;
                                        r.outputs[1].data[i] = x * x;
                                      }
                                    },
                                .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
                                  return {in[0] * in[0] * in[0], square(in[0])};
                                }};

constinit const OpDef plain_op{.name = "plain",
                               .doc = "No gradient at all.",
                               .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
                               .reference = [](const Reference& r) { r.outputs[0].data = r.inputs[0]->data; }};

constinit const OpDef wrong_op{.name = "wrong",
                               .doc = "A gradient of another shape.",
                               .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
                               .vjp = [](const Vjp& v) -> Values { return {sum(v.gradients[0])}; },
                               .reference = [](const Reference& r) { r.outputs[0].data = r.inputs[0]->data; }};

TEST_CASE("a user's own op with a gradient of its choice: straight through a quantizer") {
  Built b;
  Value x = b.input("x", {6}, 1), q = b.graph.add(quantize_op, {x});
  const Array found = value_of(b, gradients(sum(square(q)), std::span<const Value>(&x, 1))[0]),
              rounded = value_of(b, q);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(rounded.data[i] * 4 == std::nearbyint(rounded.data[i] * 4));
    CHECK(found.data[i] == 2 * rounded.data[i]);
  }
  register_op(quantize_op);
  const std::string text = to_text(b.graph);
  CHECK(to_text(parse_graph(text)) == text);
}

TEST_CASE("an op that only says what it is made of is differentiated through that, as often as wanted") {
  Built b;
  Value x = b.input("x", {4}, 1);
  const Values powers = b.graph.add_all(powers_op, {x});
  const auto slope = [&](Value y) { return gradients(sum(y), std::span<const Value>(&x, 1))[0]; };
  Value y = square(powers[0]) + powers[1];  // x⁶ + x²
  Value first = slope(y), second = slope(first), third = slope(second);
  for (std::size_t i = 0; i < 4; ++i) {
    const double at = b.feeds["x"].data[i];
    CHECK(value_of(b, first).data[i] == doctest::Approx(6 * std::pow(at, 5) + 2 * at));
    CHECK(value_of(b, second).data[i] == doctest::Approx(30 * std::pow(at, 4) + 2));
    CHECK(value_of(b, third).data[i] == doctest::Approx(120 * std::pow(at, 3)));
  }
}

TEST_CASE("what cannot be differentiated says why") {
  Graph graph;
  Value x = graph.input("x", {{3}, DType::float32});
  const auto said = [&](Value loss, Value seed = {}) {
    return test::message_of([&] { (void)gradients(loss, std::span<const Value>(&x, 1), seed); });
  };
  CHECK(said(x) == "gradients are of a scalar; the loss is float32[3]");
  CHECK(said(x, sum(x)) == "the seed float32[] does not fit the loss float32[3]");
  CHECK(said(sum(graph.add(plain_op, {x}))) ==
        "op 'plain' has no gradient: neither a rule of its own nor simpler ops to stand for it");
  CHECK(said(sum(graph.add(wrong_op, {x}))) == "op 'wrong': input 0 is float32[3], but its gradient float32[]");
}

}  // namespace
}  // namespace strata
