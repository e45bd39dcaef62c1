// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/gemm.h"

#include <oneapi/dnnl/dnnl.h>

#include <stdexcept>

#include "backends/cpu/machine.h"

namespace strata::cpu {

void gemm(const GemmShape& s, const float* a, const float* b, float beta, float* c) {
  if (s.m == 0 || s.n == 0) return;
  const dnnl_status_t status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1, a,
                                          s.a_row, b, s.b_row, beta, c, s.c_row);
  if (status != dnnl_success) throw std::runtime_error("sgemm failed");
}

void gemm(const GemmShape& s, const double* a, const double* b, double beta, double* c) {
  parallel_for(s.m, s.m * s.n * s.k, [&](std::int64_t i) {
    double* row = c + i * s.c_row;
    for (std::int64_t j = 0; j < s.n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
    for (std::int64_t l = 0; l < s.k; ++l) {
      const double left = s.transpose_a ? a[l * s.a_row + i] : a[i * s.a_row + l];
      for (std::int64_t j = 0; j < s.n; ++j) row[j] += left * (s.transpose_b ? b[j * s.b_row + l] : b[l * s.b_row + j]);
    }
  });
}

}  // namespace strata::cpu
