// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalization: one pass for the sums, one that applies them. Threads' sums are joined in order.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

const NormLoops& norm_loops(bool is_double, std::string_view isa) {
  return is_double ? loops_for(isa).norm_double : loops_for(isa).norm_float;
}
bool has_loops(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

// Two sums a channel for each thread, and four numbers a channel that all threads read.
template <class T> struct Memory {
  std::int64_t channels;
  int threads;

  std::size_t sum_bytes() const { return aligned(static_cast<std::size_t>(channels) * sizeof(double)); }
  std::size_t row_bytes() const { return aligned(static_cast<std::size_t>(channels) * sizeof(T)); }
  std::size_t bytes() const { return static_cast<std::size_t>(threads) * 2 * sum_bytes() + 4 * row_bytes(); }
  double* sums(void* workspace, int thread, int which) const {
    return reinterpret_cast<double*>(static_cast<char*>(workspace) +
                                     (static_cast<std::size_t>(thread) * 2 + static_cast<std::size_t>(which)) *
                                         sum_bytes());
  }
  T* row(void* workspace, int which) const {
    return reinterpret_cast<T*>(static_cast<char*>(workspace) + static_cast<std::size_t>(threads) * 2 * sum_bytes() +
                                static_cast<std::size_t>(which) * row_bytes());
  }
  void clear(void* workspace, int thread) const {
    std::fill_n(sums(workspace, thread, 0), channels, 0.0);
    std::fill_n(sums(workspace, thread, 1), channels, 0.0);
  }
  double total(void* workspace, int team, int which, std::int64_t channel) const {
    double sum = 0;
    for (int thread = 0; thread < team; ++thread) sum += sums(workspace, thread, which)[channel];
    return sum;
  }
};

template <class T> struct BatchNorm {
  const NormLoops& loops;
  Memory<T> memory;
  std::int64_t rows;
  double epsilon;

  void operator()(const Launch& l) const {
    const T* x = static_cast<const T*>(l.inputs[0]);
    T* y = static_cast<T*>(l.outputs[0]);
    const std::int64_t channels = memory.channels;
    T *mean = memory.row(l.workspace, 0), *scale = memory.row(l.workspace, 1), *offset = memory.row(l.workspace, 2);
#pragma omp parallel num_threads(memory.threads) if (parallel : rows * channels > parallel_elements)
    {
      const int thread = thread_number(), team = team_size();
      const Part part = part_of(rows, thread, team), own = part_of(channels, thread, team, 16);
      memory.clear(l.workspace, thread);
      // The first row is as good a guess of the mean as any, and keeps the squares small.
      loops.moments(x + part.begin * channels, part.end - part.begin, channels, x, memory.sums(l.workspace, thread, 0),
                    memory.sums(l.workspace, thread, 1));
#pragma omp barrier
      for (std::int64_t c = own.begin; c < own.end; ++c) finish(l, team, c, mean, scale, offset);
#pragma omp barrier
      if (y) {
        loops.affine(x + part.begin * channels, part.end - part.begin, channels, mean, scale, offset,
                     y + part.begin * channels);
      }
    }
  }

  void finish(const Launch& l, int team, std::int64_t c, T* mean, T* scale, T* offset) const {
    const T *x = static_cast<const T*>(l.inputs[0]), *gamma = static_cast<const T*>(l.inputs[1]),
            *beta = static_cast<const T*>(l.inputs[2]);
    const double count = static_cast<double>(std::max<std::int64_t>(rows, 1));
    const double moved = memory.total(l.workspace, team, 0, c) / count;
    const double variance = std::max(0.0, memory.total(l.workspace, team, 1, c) / count - moved * moved);
    mean[c] = static_cast<T>((rows > 0 ? static_cast<double>(x[c]) : 0) + moved);
    scale[c] = static_cast<T>((gamma ? static_cast<double>(gamma[c]) : 1) / std::sqrt(variance + epsilon));
    offset[c] = beta ? beta[c] : T(0);
    if (l.outputs[1]) static_cast<T*>(l.outputs[1])[c] = mean[c];
    if (l.outputs[2]) static_cast<T*>(l.outputs[2])[c] = static_cast<T>(variance);
  }
};

template <class T> struct BatchNormGradient {
  const NormLoops& loops;
  Memory<T> memory;
  std::int64_t rows;
  double epsilon;

  void operator()(const Launch& l) const {
    const T *x = static_cast<const T*>(l.inputs[0]), *mean = static_cast<const T*>(l.inputs[2]),
            *g = static_cast<const T*>(l.inputs[4]);
    T* dx = static_cast<T*>(l.outputs[0]);
    const std::int64_t channels = memory.channels;
    T *a = memory.row(l.workspace, 0), *b = memory.row(l.workspace, 1), *offset = memory.row(l.workspace, 2);
#pragma omp parallel num_threads(memory.threads) if (parallel : rows * channels > parallel_elements)
    {
      const int thread = thread_number(), team = team_size();
      const Part part = part_of(rows, thread, team), own = part_of(channels, thread, team, 16);
      memory.clear(l.workspace, thread);
      loops.slopes(x + part.begin * channels, g + part.begin * channels, part.end - part.begin, channels, mean,
                   memory.sums(l.workspace, thread, 0), memory.sums(l.workspace, thread, 1));
#pragma omp barrier
      for (std::int64_t c = own.begin; c < own.end; ++c) finish(l, team, c, a, b, offset);
#pragma omp barrier
      if (dx) {
        loops.affine_two(g + part.begin * channels, x + part.begin * channels, part.end - part.begin, channels, mean, a,
                         b, offset, dx + part.begin * channels);
      }
    }
  }

  void finish(const Launch& l, int team, std::int64_t c, T* a, T* b, T* offset) const {
    const T *gamma = static_cast<const T*>(l.inputs[1]), *variance = static_cast<const T*>(l.inputs[3]);
    const double count = static_cast<double>(std::max<std::int64_t>(rows, 1));
    const double rstd = 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon),
                 weight = gamma ? static_cast<double>(gamma[c]) : 1;
    const double sum = memory.total(l.workspace, team, 0, c), product = memory.total(l.workspace, team, 1, c);
    a[c] = static_cast<T>(weight * rstd);
    b[c] = static_cast<T>(-weight * rstd * rstd * rstd * product / count);
    offset[c] = static_cast<T>(-weight * rstd * sum / count);
    if (l.outputs[1]) static_cast<T*>(l.outputs[1])[c] = static_cast<T>(product * rstd);
    if (l.outputs[2]) static_cast<T*>(l.outputs[2])[c] = static_cast<T>(sum);
  }
};

template <class T> struct LayerNorm {
  const NormLoops& loops;
  std::int64_t rows, channels;
  double epsilon;

  void operator()(const Launch& l) const {
    parallel_for(rows, rows * channels, [&](std::int64_t r) {
      const RowMoments moments = loops.layer(static_cast<const T*>(l.inputs[0]) + r * channels, channels, l.inputs[1],
                                             l.inputs[2], epsilon, static_cast<T*>(l.outputs[0]) + r * channels);
      if (l.outputs[1]) static_cast<T*>(l.outputs[1])[r] = static_cast<T>(moments.mean);
      if (l.outputs[2]) static_cast<T*>(l.outputs[2])[r] = static_cast<T>(moments.rstd);
    });
  }
};

template <class T> struct LayerNormGradient {
  const NormLoops& loops;
  Memory<T> memory;
  std::int64_t rows;

  void operator()(const Launch& l) const {
    const T *x = static_cast<const T*>(l.inputs[0]), *mean = static_cast<const T*>(l.inputs[2]),
            *rstd = static_cast<const T*>(l.inputs[3]);
    const T* g = static_cast<const T*>(l.inputs[4]);
    T* dx = static_cast<T*>(l.outputs[0]);
    const std::int64_t channels = memory.channels;
    int team = 1;
    on_team(memory.threads, rows * channels, [&](int thread, int count) {
      if (thread == 0) team = count;
      memory.clear(l.workspace, thread);
      double* dgamma = l.outputs[1] ? memory.sums(l.workspace, thread, 0) : nullptr;
      double* dbeta = l.outputs[2] ? memory.sums(l.workspace, thread, 1) : nullptr;
      const Part part = part_of(rows, thread, count);
      for (std::int64_t r = part.begin; r < part.end; ++r) {
        loops.layer_gradient(g + r * channels, x + r * channels, channels, l.inputs[1],
                             {static_cast<double>(mean[r]), static_cast<double>(rstd[r])},
                             dx ? dx + r * channels : nullptr, dgamma, dbeta);
      }
    });
    for (int which = 0; which < 2; ++which) {
      T* to = static_cast<T*>(l.outputs[static_cast<std::size_t>(which) + 1]);
      for (std::int64_t c = 0; to && c < channels; ++c)
        to[c] = static_cast<T>(memory.total(l.workspace, team, which, c));
    }
  }
};

struct Rows {
  std::int64_t rows, channels;
  explicit Rows(const Shape& x) : rows(x.slice(0, x.rank() - 1).size()), channels(x[-1]) {}
};

template <class T, template <class> class Norm> Choice batch_of(const Problem& problem) {
  const Rows r(problem.inputs[0].shape);
  const Memory<T> memory{r.channels, problem.device.threads};
  return accept(Norm<T>{norm_loops(sizeof(T) == 8, problem.device.isa), memory, r.rows,
                        problem.node.attributes.as<Epsilon>().epsilon},
                memory.bytes());
}

template <template <class> class Norm> Choice batch(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  Choice choice = dtype == DType::float64 ? batch_of<double, Norm>(problem) : batch_of<float, Norm>(problem);
  choice.in_place = {{0, 0}};
  if (problem.inputs.size() == 5) choice.in_place.emplace_back(0, 4);
  return choice;
}

template <class T> Choice layer_of(const Problem& problem) {
  const Rows r(problem.inputs[0].shape);
  return accept(LayerNorm<T>{norm_loops(sizeof(T) == 8, problem.device.isa), r.rows, r.channels,
                             problem.node.attributes.as<Epsilon>().epsilon});
}
Choice layer(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  Choice choice = dtype == DType::float64 ? layer_of<double>(problem) : layer_of<float>(problem);
  choice.in_place = {{0, 0}};
  return choice;
}

template <class T> Choice layer_gradient_of(const Problem& problem) {
  const Rows r(problem.inputs[0].shape);
  const Memory<T> memory{r.channels, problem.device.threads};
  return accept(LayerNormGradient<T>{norm_loops(sizeof(T) == 8, problem.device.isa), memory, r.rows}, memory.bytes());
}
Choice layer_gradient(const Problem& problem) {
  const DType dtype = problem.inputs[0].dtype;
  if (!has_loops(dtype)) return refuse(cat("no loops for ", dtype));
  return dtype == DType::float64 ? layer_gradient_of<double>(problem) : layer_gradient_of<float>(problem);
}

}  // namespace

void kernels_normalization(KernelTable& table) {
  add_both(table, "batch_norm", "channels last", batch<BatchNorm>);
  add_both(table, "batch_norm_gradient", "channels last", batch<BatchNormGradient>);
  add_both(table, "layer_norm", "rows", layer);
  add_both(table, "layer_norm_gradient", "rows", layer_gradient);
}

}  // namespace strata::cpu
