// SPDX-License-Identifier: Apache-2.0
// Groups that run as one kernel: elementwise programs, the optimizer's update of many weights, products and
// convolutions with what follows them, sums of programs.
#include "graph/fused.h"

#include <doctest/doctest.h>

#include "strata/ops.h"
#include "support/kernel_run.h"

namespace strata::test {
namespace {

using Build = Values (*)(std::span<const Value>);

// The body as a group over inputs of these types.
Case group(const std::string& pattern, const std::vector<Drawn>& inputs, Build build, std::int64_t members = 1,
           std::int64_t shared = 0) {
  const std::size_t own = (inputs.size() - static_cast<std::size_t>(shared)) / static_cast<std::size_t>(members);
  auto body = std::make_shared<Graph>();
  Values values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shared) + own; ++i)
    values.push_back(body->input(cat("b", i), inputs[i].type));
  const Values outputs = build(values);
  for (std::size_t i = 0; i < outputs.size(); ++i) body->output(cat("y", i), outputs[i]);
  return make_case(inputs, [&](std::span<const Value> x) {
    return x[0].graph->add_all(fused_op, Values(x.begin(), x.end()), Fused{pattern, members, shared}, {body});
  });
}

void check(const Case& test, const std::string& kernel) {
  std::vector<std::string> used;
  CHECK(check_kernels(test, backend("cpu"), &used) == "");
  REQUIRE(!used.empty());
  CHECK_MESSAGE(used[0].find(kernel) != std::string::npos, used[0], " is not '", kernel, "'");
}

Drawn f32(const Shape& shape, double low = -1, double high = 1) { return {{shape, DType::float32}, low, high}; }
Drawn of(DType dtype, const Shape& shape, double low = -1, double high = 1) { return {{shape, dtype}, low, high}; }

TEST_CASE("a program with every way of broadcasting, over full and partial tiles") {
  const auto build = [](std::span<const Value> x) -> Values {
    Value a = x[0] * x[1] + x[2];  // a bias over the last axis, a scalar
    Value b = tanh(a) - x[3];      // a column
    return {select(greater(b, x[4]), a, b * 2.0), b};
  };
  for (const std::int64_t rows : {1, 7, 300}) {
    for (const std::int64_t columns : {1, 3, 32, 100, 3000}) {
      check(group("elementwise", {f32({rows, columns}), f32({columns}), f32({}), f32({rows, 1}), f32({rows, columns})},
                  build),
            "program");
    }
  }
}

TEST_CASE("broadcasts along the middle, of images by their channels' gates") {
  const auto build = [](std::span<const Value> x) -> Values { return {x[0] * sigmoid(x[1]) + x[2]}; };
  check(group("elementwise", {f32({5, 6, 7, 24}), f32({5, 1, 1, 24}), f32({6, 1, 1})}, build), "program");
  check(group("elementwise", {f32({5, 6, 7, 24}), f32({1, 6, 1, 24}), f32({7, 24})}, build), "program");
}

TEST_CASE("what depends on scalars alone is computed once, and constants are part of the program") {
  const auto build = [](std::span<const Value> x) -> Values {
    Value rate = x[1] * sqrt(1.0 - power(full_like(x[2], 0.9), x[2])) / (1.0 - power(full_like(x[2], 0.99), x[2]));
    return {x[0] - rate * x[0], x[0] * 0.5 + full_like(x[0], 2)};
  };
  check(group("elementwise", {f32({40, 50}), f32({}, 0.1, 0.2), f32({}, 1, 5)}, build), "program");
}

TEST_CASE("whole powers are products") {
  const auto build = [](std::span<const Value> x) -> Values {
    const auto to_the = [&](double exponent) { return power(x[0], full_like(x[0], exponent)); };
    return {to_the(2), to_the(3), power(absolute(x[0]), full_like(x[0], 1.5))};
  };
  check(group("elementwise", {f32({40, 50})}, build), "program");
  check(group("elementwise", {of(DType::int32, {40, 50}, -9, 9)},
              [](std::span<const Value> x) -> Values { return {power(x[0], full_like(x[0], 3))}; }),
        "program");
}

TEST_CASE("outputs that depend on scalars only are filled") {
  const auto build = [](std::span<const Value> x) -> Values {
    return {broadcast_to(x[0] * 2.0, {}) + x[1] * 0.0, x[1]};
  };
  check(group("elementwise", {f32({}), f32({33, 65})}, build), "program");
}

TEST_CASE("an output may lie where any input of its size does, whatever the order of steps") {
  const auto build = [](std::span<const Value> x) -> Values {
    Value first = x[0] + x[1];  // written before x[1], x[2] and x[3] are read for the last time
    Value second = x[1] * x[2];
    return {first, second, first * x[3] - x[0]};
  };
  check(group("elementwise", {f32({2100}), f32({2100}), f32({2100}), f32({2100})}, build), "program");
}

TEST_CASE("masks, integers and doubles in one program") {
  const auto build = [](std::span<const Value> x) -> Values {
    Value keep = logical_and(x[1], less(cast(x[2], DType::float32), x[0]));
    Value steps = x[3] * x[3] + cast(x[2], DType::int64);
    return {select(keep, x[0], full_like(x[0], 0)), logical_not(keep), steps, cast(steps, DType::float64) * 0.5,
            cast(x[0] * 100.0, DType::uint8)};
  };
  check(group("elementwise",
              {f32({3, 700}, 0, 2), of(DType::boolean, {3, 700}), of(DType::int32, {3, 700}, 0, 3),
               of(DType::int64, {700}, -9, 9)},
              build),
        "program");
}

TEST_CASE("16-bit floats are computed in float and rounded where the program says so") {
  const auto build = [](std::span<const Value> x) -> Values {
    Value wide = cast(x[0], DType::float32) * cast(x[1], DType::float32);
    return {cast(wide, x[0].dtype()), wide, x[0] * x[1] + x[0]};
  };
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    check(group("elementwise", {of(dtype, {9, 250}), of(dtype, {250})}, build), "program");
    check(group("elementwise", {of(dtype, {6, 5, 20}), of(dtype, {6, 1, 20})}, build), "program");
  }
}

TEST_CASE("long programs reuse their registers") {
  const auto build = [](std::span<const Value> x) -> Values {
    Values kept;
    Value value = x[0];
    for (int i = 0; i < 24; ++i) kept.push_back(value = value * 0.9 + x[1]);
    Value sum = kept[0];
    for (const Value& one : kept) sum = sum + one * one;
    return {sum, value};
  };
  check(group("elementwise", {f32({5000}), f32({5000})}, build), "program");
}

TEST_CASE("one launch updates many arrays of different shapes") {
  const auto adam = [](std::span<const Value> x) -> Values {  // shared: rate, ok; then weight, gradient, m, v
    Value m = x[4] * 0.9 + x[3] * 0.1, v = x[5] * 0.999 + square(x[3]) * 0.001;
    Value w = x[2] - x[0] * m / (sqrt(v) + 1e-7);
    return {select(x[1], w, x[2]), select(x[1], m, x[4]), select(x[1], v, x[5])};
  };
  std::vector<Drawn> inputs{f32({}, 0.1, 0.2), of(DType::boolean, {})};
  for (const Shape& shape : {Shape{3, 3, 8, 16}, Shape{16}, Shape{300, 41}, Shape{1}, Shape{2048}}) {
    for (int i = 0; i < 3; ++i) inputs.push_back(f32(shape));
    inputs.push_back(f32(shape, 0, 1));
  }
  check(group("elementwise_many", inputs, adam, 5, 2), "program");
}

TEST_CASE("members of one launch may have scalars of their own") {
  const auto decay = [](std::span<const Value> x) -> Values { return {x[1] - x[0] * x[2] * x[1]}; };
  check(group("elementwise_many", {f32({}), f32({40, 40}), f32({}), f32({7}), f32({})}, decay, 2, 1), "program");
}

TEST_CASE("products with bias and activation") {
  const auto relu_of = [](std::span<const Value> x) -> Values { return {relu(matmul(x[0], x[1]) + x[2])}; };
  const auto tanh_of = [](std::span<const Value> x) -> Values { return {tanh(matmul(x[0], x[1], false, true))}; };
  const auto bias_only = [](std::span<const Value> x) -> Values { return {x[2] + matmul(x[0], x[1], true)}; };
  check(group("matmul", {f32({37, 65}), f32({65, 33}), f32({33})}, relu_of), "sgemm +bias +relu");
  check(group("matmul", {f32({4, 9, 16}), f32({16, 20}), f32({20})}, relu_of), "sgemm +bias +relu");
  check(group("matmul", {f32({12, 300}), f32({300, 300})}, tanh_of), "+tanh");
  check(group("matmul", {f32({65, 5}), f32({65, 7}), f32({7})}, bias_only), "+bias");
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::float64}) {
    check(group("matmul", {of(dtype, {37, 65}), of(dtype, {65, 33}), of(dtype, {33})}, relu_of), "+relu");
  }
}

TEST_CASE("convolutions with bias and activation") {
  const auto relu_of = [](std::span<const Value> x) -> Values {
    return {relu(conv2d(x[0], x[1], {.strides = 1, .dilation = 1, .pad_low = 1, .pad_high = 1}) + x[2])};
  };
  const auto gelu_like = [](std::span<const Value> x) -> Values {
    return {sigmoid(conv2d(x[0], x[1], {.strides = 2, .dilation = 1, .pad_low = 0, .pad_high = 1}) + x[2])};
  };
  check(group("conv2d", {f32({2, 9, 8, 16}), f32({3, 3, 16, 32}), f32({32})}, relu_of), "+bias +relu");
  check(group("conv2d", {f32({2, 9, 8, 1}), f32({3, 3, 1, 32}), f32({32})}, relu_of), "+bias +relu");
  check(group("conv2d", {f32({2, 9, 8, 3}), f32({3, 3, 3, 10}), f32({10})}, gelu_like), "+bias +sigmoid");
  check(group("conv2d",
              {of(DType::bfloat16, {2, 9, 8, 16}), of(DType::bfloat16, {3, 3, 16, 32}), of(DType::bfloat16, {32})},
              relu_of),
        "+relu");
}

TEST_CASE("sums of programs: over rows, along rows, over everything, in between") {
  const auto rows = [](std::span<const Value> x) -> Values { return {reduce_sum(x[0] * x[1], {0})}; };
  const auto along = [](std::span<const Value> x) -> Values { return {reduce_sum(x[0] * x[1], {-1})}; };
  const auto all = [](std::span<const Value> x) -> Values { return {sum(square(x[0] * x[1]))}; };
  const auto middle = [](std::span<const Value> x) -> Values { return {reduce_sum(x[0] * x[1], {1, 2}, true)}; };
  const auto mixed = [](std::span<const Value> x) -> Values { return {reduce_sum(x[0] * x[1], {0, 2})}; };
  for (const Shape& shape :
       {Shape{1, 5}, Shape{300, 10}, Shape{64, 100}, Shape{4, 5000}, Shape{3, 40000}, Shape{50000, 3}}) {
    check(group("reduce", {f32(shape), f32(shape)}, rows), "tiles");
    check(group("reduce", {f32(shape), f32({shape[-1]})}, rows), "tiles");
    check(group("reduce", {f32(shape), f32({shape[0], 1})}, along), "tiles");
    check(group("reduce", {f32(shape), f32({shape[-1]})}, all), "tiles");
  }
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{8, 14, 14, 64}, Shape{1, 7, 9, 33}}) {
    check(group("reduce", {f32(shape), f32({shape[-1]})}, middle), "tiles");
    check(group("reduce", {f32(shape), f32({shape[0], 1, 1, 1})}, mixed), "tiles");
  }
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::float64, DType::int32}) {
    check(group("reduce", {of(dtype, {200, 30}, -3, 4), of(dtype, {30}, -3, 4)}, rows), "tiles");
    check(group("reduce", {of(dtype, {200, 30}, -3, 4), of(dtype, {30}, -3, 4)}, along), "tiles");
  }
}

TEST_CASE("a group that is none of these is refused with a reason") {
  const Case test = group("elementwise", {f32({4, 6})}, [](std::span<const Value> x) -> Values {
    return {transpose(x[0], {1, 0})};
  });
  const Node& node = test.graph[test.graph.size() - 1];
  const std::vector<Type> inputs{{{4, 6}, DType::float32}};
  const std::vector<std::string> formats(1);
  const Choice choice = backend("cpu").choose({node, inputs, node.types, formats, backend("cpu").model({}), 0});
  REQUIRE(choice.refusals.size() == 1);
  CHECK(choice.refusals[0] == "program: transpose is not elementwise");
  CHECK(choice.reference);
}

}  // namespace
}  // namespace strata::test
