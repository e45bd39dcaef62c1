// SPDX-License-Identifier: Apache-2.0
// One row of an LSTM's cell, forward and back. Gates i, f, c, o lie one after the other, each `units` long.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/kernels/simd/math.h"

namespace strata::cpu {
namespace {

inline float squash(float x) { return tanh_of(x); }
inline double squash(double x) { return std::tanh(x); }
inline float open(float x) { return sigmoid_of(x); }
inline double open(double x) { return 1 / (1 + std::exp(-x)); }

// Sums become gates in place; c and h are the cell's new state.
template <class T> void lstm_cell(void* gates, const void* c_before, void* c_after, void* h_after, std::int64_t units) {
  T* z = static_cast<T*>(gates);
  const T* before = static_cast<const T*>(c_before);
  T* c = static_cast<T*>(c_after);
  T* h = static_cast<T*>(h_after);
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const T i = open(z[u]), f = open(z[units + u]), g = squash(z[2 * units + u]), o = open(z[3 * units + u]);
    const T state = f * before[u] + i * g;
    z[u] = i;
    z[units + u] = f;
    z[2 * units + u] = g;
    z[3 * units + u] = o;
    c[u] = state;
    h[u] = o * squash(state);
  }
}

// dh is the gradient of h; dc that of c, and becomes that of the state before.
template <class T>
void lstm_cell_gradient(const void* gates, const void* c_before, const void* c_after, const void* h_gradient,
                        void* c_gradient, void* sum_gradient, std::int64_t units) {
  const T* z = static_cast<const T*>(gates);
  const T* before = static_cast<const T*>(c_before);
  const T* c = static_cast<const T*>(c_after);
  const T* dh = static_cast<const T*>(h_gradient);
  T* dc = static_cast<T*>(c_gradient);
  T* dz = static_cast<T*>(sum_gradient);
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const T i = z[u], f = z[units + u], g = z[2 * units + u], o = z[3 * units + u];
    const T squashed = squash(c[u]);
    const T into_c = dc[u] + dh[u] * o * (1 - squashed * squashed);
    dz[u] = into_c * g * i * (1 - i);
    dz[units + u] = into_c * before[u] * f * (1 - f);
    dz[2 * units + u] = into_c * i * (1 - g * g);
    dz[3 * units + u] = dh[u] * squashed * o * (1 - o);
    dc[u] = into_c * f;
  }
}

template <class T> constexpr LstmLoops lstm_loops_of{lstm_cell<T>, lstm_cell_gradient<T>};

}  // namespace
}  // namespace strata::cpu
