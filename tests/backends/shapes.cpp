// SPDX-License-Identifier: Apache-2.0
// Larger and odder shapes than the ops' examples: remainders of vectors and tiles, windows at the edges, groups, empty
// arrays, several threads.
#include <doctest/doctest.h>

#include "core/random.h"
#include "strata/ops.h"
#include "support/kernel_run.h"

namespace strata::test {
namespace {

using Build = std::function<Values(std::span<const Value>)>;

Drawn of(DType dtype, const Shape& shape, double low = -1, double high = 1) { return {{shape, dtype}, low, high}; }
Drawn f32(const Shape& shape, double low = -1, double high = 1) { return of(DType::float32, shape, low, high); }

// Every node of what `build` makes; the first kernel of the last node is named like `kernel`.
void check(const std::vector<Drawn>& inputs, const Build& build, const std::string& what, double tolerance = 1) {
  Case test = make_case(inputs, build);
  test.tolerance = tolerance;
  std::vector<std::string> used;
  CHECK_MESSAGE(check_kernels(test, backend("cpu"), &used) == "", what);
  REQUIRE(!used.empty());
  CHECK_MESSAGE(used.front() != "reference", what);
}

TEST_CASE("products of many sizes") {
  const std::int64_t sizes[][3] = {{1, 1, 1}, {1, 7, 100}, {17, 33, 65}, {128, 10, 300}, {300, 64, 3}, {5, 500, 257}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const auto build = [&](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], ta, tb)}; };
        const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
        for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
          check({of(dtype, a), of(dtype, b)}, build, cat(to_text(a), to_text(b), to_text(dtype)));
        }
      }
    }
  }
}

TEST_CASE("batches of products, one side repeated") {
  const auto plain = [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1])}; };
  const auto scores = [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], false, true)}; };
  const auto turned = [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], true)}; };
  check({f32({6, 20, 33}), f32({6, 33, 17})}, plain, "heads");
  check({f32({2, 3, 20, 16}), f32({2, 3, 24, 16})}, scores, "attention");
  check({f32({2, 3, 16, 20}), f32({2, 1, 16, 24})}, turned, "one key for all heads");
  check({f32({4, 16, 20}), f32({16, 24})}, turned, "one right side, left turned");
  check({of(DType::float64, {3, 1, 5, 4}), of(DType::float64, {2, 4, 6})}, plain, "doubles");
}

TEST_CASE("empty batches are no error, and sums over nothing are zero") {
  check(
      {f32({0, 5}), f32({5, 3})}, [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1])}; }, "no rows");
  check(
      {f32({0, 5}), f32({0, 3})}, [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], true)}; },
      "a sum of none");
  check(
      {f32({0, 5})},
      [](std::span<const Value> x) -> Values {
        return {reduce_sum(tanh(x[0]), {0}), softmax(x[0])};
      },
      "rows");
  check(
      {f32({0, 6, 6, 4}), f32({3, 3, 4, 8}), f32({0, 6, 6, 8})},
      [](std::span<const Value> x) -> Values {
        const Convolution same{1, 1, 1, 1, 1};
        return {conv2d(x[0], x[1], same), conv2d_input_gradient(x[2], x[1], same, {0, 6, 6, 4}),
                conv2d_kernel_gradient(x[0], x[2], same, {3, 3, 4, 8})};
      },
      "images");
}

struct ConvCase {
  Shape x, kernel;
  Convolution how;
};

TEST_CASE("convolutions and their gradients: strides, padding, dilation, groups, odd channels") {
  const ConvCase cases[] = {
      {{2, 14, 14, 32}, {3, 3, 32, 64}, {1, 1, 1, 1, 1}},
      {{2, 13, 12, 1}, {3, 3, 1, 32}, {1, 1, 1, 1, 1}},
      {{1, 17, 15, 3}, {7, 7, 3, 16}, {2, 1, 3, 3, 1}},
      {{2, 9, 9, 33}, {3, 3, 33, 17}, {1, 1, 0, 0, 1}},
      {{2, 9, 10, 16}, {3, 2, 16, 5}, {Pair(2, 3), 1, Pair(1, 0), Pair(0, 1), 1}},
      {{2, 12, 12, 8}, {3, 3, 8, 8}, {1, 2, 2, 2, 1}},
      {{2, 10, 10, 16}, {3, 3, 4, 32}, {1, 1, 1, 1, 4}},
      {{2, 10, 10, 24}, {3, 3, 1, 24}, {1, 1, 1, 1, 24}},
      {{2, 10, 10, 24}, {3, 3, 1, 48}, {2, 1, 1, 1, 24}},
      {{3, 8, 8, 64}, {1, 1, 64, 32}, {1, 1, 0, 0, 1}},
      {{2, 8, 8, 32}, {1, 1, 32, 16}, {2, 1, 0, 0, 1}},
      {{1, 6, 6, 4}, {3, 3, 4, 4}, {1, 1, 4, 4, 1}},  // padded by more than the kernel
  };
  for (const ConvCase& c : cases) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
      Shape y;
      const auto forward = [&](std::span<const Value> x) -> Values {
        const Value result = conv2d(x[0], x[1], c.how);
        y = result.shape();
        return {result};
      };
      const std::string what = cat(c.x, " ", c.kernel, " ", dtype);
      check({of(dtype, c.x), of(dtype, c.kernel)}, forward, what, 2);
      check(
          {of(dtype, y), of(dtype, c.kernel)},
          [&](std::span<const Value> x) -> Values { return {conv2d_input_gradient(x[0], x[1], c.how, c.x)}; }, what, 2);
      check(
          {of(dtype, c.x), of(dtype, y)},
          [&](std::span<const Value> x) -> Values { return {conv2d_kernel_gradient(x[0], x[1], c.how, c.kernel)}; },
          what, 2);
    }
  }
}

TEST_CASE("pooling and its gradients: overlaps, padding, many channels, large windows") {
  struct {
    Shape x;
    Pooling how;
  } const cases[] = {{{2, 14, 14, 32}, {2, 2, 0, 0}},
                     {{1, 7, 9, 19}, {3, 2, 1, 1}},
                     {{2, 8, 8, 70}, {2, 2, 0, 0}},
                     {{1, 9, 9, 5}, {2, 2, 0, 1}},
                     {{1, 20, 18, 16}, {Pair(17, 16), 1, 0, 0}},
                     {{3, 6, 5, 8}, {Pair(1, 3), Pair(2, 1), Pair(0, 2), Pair(0, 1)}}};
  for (const auto& c : cases) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
      for (const bool largest : {true, false}) {
        const auto both = [&](std::span<const Value> x) -> Values {
          Value y = largest ? max_pool2d(x[0], c.how) : average_pool2d(x[0], c.how);
          return gradients(sum(y * y), x.first(1));
        };
        check({of(dtype, c.x)}, both, cat(c.x, largest ? " largest " : " average ", dtype));
      }
    }
  }
}

TEST_CASE("softmax and cross-entropy over short and long rows") {
  for (const std::int64_t n : {1, 10, 17, 1000, 5003}) {
    const auto build = [](std::span<const Value> x) -> Values {
      Value loss = softmax_cross_entropy(x[0], x[1]);
      Values more = gradients(sum(loss * 3.0), x.first(1));
      return {softmax(x[0]), log_softmax(x[0]), softmax(x[0], 0), more[0]};
    };
    check({f32({37, n}, -20, 20), of(DType::int32, {37}, 0, static_cast<double>(n))}, build, cat(n, " classes"));
    check({of(DType::bfloat16, {9, n}), of(DType::int64, {9}, 0, static_cast<double>(n))}, build, cat(n, " classes"));
    check({of(DType::float64, {9, n}, 300, 700), of(DType::uint8, {9}, 0, std::min(250.0, static_cast<double>(n)))},
          build, cat(n, " classes"));
  }
}

TEST_CASE("normalization with means far from zero") {
  for (const std::int64_t channels : {2, 3, 32, 100}) {
    const auto batch = [](std::span<const Value> x) -> Values {
      const Values y = batch_norm(x[0], x[1], x[2], 1e-3);
      return gradients(sum(y[0] * x[3]), x.first(3));
    };
    const auto layer = [](std::span<const Value> x) -> Values {
      return gradients(sum(layer_norm(x[0], x[1], x[2], 1e-3) * x[3]), x.first(3));
    };
    for (const DType dtype : {DType::float32, DType::float64}) {
      const std::vector<Drawn> inputs{of(dtype, {6, 11, 13, channels}, 9, 11), of(dtype, {channels}),
                                      of(dtype, {channels}), of(dtype, {6, 11, 13, channels})};
      check(inputs, batch, cat(channels, " channels, batch"), 20);
      check({of(dtype, {70, channels}, 4, 6), inputs[1], inputs[2], of(dtype, {70, channels})}, layer,
            cat(channels, " channels, layer"), 20);
    }
  }
}

TEST_CASE("lstm and its gradient: masks, given states, every dtype") {
  const auto build = [](bool states, bool masked) {
    return [=](std::span<const Value> x) -> Values {
      const Values y =
          lstm(x[0], x[1], x[2], x[3], states ? x[4] : Value{}, states ? x[5] : Value{}, masked ? x[6] : Value{});
      return gradients(sum(y[0] * y[0]) + sum(y[1]) + sum(y[2] * 0.5), x.first(states ? 6 : 4));
    };
  };
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const std::vector<Drawn> inputs{of(dtype, {9, 6, 5}),
                                    of(dtype, {5, 80}, -0.4, 0.4),
                                    of(dtype, {20, 80}, -0.4, 0.4),
                                    of(dtype, {80}),
                                    of(dtype, {9, 20}),
                                    of(dtype, {9, 20}),
                                    of(DType::boolean, {9, 6})};
    for (const bool states : {false, true}) {
      for (const bool masked : {false, true}) check(inputs, build(states, masked), cat(dtype, states, masked), 8);
    }
  }
}

TEST_CASE("moves of elements") {
  const auto build = [](std::span<const Value> x) -> Values {
    return {transpose(x[0], {0, 3, 1, 2}),
            transpose(x[0], {3, 2, 1, 0}),
            transpose(x[0], {1, 0, 2, 3}),
            slice(x[0], {0, 1, 2, 3}, {3, 9, 7, 30}, {1, 3, 2, 4}),
            reverse(x[0], 1),
            reverse(x[0], -1),
            pad(x[0], {0, 1, 2, 0}, {1, 0, 3, 5}, -2),
            concatenate({x[0], x[0], x[0]}, 2),
            concatenate({x[0], x[0]}, -1),
            broadcast_to(slice_axis(x[0], 2, 1, 2), {2, 3, 10, 7, 35})};
  };
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64, DType::uint8}) {
    check({of(dtype, {3, 10, 7, 35}, 0, 9)}, build, to_text(dtype));
  }
}

TEST_CASE("rows by index and back, some outside") {
  const auto build = [](std::span<const Value> x) -> Values {
    return {gather(x[0], x[1]), scatter_add(x[1], x[2], 50), one_hot(x[1], 40)};
  };
  for (const DType indices : {DType::int32, DType::int64, DType::uint8}) {
    const double low = indices == DType::uint8 ? 0 : -2;
    check({f32({50, 33}), of(indices, {30, 40}, low, 53), f32({30, 40, 33})}, build, to_text(indices));
    check({of(DType::bfloat16, {50, 3}), of(indices, {7}, low, 53), of(DType::bfloat16, {7, 3})}, build,
          to_text(indices));
  }
}

TEST_CASE("orders and places") {
  const auto build = [](std::span<const Value> x) -> Values {
    return {sort_descending(x[0]), argmax(x[0]), argmax(x[0], 0), cumulative_sum(x[0]), cumulative_sum(x[0], 0)};
  };
  check({f32({70, 300})}, build, "floats", 2);
  check({of(DType::int32, {70, 300}, 0, 9)}, build, "equals");
  check({of(DType::float16, {5, 30})}, build, "halves", 4);
}

TEST_CASE("loops: carries that swap places, yields, constants") {
  auto body = std::make_shared<Graph>();
  Value a = body->input("a", {{40, 30}, DType::float32}), b = body->input("b", {{40, 30}, DType::float32});
  Value step = body->input("x", {{40, 30}, DType::float32}), w = body->input("w", {{30, 30}, DType::float32});
  body->output("a", b);
  body->output("b", tanh(matmul(a, w) + step));
  body->output("y", reshape(reduce_sum(a * step, {1}), {1, 40}));
  body->output("z", step);
  check(
      {f32({40, 30}), f32({40, 30}), f32({5, 40, 30}), f32({30, 30})},
      [&](std::span<const Value> x) { return scan(*x[0].graph, body, x.first(2), x.subspan(2, 1), x.subspan(3)); },
      "forward", 4);
}

TEST_CASE("random numbers are those of core/random.h, for any number of threads") {
  for (const char* distribution : {"uniform", "normal", "bits"}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{130, 3}, Shape{100, 70}, Shape{2, 3, 4003}}) {
      Graph graph;
      const Type scalar{{}, DType::int64};
      random(graph, graph.input("seed", scalar), graph.input("step", scalar), graph.input("row", scalar),
             {"here", distribution, shape});
      const Node& node = graph[3];
      const std::vector<Tensor> inputs{Tensor(Shape{}, std::vector<std::int64_t>{42}),
                                       Tensor(Shape{}, std::vector<std::int64_t>{(1LL << 33) + 7}),
                                       Tensor(Shape{}, std::vector<std::int64_t>{(1LL << 32) - 1})};
      const Types types(3, scalar);
      const std::vector<std::string> formats(3);
      std::vector<double> first;
      for (const int threads : {1, 3}) {
        DeviceModel device = backend("cpu").model({});
        device.threads = threads;
        const Choice choice = backend("cpu").choose({node, types, node.types, formats, device, 0});
        const std::vector<double> got = run_choice(choice, inputs, node.types)[0].to_doubles();
        if (first.empty()) first = got;
        CHECK(got == first);
      }
      const RandomKey key = random_key(42, stream_of("here"));
      const std::size_t rows = shape.rank() > 0 ? static_cast<std::size_t>(shape[0]) : 1, width = first.size() / rows;
      for (std::size_t i = 0; i < first.size(); i += 1 + first.size() / 50) {
        const std::uint64_t step = (1ULL << 33) + 7, row = (1ULL << 32) - 1 + i / width, element = i % width;
        const std::string kind = distribution;
        const double wanted = kind == "uniform" ? uniform(key, step, row, element)
                              : kind == "bits"
                                  ? static_cast<double>(random_word(key, step, row, element))
                                  : static_cast<double>(static_cast<float>(normal(key, step, row, element)));
        CHECK(first[i] == wanted);
      }
    }
  }
}

}  // namespace
}  // namespace strata::test
