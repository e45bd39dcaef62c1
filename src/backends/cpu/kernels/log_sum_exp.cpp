// SPDX-License-Identifier: Apache-2.0
// log_sum_exp: each row is read twice, once for its largest and once for the sum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

template <class T> Choice along_axis(const Problem& problem) {
  const AxisView view(problem.inputs[0].shape, problem.node.attributes.as<Axis>().axis);
  return accept([view](const Launch& l) {
    const std::int64_t rows = view.outer * view.inner;
    parallel_for(rows, rows * view.length * 8, [&](std::int64_t r) {
      const T* first = static_cast<const T*>(l.inputs[0]) + r / view.inner * view.length * view.inner + r % view.inner;
      T most = -std::numeric_limits<T>::infinity(), total = 0;
      for (std::int64_t i = 0; i < view.length; ++i) most = std::max(most, first[i * view.inner]);
      for (std::int64_t i = 0; i < view.length; ++i) total += std::exp(first[i * view.inner] - most);
      static_cast<T*>(l.outputs[0])[r] = most + std::log(total);
    });
  });
}

Choice log_sum_exp(const Problem& problem) {
  switch (problem.inputs[0].dtype) {
    case DType::float32: return along_axis<float>(problem);
    case DType::float64: return along_axis<double>(problem);
    default: return refuse(cat("no loop for ", problem.inputs[0].dtype));
  }
}

}  // namespace

void kernels_log_sum_exp(KernelTable& table) { add_both(table, "log_sum_exp", "rows", log_sum_exp); }

}  // namespace strata::cpu
