// SPDX-License-Identifier: Apache-2.0
// What each family of ops refuses, in its words: both values, and the cure where there is one.
#include "graph/examples.h"
#include "support/message.h"

namespace strata {
namespace {

struct Maker {
  Graph graph;
  int made = 0;
  Value operator()(const Shape& shape, DType dtype = DType::float32) {
    return graph.input(cat("x", made++), {shape, dtype});
  }
};

template <class F> std::string said(F f) {
  return test::message_of([&] {
    Maker x;
    (void)f(x);
  });
}

constexpr DType f16 = DType::float16, i32 = DType::int32, boolean = DType::boolean;

TEST_CASE("two operands: dtypes, shapes, and one that is not given") {
  CHECK(said([](Maker& x) {
          return x({2, 3}) + x({2, 3}, f16);
        }) == "add needs one dtype: a float32[2, 3], b float16[2, 3]; cast one of them");
  CHECK(said([](Maker& x) { return x({2, 3}) * x({4}); }) == "multiply needs shapes that broadcast: a [2, 3], b [4]");
  CHECK(said([](Maker& x) { return x({2, 3}) / Value{}; }) == "divide needs all its operands; one is a null value");
  CHECK(said([](Maker& x) { return less(x({2}), x({2}, i32)); }) ==
        "less needs one dtype: a float32[2], b int32[2]; cast one of them");
  CHECK(said([](Maker& x) { return logical_and(x({2}), x({2}, boolean)); }) ==
        "logical_and needs bool inputs, got float32[2]");
  CHECK(said([](Maker& x) { return select(x({2}), x({2}), x({2})); }) ==
        "select needs a bool condition, got float32[2]");
  CHECK(said([](Maker& x) { return select(x({2}, boolean), x({2}), x({2}, f16)); }) ==
        "select needs one dtype: a float32[2], b float16[2]; cast one of them");
  CHECK(said([](Maker& x) { return select(x({3}, boolean), x({2}), x({})); }) ==
        "select needs shapes that broadcast: a [3], b [2]");
}

TEST_CASE("functions of floats want floats") {
  CHECK(said([](Maker& x) { return exp(x({2}, i32)); }) == "exp needs a floating x, got int32[2]; cast it");
  CHECK(said([](Maker& x) { return softmax(x({2}, i32)); }) == "softmax needs a floating x, got int32[2]; cast it");
  CHECK(said([](Maker& x) { return reduce_all(x({2})); }) == "reduce_all needs a bool array, got float32[2]");
}

TEST_CASE("shapes") {
  CHECK(said([](Maker& x) {
          return reshape(x({2, 3}), {4});
        }) == "reshape keeps the number of elements: [2, 3] has 6, [4] has 4");
  CHECK(said([](Maker& x) { return broadcast_to(x({2, 3}), {3, 3}); }) == "broadcast_to cannot make [3, 3] of [2, 3]");
  CHECK(said([](Maker& x) { return sum_to(x({2, 3}), {2}); }) == "sum_to cannot make [2] of [2, 3]");
  CHECK(said([](Maker& x) {
          return transpose(x({2, 3}), {0, 0});
        }) == "transpose needs each axis of [2, 3] once, got 0, 0");
  CHECK(said([](Maker& x) { return transpose(x({2, 3}), {0}); }) == "transpose of [2, 3] needs 2 axes, got 1");
  CHECK(said([](Maker& x) {
          return slice(x({2, 3}), {0, 1}, {2, 4});
        }) == "slice from 1 to 4 by 1 leaves axis 1 of [2, 3]");
  CHECK(said([](Maker& x) {
          return slice(x({2, 3}), {0}, {2});
        }) == "slice of [2, 3] needs 2 starts, limits and strides");
  CHECK(said([](Maker& x) { return pad(x({2}), {-1}, {0}); }) == "pad counts are at least 0, got -1 and 0");
  CHECK(said([](Maker& x) {
          return concatenate({x({2, 3}), x({3, 3})});
        }) == "concatenate along axis 1 needs shapes that agree elsewhere: [2, 3] and [3, 3]");
  CHECK(said([](Maker&) { return concatenate({}); }) == "concatenate needs at least one array");
  CHECK(said([](Maker& x) { return reduce_sum(x({2, 3}), {2}); }) == "shape [2, 3] has no axis 2");
  CHECK(said([](Maker& x) { return argmax(x({2, 3}), 4); }) == "shape [2, 3] has no axis 4");
  CHECK(said([](Maker& x) { return cumulative_sum(x({2, 3}), -3); }) == "shape [2, 3] has no axis -3");
  CHECK(said([](Maker& x) { return reverse(x({2, 3}), 2); }) == "shape [2, 3] has no axis 2");
  CHECK(said([](Maker& x) { return literal(x.graph, {1, 2}, {3}); }) == "literal [3] needs 3 values, got 2");
}

TEST_CASE("products and convolutions") {
  CHECK(said([](Maker& x) {
          return matmul(x({128, 7, 7, 32}), x({1568, 10}));
        }) == "matmul needs matching inner sizes: a [128, 7, 7, 32], b [1568, 10]");
  CHECK(said([](Maker& x) { return matmul(x({3}), x({3, 4})); }) == "matmul needs at least two axes: a [3], b [3, 4]");
  CHECK(said([](Maker& x) {
          return matmul(x({2, 2, 3}), x({3, 3, 4}));
        }) == "matmul needs batches that broadcast: a [2, 2, 3], b [3, 3, 4]");
  CHECK(said([](Maker& x) {
          return matmul(x({2, 3}, f16), x({3, 4}));
        }) == "matmul needs one dtype: a float16[2, 3], b float32[3, 4]; cast one of them");
  CHECK(said([](Maker& x) {
          return conv2d(x({4, 4, 1}), x({3, 3, 1, 2}), {});
        }) == "conv2d needs x [batch, height, width, channels], got [4, 4, 1]");
  CHECK(said([](Maker& x) {
          return conv2d(x({1, 4, 4, 3}), x({3, 3, 1, 2}), {});
        }) == "conv2d needs matching channels: x [1, 4, 4, 3], kernel [3, 3, 1, 2], groups 1");
  CHECK(said([](Maker& x) {
          return conv2d(x({1, 2, 2, 1}), x({3, 3, 1, 2}), {});
        }) == "conv2d: the kernel [3, 3, 1, 2] is larger than x [1, 2, 2, 1] with its padding");
  CHECK(said([](Maker& x) {
          return max_pool2d(x({1, 1, 4, 1}), {});
        }) == "pooling: the window [2, 2] is larger than x [1, 1, 4, 1]");
  CHECK(said([](Maker& x) {
          return average_pool2d(x({4, 4}), {});
        }) == "pooling needs x [batch, height, width, channels], got [4, 4]");
}

TEST_CASE("families") {
  CHECK(said([](Maker& x) { return batch_norm(x({4}), {}, {}, 1e-3); }) ==
        "batch_norm needs x with a batch and channels, got [4]");
  CHECK(said([](Maker& x) {
          return layer_norm(x({4, 3}), x({4}), {}, 1e-3);
        }) == "layer_norm needs one number a channel: x [4, 3], got [4]");
  CHECK(said([](Maker& x) {
          return layer_norm(x({4, 3}), x({3}, f16), {}, 1e-3);
        }) == "layer_norm needs one dtype: a float32[4, 3], b float16[3]; cast one of them");
  CHECK(said([](Maker& x) {
          return gather(x({4, 3}), x({2}));
        }) == "gather needs integer indices, got float32[2]; cast them");
  CHECK(said([](Maker& x) {
          return scatter_add(x({2}, i32), x({3, 4}), 5);
        }) == "scatter_add needs an update for each index: indices [2], updates [3, 4]");
  CHECK(said([](Maker& x) { return one_hot(x({2}), 3); }) ==
        "one_hot needs integer indices, got float32[2]; cast them");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 3}), x({3, 8}), x({2, 8}), {}, {}, {}, {});
        }) == "lstm needs x [batch, time, features], got [2, 3]");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 5, 3}), x({3, 9}), x({2, 8}), {}, {}, {}, {});
        }) == "lstm needs kernel [3, 4 units] and recurrent [units, 4 units], got [3, 9] and [2, 8]");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 5, 3}), x({3, 8}), x({2, 8}), x({4}), {}, {}, {});
        }) == "lstm needs bias [8], got [4]");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 5, 3}), x({3, 8}), x({2, 8}), {}, x({2, 3}), {}, {});
        }) == "lstm needs states [2, 2], got [2, 3]");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 5, 3}), x({3, 8}), x({2, 8}), {}, {}, {}, x({2, 5}));
        }) == "lstm needs a mask bool[2, 5], got float32[2, 5]");
  CHECK(said([](Maker& x) {
          return lstm(x({2, 5, 3}), x({3, 8}, f16), x({2, 8}), {}, {}, {}, {});
        }) == "lstm needs one dtype: a float32[2, 5, 3], b float16[3, 8]; cast one of them");
  CHECK(said([](Maker& x) { return random(x.graph, x({}, i32), x({}, i32), x({}, i32), {}); }) ==
        "random needs seed, step and first_row as int64 scalars, got int32[]");
  CHECK(said([](Maker& x) {
          return softmax_cross_entropy(x({4, 3}), x({3}, i32));
        }) == "softmax_cross_entropy needs a label for each row: logits [4, 3], labels [3]");
  CHECK(said([](Maker& x) {
          return softmax_cross_entropy(x({4, 3}), x({4}));
        }) == "softmax_cross_entropy needs integer labels, got float32[4]; cast them");
}

}  // namespace
}  // namespace strata
