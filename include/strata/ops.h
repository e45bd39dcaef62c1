// SPDX-License-Identifier: Apache-2.0
// The operations parts are written in. Shapes are static, layouts channels last; binary ops broadcast as NumPy does.
// Both operands of an op have one dtype; numbers take the dtype of the value beside them. Each op's rule, gradient,
// reference and examples are in src/graph/ops/, one file a family.
#pragma once

#include "strata/graph.h"

namespace strata {

// --- attributes -----------------------------------------------------------------------------------------------------
struct Full {
  double value = 0;
  Shape shape;
  DType dtype = DType::float32;
  static Schema schema();
};
struct Literal {
  std::vector<double> values;
  Shape shape;
  DType dtype = DType::float32;
  static Schema schema();
};
struct Cast {
  DType dtype = DType::float32;
  static Schema schema();
};
struct ToShape {
  Shape shape;
  static Schema schema();
};
struct Permutation {
  std::vector<std::int64_t> axes;
  static Schema schema();
};
struct Slice {
  std::vector<std::int64_t> starts, limits, strides;
  static Schema schema();
};
struct Padding {
  std::vector<std::int64_t> low, high;
  double value = 0;
  static Schema schema();
};
struct Axis {
  std::int64_t axis = -1;
  static Schema schema();
};
struct Reduction {
  std::vector<std::int64_t> axes;
  bool keepdims = false;
  static Schema schema();
};
struct Matmul {
  bool transpose_a = false, transpose_b = false;
  static Schema schema();
};
struct Convolution {
  Pair strides, dilation, pad_low = 0, pad_high = 0;
  std::int64_t groups = 1;
  static Schema schema();
};
struct ConvolutionGradient {
  Convolution convolution;
  Shape shape;
  static Schema schema();
};  // shape: of what is differentiated
struct Pooling {
  Pair window = 2, strides = 2, pad_low = 0, pad_high = 0;
  static Schema schema();
};
struct PoolingGradient {
  Pooling pooling;
  Shape shape;
  static Schema schema();
};
struct Epsilon {
  double epsilon = 1e-3;
  static Schema schema();
};
struct OneHot {
  std::int64_t depth = 1;
  DType dtype = DType::float32;
  static Schema schema();
};
struct Rows {
  std::int64_t count = 1;
  static Schema schema();
};
enum class Distribution { uniform, normal, bits };
struct Random {
  std::string stream;
  std::string distribution = "uniform";
  Shape shape;
  static Schema schema();
};
struct Scan {
  std::int64_t carries = 0, sequences = 0;
  bool reverse = false;
  static Schema schema();
};
struct Collective {
  std::string axis = "data";
  static Schema schema();
};

// --- leaves ---------------------------------------------------------------------------------------------------------
Value full(Graph& graph, double value, const Shape& shape = {}, DType dtype = DType::float32);
Value full_like(Value x, double value);  // a scalar of x's dtype, to be broadcast
Value literal(Graph& graph, std::vector<double> values, const Shape& shape, DType dtype = DType::float32);

// --- element by element ---------------------------------------------------------------------------------------------
Value add(Value a, Value b);
Value subtract(Value a, Value b);
Value multiply(Value a, Value b);
Value divide(Value a, Value b);
Value maximum(Value a, Value b);  // gradient to both halves where equal
Value minimum(Value a, Value b);
Value power(Value a, Value b);
Value equal(Value a, Value b);  // comparisons give bool
Value not_equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_not(Value a);
Value select(Value condition, Value yes, Value no);
Value negate(Value x);
Value absolute(Value x);
Value sign(Value x);
Value exp(Value x);
Value expm1(Value x);
Value log(Value x);
Value log1p(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);
Value square(Value x);
Value reciprocal(Value x);
Value sin(Value x);
Value cos(Value x);
Value tanh(Value x);
Value sigmoid(Value x);
Value erf(Value x);
Value relu(Value x);
Value softplus(Value x);  // ln(1 + e^x), right for large |x|
Value floor(Value x);     // gradient zero
Value round(Value x);     // to nearest, ties to even; gradient zero
Value is_finite(Value x);
Value cast(Value x, DType dtype);  // float to integer truncates; gradients pass between floats
Value stop_gradient(Value x);

// --- shapes ---------------------------------------------------------------------------------------------------------
Value reshape(Value x, const Shape& shape);
Value broadcast_to(Value x, const Shape& shape);
Value sum_to(Value x, const Shape& shape);  // adds up what broadcasting to x had repeated
Value transpose(Value x, std::vector<std::int64_t> axes);
Value slice(Value x, std::vector<std::int64_t> starts, std::vector<std::int64_t> limits,
            std::vector<std::int64_t> strides = {});
Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit);
Value pad(Value x, std::vector<std::int64_t> low, std::vector<std::int64_t> high, double value = 0);
Value concatenate(std::vector<Value> parts, int axis = -1);
Value reverse(Value x, int axis);

// --- reductions -----------------------------------------------------------------------------------------------------
Value reduce_sum(Value x, std::vector<std::int64_t> axes, bool keepdims = false);
Value reduce_mean(Value x, std::vector<std::int64_t> axes, bool keepdims = false);
Value reduce_max(Value x, std::vector<std::int64_t> axes, bool keepdims = false);
Value reduce_all(Value x);  // bool scalar: every element of a bool array holds
Value sum(Value x);         // over everything, to a scalar
Value mean(Value x);
Value argmax(Value x, int axis = -1);  // int32; the first of equals
Value cumulative_sum(Value x, int axis = -1);
Value sort_descending(Value x);  // along the last axis; gradient through the order

// --- linear algebra and convolution -----------------------------------------------------------------------------------
Value matmul(Value a, Value b, bool transpose_a = false,
             bool transpose_b = false);  // [..., m, k] x [k, n] or [..., k, n]
Value conv2d(Value x, Value kernel,
             const Convolution& convolution);  // x [n, h, w, in], kernel [kh, kw, in/groups, out]
Value conv2d_input_gradient(Value gradient, Value kernel, const Convolution& convolution, const Shape& input);
Value conv2d_kernel_gradient(Value x, Value gradient, const Convolution& convolution, const Shape& kernel);
Value max_pool2d(Value x, const Pooling& pooling);      // gradient to the first largest of each window
Value average_pool2d(Value x, const Pooling& pooling);  // divides by the number of real elements in the window

// --- families with kernels of their own -----------------------------------------------------------------------------
Value softmax(Value x, int axis = -1);
Value log_softmax(Value x, int axis = -1);
Value log_sum_exp(Value x, int axis = -1);                // the axis goes
Value softmax_cross_entropy(Value logits, Value labels);  // [n, k], integer [n] -> [n]: -log softmax at the label
Values batch_norm(Value x, Value gamma, Value beta, double epsilon);  // last axis: y, mean, variance (biased)
Value layer_norm(Value x, Value gamma, Value beta, double epsilon);   // over the last axis; gamma and beta may be null
Value gather(Value table, Value indices);  // rows of [rows, ...]: indices.shape + table.shape[1:]
Value scatter_add(Value indices, Value updates, std::int64_t rows);  // gather's gradient: sums rows of equal index
Value one_hot(Value indices, std::int64_t depth, DType dtype = DType::float32);  // all zeros outside [0, depth)
Value random(Graph& graph, Value seed, Value step, Value first_row, const Random& random);  // see strata/scope.h
// LSTM over x [batch, time, in], kernel [in, 4u], recurrent [u, 4u], bias [4u], gates i f c o, tanh and sigmoid; mask
// [batch, time] bool may be null: a masked step keeps state and output. bias, h0 and c0 may be null (zeros). Outputs: all
// steps [batch, time, u], last h, last c. Backwards in time: reverse x and the mask.
Values lstm(Value x, Value kernel, Value recurrent, Value bias, Value h0, Value c0, Value mask);

// The body is a graph whose inputs are, in order, the carries, one step of each sequence, and the constants; its outputs
// are the carries' next values, then what each step yields. Sequences run along axis 0, from the last step to the first
// when `reverse`. Returns the last carries, then the yields stacked along axis 0, each at the index of its step.
Values scan(Graph& graph, std::shared_ptr<const Graph> body, std::span<const Value> carries,
            std::span<const Value> sequences, std::span<const Value> constants, bool reverse = false);

// --- between replicas -------------------------------------------------------------------------------------------------
Value all_reduce(Value x, const std::string& axis = "data");  // the sum over the mesh axis; one replica: x itself

inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return subtract(a, b); }
inline Value operator*(Value a, Value b) { return multiply(a, b); }
inline Value operator/(Value a, Value b) { return divide(a, b); }
inline Value operator-(Value a) { return negate(a); }
inline Value operator+(Value a, double b) { return add(a, full_like(a, b)); }
inline Value operator-(Value a, double b) { return subtract(a, full_like(a, b)); }
inline Value operator*(Value a, double b) { return multiply(a, full_like(a, b)); }
inline Value operator/(Value a, double b) { return divide(a, full_like(a, b)); }
inline Value operator+(double a, Value b) { return add(full_like(b, a), b); }
inline Value operator-(double a, Value b) { return subtract(full_like(b, a), b); }
inline Value operator*(double a, Value b) { return multiply(full_like(b, a), b); }
inline Value operator/(double a, Value b) { return divide(full_like(b, a), b); }

}  // namespace strata
