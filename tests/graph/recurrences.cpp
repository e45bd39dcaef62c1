// SPDX-License-Identifier: Apache-2.0
// Loops against the same steps written out, and LSTM against plain loops, with masks.
#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

using test::Built, test::result;

// One step of a small network with two carries: returns the next carries and what the step yields.
Values step(Value h, Value m, Value x, Value w) {
  Value z = tanh(matmul(h, w) + x);
  return {z * m, m * 0.5 + h, z + m};
}

struct Loop {
  Built b;
  Value h, m, x, w;

  Loop() {
    h = b.input("h", {2, 3}, 1);
    m = b.input("m", {2, 3}, 2);
    x = b.input("x", {4, 2, 3}, 3);
    w = b.input("w", {3, 3}, 4);
  }
  Values looped(bool reverse) {
    const Type row{{2, 3}, DType::float64};
    auto body = std::make_shared<Graph>();
    Value bh = body->input("h", row), bm = body->input("m", row), bx = body->input("x", row),
          bw = body->input("w", w.type());
    for (const Value& value : step(bh, bm, bx, bw)) body->output(cat(body->outputs().size()), value);
    const Values carries{h, m}, sequences{x}, constants{w};
    return scan(b.graph, body, carries, sequences, constants, reverse);
  }
  Values unrolled(bool reverse) {
    Value ch = h, cm = m;
    Values yields(4);
    for (int i = 0; i < 4; ++i) {
      const int at = reverse ? 3 - i : i;
      const Values next = step(ch, cm, reshape(slice_axis(x, 0, at, at + 1), {2, 3}), w);
      ch = next[0];
      cm = next[1];
      yields[static_cast<std::size_t>(at)] = reshape(next[2], {1, 2, 3});
    }
    return {ch, cm, concatenate(yields, 0)};
  }
};

TEST_CASE("a loop and its gradients, first and second, are those of its steps written out") {
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    Loop loop;
    const Values own = loop.looped(reverse), other = loop.unrolled(reverse);
    Values left = own, right = other;
    for (const std::size_t used : {0U, 1U, 2U, 3U}) {  // each output alone: the others' gradients are null; 3: all
      const auto loss = [&](const Values& values) {
        return square(used < 3 ? test::weighed({&values[used], 1}, 9) : test::weighed(values, 9));
      };
      const Values a = gradients(loss(own), loop.b.inputs), c = gradients(loss(other), loop.b.inputs);
      const Values aa = gradients(test::weighed(a, 5), loop.b.inputs),
                   cc = gradients(test::weighed(c, 5), loop.b.inputs);
      for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(a[i]);
        REQUIRE(aa[i]);
        left.insert(left.end(), {a[i], aa[i]});
        right.insert(right.end(), {c[i], cc[i]});
      }
    }
    const auto values = evaluate(loop.b.graph, loop.b.feeds);
    for (std::size_t i = 0; i < left.size(); ++i)
      CHECK(test::difference(result(values, left[i]), result(values, right[i])) < 1e-12);
  }
}

TEST_CASE("a loop refuses a body that does not fit, with both types") {
  const Type row{{2}, DType::float32};
  const auto refused = [&](const Type& carry, const Type& x, const Type& body_carry, bool grows) {
    return test::message_of([&] {
      Graph graph;
      auto body = std::make_shared<Graph>();
      Value h = body->input("h", body_carry), s = body->input("x", row);
      body->output("h", grows ? concatenate({h, s}) : h);
      const Values carries{graph.input("h", carry)}, sequences{graph.input("x", x)};
      (void)scan(graph, body, carries, sequences, {});
    });
  };
  const Type rows{{5, 2}, DType::float32};
  CHECK(refused(row, rows, row, false) == "(no error)");
  CHECK(refused({{3}, DType::float32}, rows, row, false) == "scan's body takes float32[2] as input 0, got float32[3]");
  CHECK(refused(row, {{5, 3}, DType::float32}, row, false) ==
        "scan's body takes float32[2] as input 1, got float32[3]");
  CHECK(refused(row, rows, row, true) == "scan's carry 0 begins as float32[2] and becomes float32[4]");
  CHECK(refused(row, {{}, DType::float32}, row, false) ==
        "scan needs sequences with steps along axis 0, got float32[]");
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// One sequence through an LSTM of one feature and one unit, as Keras does it: weights are gates i f c o.
struct Cell {
  double kernel[4], recurrent[4], bias[4];
  double h = 0, c = 0, shown = 0;
  double take(double x, bool counts) {
    if (counts) {
      double z[4];
      for (int g = 0; g < 4; ++g) z[g] = kernel[g] * x + recurrent[g] * h + bias[g];
      c = logistic(z[1]) * c + logistic(z[0]) * std::tanh(z[2]);
      shown = h = logistic(z[3]) * std::tanh(c);
    }
    return shown;
  }
};

TEST_CASE("an LSTM is Keras's, step by step; a masked step keeps the state and repeats the output") {
  for (const bool masked : {false, true}) {
    CAPTURE(masked);
    Built b;
    Value x = b.input("x", {3, 5, 1}, 1), kernel = b.input("kernel", {1, 4}, 2),
          recurrent = b.input("recurrent", {1, 4}, 3), bias = b.input("bias", {4}, 4), h0 = b.input("h0", {3, 1}, 5),
          c0 = b.input("c0", {3, 1}, 6), mask = b.input("mask", {3, 5}, 7, 0, 2, DType::boolean);
    b.feeds["mask"].data[0] = 0;  // a sequence that begins masked: zeros are shown
    b.feeds["mask"].data[14] = 0;
    const Values y = lstm(x, kernel, recurrent, bias, h0, c0, masked ? mask : Value{});
    REQUIRE(y.size() == 3);
    const auto values = evaluate(b.graph, b.feeds);
    for (std::size_t row = 0; row < 3; ++row) {
      Cell cell{};
      for (std::size_t g = 0; g < 4; ++g) {
        cell.kernel[g] = b.feeds["kernel"].data[g];
        cell.recurrent[g] = b.feeds["recurrent"].data[g];
        cell.bias[g] = b.feeds["bias"].data[g];
      }
      cell.h = b.feeds["h0"].data[row];
      cell.c = b.feeds["c0"].data[row];
      for (std::size_t t = 0; t < 5; ++t) {
        const double shown =
            cell.take(b.feeds["x"].data[row * 5 + t], !masked || b.feeds["mask"].data[row * 5 + t] != 0);
        CHECK(result(values, y[0]).data[row * 5 + t] == doctest::Approx(shown).epsilon(1e-14));
      }
      CHECK(result(values, y[1]).data[row] == doctest::Approx(cell.h).epsilon(1e-14));
      CHECK(result(values, y[2]).data[row] == doctest::Approx(cell.c).epsilon(1e-14));
    }
  }
}

TEST_CASE("an LSTM without bias, states or mask has gradients for what it has, from any of its outputs alone") {
  for (const std::size_t used : {0U, 1U, 2U}) {
    CAPTURE(used);
    Built b;
    Value x = b.input("x", {2, 3, 2}, 1), kernel = b.input("kernel", {2, 8}, 2),
          recurrent = b.input("recurrent", {2, 8}, 3);
    const Values y = lstm(x, kernel, recurrent, {}, {}, {}, {});
    test::check_slopes(b, test::weighed({&y[used], 1}, 4), 2e-7);
  }
}

}  // namespace
}  // namespace strata
