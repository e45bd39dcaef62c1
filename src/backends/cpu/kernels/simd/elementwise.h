// SPDX-License-Identifier: Apache-2.0
// Loops of the elementwise ops. Included once per instruction set.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/kernels/simd/math.h"

namespace strata::cpu {
namespace {

template <class Op, class In, class Out>
void unary_loop(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const In* x = static_cast<const In*>(a);
  Out* z = static_cast<Out*>(out);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) z[i] = static_cast<Out>(Op::of(x[i]));
}

template <class Op, class In, class Out, bool scalar_a, bool scalar_b>
void binary_loop(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  const In* x = static_cast<const In*>(a);
  const In* y = static_cast<const In*>(b);
  Out* z = static_cast<Out*>(out);
  const In x0 = x[0], y0 = y[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) z[i] = static_cast<Out>(Op::of(scalar_a ? x0 : x[i], scalar_b ? y0 : y[i]));
}

template <class T, bool scalar_c, bool scalar_a, bool scalar_b>
void select_loop(const void* c, const void* a, const void* b, void* out, std::int64_t n) {
  const std::int32_t* condition = static_cast<const std::int32_t*>(c);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  const std::int32_t c0 = condition[0];
  const T x0 = x[0], y0 = y[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T yes = scalar_a ? x0 : x[i], no = scalar_b ? y0 : y[i];
    z[i] = (scalar_c ? c0 : condition[i]) != 0 ? yes : no;
  }
}

template <class Op, class In, class Out = In> Loop binary(unsigned scalars) {
  constexpr Loop loops[] = {binary_loop<Op, In, Out, false, false>, binary_loop<Op, In, Out, true, false>,
                            binary_loop<Op, In, Out, false, true>, binary_loop<Op, In, Out, true, true>};
  return loops[scalars & 3];
}
template <class T> Loop select(unsigned scalars) {
  constexpr Loop loops[] = {select_loop<T, false, false, false>, select_loop<T, true, false, false>,
                            select_loop<T, false, true, false>,  select_loop<T, true, true, false>,
                            select_loop<T, false, false, true>,  select_loop<T, true, false, true>,
                            select_loop<T, false, true, true>,   select_loop<T, true, true, true>};
  return loops[scalars & 7];
}

struct Add {
  template <class T> static T of(T a, T b) { return static_cast<T>(a + b); }
};
struct Subtract {
  template <class T> static T of(T a, T b) { return static_cast<T>(a - b); }
};
struct Multiply {
  template <class T> static T of(T a, T b) { return static_cast<T>(a * b); }
};
struct Divide {
  template <class T> static T of(T a, T b) { return a / b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : a / b; }
};
// A NaN on either side stays one.
struct Maximum {
  template <class T> static T of(T a, T b) { return a > b || a != a ? a : b; }
};
struct Minimum {
  template <class T> static T of(T a, T b) { return a < b || a != a ? a : b; }
};
struct Power {
  static float of(float a, float b) { return std::pow(a, b); }
  static double of(double a, double b) { return std::pow(a, b); }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct Equal {
  template <class T> static bool of(T a, T b) { return a == b; }
};
struct NotEqual {
  template <class T> static bool of(T a, T b) { return a != b; }
};
struct Less {
  template <class T> static bool of(T a, T b) { return a < b; }
};
struct LessEqual {
  template <class T> static bool of(T a, T b) { return a <= b; }
};
struct Greater {
  template <class T> static bool of(T a, T b) { return a > b; }
};
struct GreaterEqual {
  template <class T> static bool of(T a, T b) { return a >= b; }
};
struct And {
  template <class T> static bool of(T a, T b) { return (a != 0) & (b != 0); }
};
struct Or {
  template <class T> static bool of(T a, T b) { return (a != 0) | (b != 0); }
};
struct Not {
  template <class T> static bool of(T a) { return a == 0; }
};

struct Same {
  template <class T> static T of(T a) { return a; }
};
struct Negate {
  template <class T> static T of(T a) { return -a; }
};
struct Absolute {
  template <class T> static T of(T a) { return a < 0 ? -a : a; }
};
struct Sign {
  template <class T> static T of(T a) { return a > 0 ? T(1) : a < 0 ? T(-1) : T(0); }
};
struct Square {
  template <class T> static T of(T a) { return a * a; }
};
struct Relu {
  template <class T> static T of(T a) { return a > 0 || a != a ? a : T(0); }
};
struct Sqrt {
  template <class T> static T of(T a) { return std::sqrt(a); }
};
struct Rsqrt {
  template <class T> static T of(T a) { return T(1) / std::sqrt(a); }
};
struct Reciprocal {
  template <class T> static T of(T a) { return T(1) / a; }
};
struct IsFinite {
  template <class T> static bool of(T a) { return std::fabs(a) <= std::numeric_limits<T>::max(); }
};
struct IsTrue {
  template <class T> static bool of(T a) { return a != 0; }
};
struct Exp {
  static float of(float a) { return exp_of(a); }
  static double of(double a) { return std::exp(a); }
};
struct Expm1 {
  static float of(float a) { return expm1_of(a); }
  static double of(double a) { return std::expm1(a); }
};
struct Log {
  static float of(float a) { return log_of(a); }
  static double of(double a) { return std::log(a); }
};
struct Log1p {
  static float of(float a) { return log1p_of(a); }
  static double of(double a) { return std::log1p(a); }
};
struct Sin {
  static float of(float a) { return sine_of(a, 0); }
  static double of(double a) { return std::sin(a); }
};
struct Cos {
  static float of(float a) { return sine_of(a, 1); }
  static double of(double a) { return std::cos(a); }
};
struct Tanh {
  static float of(float a) { return tanh_of(a); }
  static double of(double a) { return std::tanh(a); }
};
struct Sigmoid {
  static float of(float a) { return sigmoid_of(a); }
  static double of(double a) { return 1 / (1 + std::exp(-a)); }
};
struct Erf {
  static float of(float a) { return erf_of(a); }
  static double of(double a) { return std::erf(a); }
};
struct Softplus {
  static float of(float a) { return softplus_of(a); }
  static double of(double a) { return std::max(a, 0.0) + std::log1p(std::exp(-std::fabs(a))); }
};
struct Floor {
  static float of(float a) { return floor_of(a); }
  static double of(double a) { return std::floor(a); }
};
struct Round {
  static float of(float a) { return round_of(a); }
  static double of(double a) { return std::nearbyint(a); }
};

template <class T> Loop number_loop(std::string_view op, unsigned scalars) {
  using Truth = std::int32_t;
  if (op == "add") return binary<Add, T>(scalars);
  if (op == "subtract") return binary<Subtract, T>(scalars);
  if (op == "multiply") return binary<Multiply, T>(scalars);
  if (op == "divide") return binary<Divide, T>(scalars);
  if (op == "maximum") return binary<Maximum, T>(scalars);
  if (op == "minimum") return binary<Minimum, T>(scalars);
  if (op == "power") return binary<Power, T>(scalars);
  if (op == "equal") return binary<Equal, T, Truth>(scalars);
  if (op == "not_equal") return binary<NotEqual, T, Truth>(scalars);
  if (op == "less") return binary<Less, T, Truth>(scalars);
  if (op == "less_equal") return binary<LessEqual, T, Truth>(scalars);
  if (op == "greater") return binary<Greater, T, Truth>(scalars);
  if (op == "greater_equal") return binary<GreaterEqual, T, Truth>(scalars);
  if (op == "select") return select<T>(scalars);
  if (op == "negate") return unary_loop<Negate, T, T>;
  if (op == "absolute") return unary_loop<Absolute, T, T>;
  if (op == "sign") return unary_loop<Sign, T, T>;
  if (op == "square") return unary_loop<Square, T, T>;
  if (op == "relu") return unary_loop<Relu, T, T>;
  if (op == "stop_gradient") return unary_loop<Same, T, T>;
  return nullptr;
}

template <class T> Loop float_loop(std::string_view op) {
  if (op == "exp") return unary_loop<Exp, T, T>;
  if (op == "expm1") return unary_loop<Expm1, T, T>;
  if (op == "log") return unary_loop<Log, T, T>;
  if (op == "log1p") return unary_loop<Log1p, T, T>;
  if (op == "sqrt") return unary_loop<Sqrt, T, T>;
  if (op == "rsqrt") return unary_loop<Rsqrt, T, T>;
  if (op == "reciprocal") return unary_loop<Reciprocal, T, T>;
  if (op == "sin") return unary_loop<Sin, T, T>;
  if (op == "cos") return unary_loop<Cos, T, T>;
  if (op == "tanh") return unary_loop<Tanh, T, T>;
  if (op == "sigmoid") return unary_loop<Sigmoid, T, T>;
  if (op == "erf") return unary_loop<Erf, T, T>;
  if (op == "softplus") return unary_loop<Softplus, T, T>;
  if (op == "floor") return unary_loop<Floor, T, T>;
  if (op == "round") return unary_loop<Round, T, T>;
  if (op == "is_finite") return unary_loop<IsFinite, T, std::int32_t>;
  return nullptr;
}

inline Loop truth_loop(std::string_view op, unsigned scalars) {
  using Truth = std::int32_t;
  if (op == "logical_and") return binary<And, Truth>(scalars);
  if (op == "logical_or") return binary<Or, Truth>(scalars);
  if (op == "logical_not") return unary_loop<Not, Truth, Truth>;
  if (op == "equal") return binary<Equal, Truth>(scalars);
  if (op == "not_equal") return binary<NotEqual, Truth>(scalars);
  if (op == "maximum") return binary<Or, Truth>(scalars);
  if (op == "minimum" || op == "multiply") return binary<And, Truth>(scalars);
  if (op == "select") return select<Truth>(scalars);
  if (op == "stop_gradient") return unary_loop<Same, Truth, Truth>;
  return nullptr;
}

inline Loop find_loop(std::string_view op, Lane lane, unsigned scalars) {
  Loop found = nullptr;
  switch (lane) {
    case Lane::f32: return (found = number_loop<float>(op, scalars)) ? found : float_loop<float>(op);
    case Lane::f64: return (found = number_loop<double>(op, scalars)) ? found : float_loop<double>(op);
    case Lane::i64: return number_loop<std::int64_t>(op, scalars);
    case Lane::truth: return truth_loop(op, scalars);
  }
  return nullptr;
}

template <class From> Loop convert_from(Lane to) {
  switch (to) {
    case Lane::f32: return unary_loop<Same, From, float>;
    case Lane::f64: return unary_loop<Same, From, double>;
    case Lane::i64: return unary_loop<Same, From, std::int64_t>;
    case Lane::truth: return unary_loop<IsTrue, From, std::int32_t>;
  }
  return nullptr;
}
inline Loop convert_loop(Lane from, Lane to) {
  switch (from) {
    case Lane::f32: return convert_from<float>(to);
    case Lane::f64: return convert_from<double>(to);
    case Lane::i64: return convert_from<std::int64_t>(to);
    case Lane::truth: return convert_from<std::int32_t>(to);
  }
  return nullptr;
}

inline void load_bfloat16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const std::uint16_t* x = static_cast<const std::uint16_t*>(a);
  float* z = static_cast<float*>(out);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) z[i] = of_bfloat16(x[i]);
}
inline void store_bfloat16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  std::uint16_t* z = static_cast<std::uint16_t*>(out);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) z[i] = bfloat16_of(x[i]);
}
inline void load_float16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const std::uint16_t* x = static_cast<const std::uint16_t*>(a);
  float* z = static_cast<float*>(out);
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(z + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
#endif
  for (; i < n; ++i) z[i] = float16_to_float(x[i]);
}
inline void store_float16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  std::uint16_t* z = static_cast<std::uint16_t*>(out);
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(z + i), halves);
  }
#endif
  for (; i < n; ++i) z[i] = float_to_float16(x[i]);
}

inline Loop load_loop(DType from) {
  switch (from) {
    case DType::float32: return unary_loop<Same, float, float>;
    case DType::float64: return unary_loop<Same, double, double>;
    case DType::float16: return load_float16;
    case DType::bfloat16: return load_bfloat16;
    case DType::int32: return unary_loop<Same, std::int32_t, std::int64_t>;
    case DType::int64: return unary_loop<Same, std::int64_t, std::int64_t>;
    case DType::uint8: return unary_loop<Same, std::uint8_t, std::int64_t>;
    case DType::boolean: return unary_loop<IsTrue, std::uint8_t, std::int32_t>;
    default: return nullptr;
  }
}
inline Loop store_loop(DType to) {
  switch (to) {
    case DType::float32: return unary_loop<Same, float, float>;
    case DType::float64: return unary_loop<Same, double, double>;
    case DType::float16: return store_float16;
    case DType::bfloat16: return store_bfloat16;
    case DType::int32: return unary_loop<Same, std::int64_t, std::int32_t>;
    case DType::int64: return unary_loop<Same, std::int64_t, std::int64_t>;
    case DType::uint8: return unary_loop<Same, std::int64_t, std::uint8_t>;
    case DType::boolean: return unary_loop<IsTrue, std::int32_t, std::uint8_t>;
    default: return nullptr;
  }
}

inline void round_to_bfloat16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  float* z = static_cast<float*>(out);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) z[i] = of_bfloat16(bfloat16_of(x[i]));
}
inline void round_to_float16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  std::uint16_t halves[64];
  for (std::int64_t at = 0; at < n; at += 64) {
    const std::int64_t count = n - at < 64 ? n - at : 64;
    store_float16(x + at, nullptr, nullptr, halves, count);
    load_float16(halves, nullptr, nullptr, static_cast<float*>(out) + at, count);
  }
}
inline Loop round_loop(DType to) {
  return to == DType::bfloat16 ? round_to_bfloat16 : to == DType::float16 ? round_to_float16 : nullptr;
}

template <class T> void fill_with(const void* a, const void*, const void*, void* out, std::int64_t n) {
  std::fill_n(static_cast<T*>(out), n, *static_cast<const T*>(a));
}
inline Loop fill_loop(Lane lane) {
  switch (lane) {
    case Lane::f32: return fill_with<float>;
    case Lane::f64: return fill_with<double>;
    case Lane::i64: return fill_with<std::int64_t>;
    case Lane::truth: return fill_with<std::int32_t>;
  }
  return nullptr;
}

constexpr ElementwiseLoops elementwise_loops{find_loop, convert_loop, load_loop, store_loop, fill_loop, round_loop};

}  // namespace
}  // namespace strata::cpu
