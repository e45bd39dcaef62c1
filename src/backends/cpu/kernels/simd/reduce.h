// SPDX-License-Identifier: Apache-2.0
// Loops that fold many elements into few: along a row into one accumulator, or rows into a row of them. Floats add up
// in float over at most a tile, then in double.
#pragma once

#include <limits>

#include "backends/cpu/kernels/simd/loops.h"

namespace strata::cpu {
namespace {

struct FoldSum {
  template <class T> static T of(T a, T b) { return a + b; }
  template <class T> static constexpr T first() { return T(0); }
};
struct FoldMax {
  template <class T> static T of(T a, T b) { return a > b || a != a ? a : b; }
  template <class T> static constexpr T first() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
};
struct FoldAll {
  template <class T> static T of(T a, T b) { return (a != 0) & (b != 0); }
  template <class T> static constexpr T first() { return T(1); }
};

// Element type and accumulator of a lane.
template <class T, class A> struct Folded {
  using Element = T;
  using Sum = A;
};

template <class Fold, class Types> void fold_along(const void* from, std::int64_t, std::int64_t n, void* accumulator) {
  using T = typename Types::Element;
  using A = typename Types::Sum;
  constexpr std::int64_t ways = 64;
  const T* x = static_cast<const T*>(from);
  T partial[ways];
  for (std::int64_t w = 0; w < ways; ++w) partial[w] = Fold::template first<T>();
  std::int64_t i = 0;
  for (; i + ways <= n; i += ways) {
#pragma omp simd
    for (std::int64_t w = 0; w < ways; ++w) partial[w] = Fold::of(partial[w], x[i + w]);
  }
  A total = *static_cast<A*>(accumulator);
  if (i > 0) {
    for (std::int64_t width = ways / 2; width > 0; width /= 2) {
      for (std::int64_t w = 0; w < width; ++w) partial[w] = Fold::of(partial[w], partial[w + width]);
    }
    total = Fold::of(total, static_cast<A>(partial[0]));
  }
  for (; i < n; ++i) total = Fold::of(total, static_cast<A>(x[i]));
  *static_cast<A*>(accumulator) = total;
}

template <class Fold, class Types>
void fold_across(const void* from, std::int64_t rows, std::int64_t columns, void* accumulators) {
  using T = typename Types::Element;
  using A = typename Types::Sum;
  constexpr std::int64_t block = 32;
  const T* x = static_cast<const T*>(from);
  A* sums = static_cast<A*>(accumulators);
  std::int64_t c = 0;
  for (; c + block <= columns; c += block) {
    T partial[block];
    for (std::int64_t i = 0; i < block; ++i) partial[i] = Fold::template first<T>();
    for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
      for (std::int64_t i = 0; i < block; ++i) partial[i] = Fold::of(partial[i], x[r * columns + c + i]);
    }
#pragma omp simd
    for (std::int64_t i = 0; i < block; ++i) sums[c + i] = Fold::of(sums[c + i], static_cast<A>(partial[i]));
  }
  if (c == columns) return;
  T partial[block];
  for (std::int64_t i = 0; i < columns - c; ++i) partial[i] = Fold::template first<T>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < columns - c; ++i) partial[i] = Fold::of(partial[i], x[r * columns + c + i]);
  }
  for (std::int64_t i = 0; i < columns - c; ++i) sums[c + i] = Fold::of(sums[c + i], static_cast<A>(partial[i]));
}

template <class Fold> FoldLoop fold_loop_of(Lane lane, bool across) {
  switch (lane) {
    case Lane::f32: return across ? fold_across<Fold, Folded<float, double>> : fold_along<Fold, Folded<float, double>>;
    case Lane::f64:
      return across ? fold_across<Fold, Folded<double, double>> : fold_along<Fold, Folded<double, double>>;
    case Lane::i64:
      return across ? fold_across<Fold, Folded<std::int64_t, std::int64_t>>
                    : fold_along<Fold, Folded<std::int64_t, std::int64_t>>;
    case Lane::truth:
      return across ? fold_across<Fold, Folded<std::int32_t, std::int64_t>>
                    : fold_along<Fold, Folded<std::int32_t, std::int64_t>>;
  }
  return nullptr;
}

inline FoldLoop find_fold(Reduce kind, Lane lane, bool across) {
  switch (kind) {
    case Reduce::sum: return fold_loop_of<FoldSum>(lane, across);
    case Reduce::max: return fold_loop_of<FoldMax>(lane, across);
    case Reduce::all: return fold_loop_of<FoldAll>(lane, across);
  }
  return nullptr;
}

constexpr ReduceLoops reduce_loops{find_fold};

}  // namespace
}  // namespace strata::cpu
