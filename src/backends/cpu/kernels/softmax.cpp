// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm, and the cross-entropy of logits: each row is read from memory once.
#include <algorithm>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

const SoftmaxLoops& softmax_loops(bool is_double, std::string_view isa) {
  return is_double ? loops_for(isa).softmax_double : loops_for(isa).softmax_float;
}
bool has_loops(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

using RowLoop = void (*)(const void* x, void* y, std::int64_t n);

// Rows along the last axis where they lie; along another they are gathered first.
template <class T> struct AlongAxis {
  AxisView view;
  RowLoop loop;
  int threads;

  std::size_t row_bytes() const { return aligned(static_cast<std::size_t>(view.length) * sizeof(T)); }
  void operator()(const Launch& l) const {
    const T* x = static_cast<const T*>(l.inputs[0]);
    T* y = static_cast<T*>(l.outputs[0]);
    const std::int64_t rows = view.outer * view.inner;
    on_team(threads, rows * view.length * 4, [&](int thread, int team) {
      T* row = reinterpret_cast<T*>(static_cast<char*>(l.workspace) + static_cast<std::size_t>(thread) * row_bytes());
      const Part part = part_of(rows, thread, team);
      for (std::int64_t r = part.begin; r < part.end; ++r) {
        const std::int64_t first = r / view.inner * view.length * view.inner + r % view.inner;
        if (view.inner == 1) {
          loop(x + first, y + first, view.length);
          continue;
        }
        for (std::int64_t i = 0; i < view.length; ++i) row[i] = x[first + i * view.inner];
        loop(row, row, view.length);
        for (std::int64_t i = 0; i < view.length; ++i) y[first + i * view.inner] = row[i];
      }
    });
  }
};

template <class T> Choice along_axis(const Problem& problem, RowLoop loop) {
  const AlongAxis<T> kernel{AxisView(problem.inputs[0].shape, problem.node.attributes.as<Axis>().axis), loop,
                            problem.device.threads};
  Choice choice =
      accept(kernel, kernel.view.inner == 1 ? 0 : static_cast<std::size_t>(kernel.threads) * kernel.row_bytes());
  choice.in_place = {{0, 0}};
  return choice;
}

template <RowLoop SoftmaxLoops::*which> Choice softmax(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  const RowLoop loop = softmax_loops(dtype == DType::float64, problem.device.isa).*which;
  return dtype == DType::float64 ? along_axis<double>(problem, loop) : along_axis<float>(problem, loop);
}

template <class T> Choice cross_entropy_of(const Problem& problem) {
  const auto loop = softmax_loops(sizeof(T) == 8, problem.device.isa).cross_entropy;
  const std::int64_t rows = problem.outputs[0].size(), n = problem.inputs[0].shape[-1];
  const DType labels = problem.inputs[1].dtype;
  return accept([=](const Launch& l) {
    parallel_for(rows, rows * n * 4, [&](std::int64_t r) {
      const double loss = loop(static_cast<const T*>(l.inputs[0]) + r * n, integer_at(l.inputs[1], labels, r), n);
      static_cast<T*>(l.outputs[0])[r] = static_cast<T>(loss);
    });
  });
}

Choice cross_entropy(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  return dtype == DType::float64 ? cross_entropy_of<double>(problem) : cross_entropy_of<float>(problem);
}

template <class T> Choice cross_entropy_gradient_of(const Problem& problem) {
  const auto loop = softmax_loops(sizeof(T) == 8, problem.device.isa).cross_entropy_gradient;
  const std::int64_t rows = problem.inputs[2].size(), n = problem.inputs[0].shape[-1];
  const DType labels = problem.inputs[1].dtype;
  Choice choice = accept([=](const Launch& l) {
    parallel_for(rows, rows * n * 4, [&](std::int64_t r) {
      const double scale = static_cast<double>(static_cast<const T*>(l.inputs[2])[r]);
      loop(static_cast<const T*>(l.inputs[0]) + r * n, integer_at(l.inputs[1], labels, r), scale,
           static_cast<T*>(l.outputs[0]) + r * n, n);
    });
  });
  choice.in_place = {{0, 0}};
  return choice;
}

Choice cross_entropy_gradient(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  return dtype == DType::float64 ? cross_entropy_gradient_of<double>(problem)
                                 : cross_entropy_gradient_of<float>(problem);
}

}  // namespace

void kernels_softmax(KernelTable& table) {
  add_both(table, "softmax", "rows", softmax<&SoftmaxLoops::softmax>);
  add_both(table, "log_softmax", "rows", softmax<&SoftmaxLoops::log_softmax>);
  add_both(table, "softmax_cross_entropy", "rows", cross_entropy);
  add_both(table, "softmax_cross_entropy_gradient", "rows", cross_entropy_gradient);
}

}  // namespace strata::cpu
