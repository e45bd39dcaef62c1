// SPDX-License-Identifier: Apache-2.0
// Loops of batch and layer normalization: rows of channels. Sums are in float over a few rows, in double over all.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/simd/loops.h"

namespace strata::cpu {
namespace {

// Adds up two functions of (x, g) over rows, channel by channel.
template <class T, class F>
void sum_columns(const T* x, const T* g, std::int64_t rows, std::int64_t columns, double* first, double* second, F f) {
  constexpr std::int64_t block = 32, few_rows = 64;
  for (std::int64_t top = 0; top < rows; top += few_rows) {
    const std::int64_t bottom = top + few_rows < rows ? top + few_rows : rows;
    std::int64_t c = 0;
    for (; c + block <= columns; c += block) {
      T a[block] = {}, b[block] = {};
      for (std::int64_t r = top; r < bottom; ++r) {
        const T* from = x + r * columns + c;
        const T* slope = g + r * columns + c;
#pragma omp simd
        for (std::int64_t i = 0; i < block; ++i) f(from[i], slope[i], c + i, a[i], b[i]);
      }
#pragma omp simd
      for (std::int64_t i = 0; i < block; ++i) {
        first[c + i] += static_cast<double>(a[i]);
        second[c + i] += static_cast<double>(b[i]);
      }
    }
    for (; c < columns; ++c) {
      T a = 0, b = 0;
      for (std::int64_t r = top; r < bottom; ++r) f(x[r * columns + c], g[r * columns + c], c, a, b);
      first[c] += static_cast<double>(a);
      second[c] += static_cast<double>(b);
    }
  }
}

// Sums of x - shift and of its square.
template <class T>
void moments(const void* from, std::int64_t rows, std::int64_t columns, const void* shifts, double* sums,
             double* squares) {
  const T* x = static_cast<const T*>(from);
  const T* shift = static_cast<const T*>(shifts);
  sum_columns(x, x, rows, columns, sums, squares, [shift](T value, T, std::int64_t c, T& a, T& b) {
    const T d = value - shift[c];
    a += d;
    b += d * d;
  });
}

// Sums of g and of g * (x - shift).
template <class T>
void slopes(const void* from, const void* gradient, std::int64_t rows, std::int64_t columns, const void* shifts,
            double* sums, double* products) {
  const T* shift = static_cast<const T*>(shifts);
  sum_columns(static_cast<const T*>(from), static_cast<const T*>(gradient), rows, columns, sums, products,
              [shift](T value, T slope, std::int64_t c, T& a, T& b) {
                a += slope;
                b += slope * (value - shift[c]);
              });
}

// y = (x - shift) * scale + offset, channel by channel.
template <class T>
void affine(const void* from, std::int64_t rows, std::int64_t columns, const void* shifts, const void* scales,
            const void* offsets, void* to) {
  const T* shift = static_cast<const T*>(shifts);
  const T* scale = static_cast<const T*>(scales);
  const T* offset = static_cast<const T*>(offsets);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(from) + r * columns;
    T* y = static_cast<T*>(to) + r * columns;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) y[c] = (x[c] - shift[c]) * scale[c] + offset[c];
  }
}

// y = g * a + (x - shift) * b + offset, channel by channel.
template <class T>
void affine_two(const void* gradient, const void* from, std::int64_t rows, std::int64_t columns, const void* shifts,
                const void* as, const void* bs, const void* offsets, void* to) {
  const T* shift = static_cast<const T*>(shifts);
  const T* a = static_cast<const T*>(as);
  const T* b = static_cast<const T*>(bs);
  const T* offset = static_cast<const T*>(offsets);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* g = static_cast<const T*>(gradient) + r * columns;
    const T* x = static_cast<const T*>(from) + r * columns;
    T* y = static_cast<T*>(to) + r * columns;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) y[c] = (g[c] * a[c] + (x[c] - shift[c]) * b[c]) + offset[c];
  }
}

// One row normalized by its own mean and deviation; gamma and beta may be null.
template <class T>
RowMoments layer_row(const void* from, std::int64_t n, const void* gammas, const void* betas, double epsilon,
                     void* to) {
  const T* x = static_cast<const T*>(from);
  const T* gamma = static_cast<const T*>(gammas);
  const T* beta = static_cast<const T*>(betas);
  T* y = static_cast<T*>(to);
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  const T mean = sum / static_cast<T>(n);
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double rstd = 1 / std::sqrt(static_cast<double>(squares) / static_cast<double>(n) + epsilon);
  const T scale = static_cast<T>(rstd);
  if (gamma && beta) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  } else if (gamma) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * gamma[i];
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale + (beta ? beta[i] : T(0));
  }
  return {static_cast<double>(mean), rstd};
}

// dx of one row; adds to the sums of gamma's and beta's gradients where these are not null.
template <class T>
void layer_gradient_row(const void* gradient, const void* from, std::int64_t n, const void* gammas,
                        RowMoments moments_of_row, void* to, double* dgamma, double* dbeta) {
  const T* g = static_cast<const T*>(gradient);
  const T* x = static_cast<const T*>(from);
  const T* gamma = static_cast<const T*>(gammas);
  T* dx = static_cast<T*>(to);
  const T mean = static_cast<T>(moments_of_row.mean), rstd = static_cast<T>(moments_of_row.rstd);
  T sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t i = 0; i < n; ++i) {
    const T slope = gamma ? g[i] * gamma[i] : g[i];
    sum += slope;
    product += slope * ((x[i] - mean) * rstd);
  }
  const T sum_mean = sum / static_cast<T>(n), product_mean = product / static_cast<T>(n);
  if (dx) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const T slope = gamma ? g[i] * gamma[i] : g[i];
      dx[i] = (slope - sum_mean - (x[i] - mean) * rstd * product_mean) * rstd;
    }
  }
  if (dgamma) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dgamma[i] += static_cast<double>(g[i] * ((x[i] - mean) * rstd));
  }
  if (dbeta) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dbeta[i] += static_cast<double>(g[i]);
  }
}

template <class T>
constexpr NormLoops norm_loops_of{moments<T>, slopes<T>, affine<T>, affine_two<T>, layer_row<T>, layer_gradient_row<T>};

}  // namespace
}  // namespace strata::cpu
