// SPDX-License-Identifier: Apache-2.0
// c = a b + beta c for row-major matrices with any distance between rows.
#pragma once

#include <cstdint>

namespace strata::cpu {

struct GemmShape {
  bool transpose_a = false, transpose_b = false;  // a is [k, m], b is [n, k]
  std::int64_t m, n, k, a_row, b_row, c_row;      // row distances in elements
};

void gemm(const GemmShape& s, const float* a, const float* b, float beta, float* c);
void gemm(const GemmShape& s, const double* a, const double* b, double beta, double* c);

}  // namespace strata::cpu
