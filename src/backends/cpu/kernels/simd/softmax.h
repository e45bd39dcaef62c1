// SPDX-License-Identifier: Apache-2.0
// Loops over one row of scores: its largest, the sum of its exponentials, and what is made of them.
#pragma once

#include <cmath>
#include <limits>

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/kernels/simd/math.h"

namespace strata::cpu {
namespace {

inline float exponential(float x) { return exp_of(x); }
inline double exponential(double x) { return std::exp(x); }

template <class T> T largest_of(const T* x, std::int64_t n) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// Sums in blocks, so that a long row loses nothing; with `to`, keeps the exponentials.
template <class T, bool keep> double exponentials(const T* x, T largest, T* to, std::int64_t n) {
  constexpr std::int64_t block = 1024;
  double total = 0;
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t end = at + block < n ? at + block : n;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = at; i < end; ++i) {
      const T value = exponential(x[i] - largest);
      if constexpr (keep) to[i] = value;
      sum += value;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <class T> void softmax_row(const void* from, void* to, std::int64_t n) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const T scale = static_cast<T>(1 / exponentials<T, true>(x, largest_of(x, n), y, n));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T> void log_softmax_row(const void* from, void* to, std::int64_t n) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const T largest = largest_of(x, n);
  const T log_sum = static_cast<T>(std::log(exponentials<T, false>(x, largest, nullptr, n)));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - log_sum;
}

template <class T> double cross_entropy_row(const void* from, std::int64_t label, std::int64_t n) {
  if (label < 0 || label >= n) return 0;
  const T* x = static_cast<const T*>(from);
  const T largest = largest_of(x, n);
  const double log_sum = std::log(exponentials<T, false>(x, largest, nullptr, n));
  return log_sum - static_cast<double>(x[label] - largest);
}

// scale * (softmax - one at the label); nothing for a label that is no class.
template <class T>
void cross_entropy_gradient_row(const void* from, std::int64_t label, double scale, void* to, std::int64_t n) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (label < 0 || label >= n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = 0;
    return;
  }
  const double sum = exponentials<T, true>(x, largest_of(x, n), y, n);
  const T factor = static_cast<T>(scale / sum);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] *= factor;
  y[label] -= static_cast<T>(scale);
}

template <class T>
constexpr SoftmaxLoops softmax_loops_of{softmax_row<T>, log_softmax_row<T>, cross_entropy_row<T>,
                                        cross_entropy_gradient_row<T>};

}  // namespace
}  // namespace strata::cpu
