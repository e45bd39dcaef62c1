// SPDX-License-Identifier: Apache-2.0
// LSTM over a sequence: one product for all steps' inputs, then a product and a row of gates for each step. What the
// way back needs (gates and states of every step) is kept in the opaque reserve, batch before time like everything
// else.
#include <algorithm>
#include <cstring>

#include "backends/cpu/gemm.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

enum Inputs : std::size_t { x_at, kernel_at, recurrent_at, bias_at, h0_at, c0_at, mask_at, inputs_count };
constexpr std::size_t reserve_output = 3, reserve_at = inputs_count + 3, gradients_at = reserve_at + 1;
constexpr const char* reserve_format = "lstm gates and states";

template <class T> struct Lstm {
  const LstmLoops& loops;
  std::int64_t batch, time, features, units;
  StridedCopy turn;  // [units, 4 units] to [4 units, units]

  std::int64_t gates_row() const { return time * 4 * units; }
  std::int64_t states_row() const { return time * units; }
  std::size_t gate_bytes() const { return aligned(static_cast<std::size_t>(batch * gates_row()) * sizeof(T)); }
  std::size_t state_bytes() const { return aligned(static_cast<std::size_t>(batch * states_row()) * sizeof(T)); }
  std::size_t row_bytes() const { return aligned(static_cast<std::size_t>(batch * units) * sizeof(T)); }
  std::size_t reserve_bytes() const { return gate_bytes() + 2 * state_bytes(); }

  struct Reserve {
    T *gates, *c, *h;
  };
  Reserve reserve(void* memory) const {
    char* bytes = static_cast<char*>(memory);
    return {reinterpret_cast<T*>(bytes), reinterpret_cast<T*>(bytes + gate_bytes()),
            reinterpret_cast<T*>(bytes + gate_bytes() + state_bytes())};
  }
  // Row b of the states before step t.
  const T* before(const T* states, const void* first, const T* zeros, std::int64_t b, std::int64_t t) const {
    if (t > 0) return states + (b * time + t - 1) * units;
    return first ? static_cast<const T*>(first) + b * units : zeros;
  }
  template <class F> void each_row(F f) const { parallel_for(batch, batch * units * 32, f); }
  static bool counts(const void* mask, std::int64_t step) {
    return !mask || static_cast<const std::uint8_t*>(mask)[step] != 0;
  }

  std::size_t forward_workspace() const { return row_bytes() + reserve_bytes(); }
  void forward(const Launch& l) const {
    T* zeros = static_cast<T*>(l.workspace);
    std::fill_n(zeros, batch * units, T(0));
    const bool kept = l.outputs.size() > reserve_output && l.outputs[reserve_output];
    const Reserve r = reserve(kept ? l.outputs[reserve_output] : static_cast<char*>(l.workspace) + row_bytes());
    const T *recurrent = static_cast<const T*>(l.inputs[recurrent_at]),
            *bias = static_cast<const T*>(l.inputs[bias_at]);
    const std::int64_t steps = batch * time;
    for (std::int64_t i = 0; bias && i < steps; ++i) std::copy_n(bias, 4 * units, r.gates + i * 4 * units);
    gemm({false, false, steps, 4 * units, features, features, 4 * units, 4 * units},
         static_cast<const T*>(l.inputs[x_at]), static_cast<const T*>(l.inputs[kernel_at]), bias ? T(1) : T(0),
         r.gates);
    for (std::int64_t t = 0; t < time; ++t) {
      if (t > 0 || l.inputs[h0_at]) {
        const T* h = t > 0 ? r.h + (t - 1) * units : static_cast<const T*>(l.inputs[h0_at]);
        gemm({false, false, batch, 4 * units, units, t > 0 ? states_row() : units, 4 * units, gates_row()}, h,
             recurrent, T(1), r.gates + t * 4 * units);
      }
      each_row([&](std::int64_t b) { forward_row(l, r, zeros, b, t); });
    }
    for (std::size_t output : {std::size_t{1}, std::size_t{2}}) {
      T* to = static_cast<T*>(l.outputs[output]);
      const T* states = output == 1 ? r.h : r.c;
      for (std::int64_t b = 0; to && b < batch; ++b) {
        std::copy_n(before(states, l.inputs[output == 1 ? h0_at : c0_at], zeros, b, time), units, to + b * units);
      }
    }
  }
  void forward_row(const Launch& l, const Reserve& r, const T* zeros, std::int64_t b, std::int64_t t) const {
    const std::int64_t step = b * time + t;
    const T* c_before = before(r.c, l.inputs[c0_at], zeros, b, t);
    T *c = r.c + step * units, *h = r.h + step * units;
    loops.cell(r.gates + step * 4 * units, c_before, c, h, units);
    T* y = static_cast<T*>(l.outputs[0]);
    const bool counted = counts(l.inputs[mask_at], step);
    if (y) {  // a masked step shows the last output again
      const T* shown = counted ? h : t > 0 ? y + (step - 1) * units : zeros;
      std::copy_n(shown, units, y + step * units);
    }
    if (counted) return;
    std::copy_n(c_before, units, c);
    std::copy_n(before(r.h, l.inputs[h0_at], zeros, b, t), units, h);
  }

  // dh, dc, the gradient of what is shown, and the sums' gradients of all steps; the states before each step; the
  // recurrent kernel turned, once for all steps.
  std::size_t backward_workspace() const {
    return 4 * row_bytes() + gate_bytes() + state_bytes() +
           aligned(static_cast<std::size_t>(4 * units * units) * sizeof(T));
  }
  void backward(const Launch& l) const {
    char* memory = static_cast<char*>(l.workspace);
    T* zeros = reinterpret_cast<T*>(memory);
    T* dh = reinterpret_cast<T*>(memory + row_bytes());
    T* dc = reinterpret_cast<T*>(memory + 2 * row_bytes());
    T* shown = reinterpret_cast<T*>(memory + 3 * row_bytes());
    T* dz = reinterpret_cast<T*>(memory + 4 * row_bytes());
    T* h_before = reinterpret_cast<T*>(memory + 4 * row_bytes() + gate_bytes());
    std::fill_n(memory, 4 * row_bytes(), 0);
    const std::int64_t row = batch * units, steps = batch * time;
    if (l.inputs[gradients_at + 1]) std::copy_n(static_cast<const T*>(l.inputs[gradients_at + 1]), row, dh);
    if (l.inputs[gradients_at + 2]) std::copy_n(static_cast<const T*>(l.inputs[gradients_at + 2]), row, dc);
    const Reserve r = reserve(l.inputs[reserve_at]);
    const T* kernel = static_cast<const T*>(l.inputs[kernel_at]);
    T* turned = reinterpret_cast<T*>(memory + 4 * row_bytes() + gate_bytes() + state_bytes());
    turn.run(l.inputs[recurrent_at], turned);
    for (std::int64_t t = time; t-- > 0;) {
      each_row([&](std::int64_t b) { backward_row(l, r, zeros, dh, dc, shown, dz, h_before, b, t); });
      // Masked rows have dz = 0 and keep their dh; the others' is replaced.
      gemm({false, false, batch, units, 4 * units, gates_row(), units, units}, dz + t * 4 * units, turned, T(1), dh);
    }
    const auto output = [&](std::size_t i) { return static_cast<T*>(l.outputs[i]); };
    if (output(0))
      gemm({false, true, steps, features, 4 * units, 4 * units, 4 * units, features}, dz, kernel, T(0), output(0));
    if (output(1)) {
      gemm({true, false, features, 4 * units, steps, features, 4 * units, 4 * units},
           static_cast<const T*>(l.inputs[x_at]), dz, T(0), output(1));
    }
    if (output(2))
      gemm({true, false, units, 4 * units, steps, units, 4 * units, 4 * units}, h_before, dz, T(0), output(2));
    if (output(3)) sum_steps(dz, output(3));
    if (output(4)) std::copy_n(dh, row, output(4));
    if (output(5)) std::copy_n(dc, row, output(5));
  }
  void backward_row(const Launch& l, const Reserve& r, const T* zeros, T* dh, T* dc, T* shown, T* dz, T* h_before,
                    std::int64_t b, std::int64_t t) const {
    const std::int64_t step = b * time + t;
    T *own_dh = dh + b * units, *own_shown = shown + b * units, *own_dz = dz + step * 4 * units;
    if (l.inputs[gradients_at]) {
      const T* dy = static_cast<const T*>(l.inputs[gradients_at]) + step * units;
      for (std::int64_t u = 0; u < units; ++u) own_shown[u] += dy[u];
    }
    std::copy_n(before(r.h, l.inputs[h0_at], zeros, b, t), units, h_before + step * units);
    if (!counts(l.inputs[mask_at], step)) {
      std::fill_n(own_dz, 4 * units, T(0));
      return;
    }
    for (std::int64_t u = 0; u < units; ++u) own_dh[u] += own_shown[u];
    loops.cell_gradient(r.gates + step * 4 * units, before(r.c, l.inputs[c0_at], zeros, b, t), r.c + step * units,
                        own_dh, dc + b * units, own_dz, units);
    std::fill_n(own_dh, units, T(0));
    std::fill_n(own_shown, units, T(0));
  }
  void sum_steps(const T* dz, T* to) const {
    constexpr std::int64_t block = 16;
    parallel_for((4 * units + block - 1) / block, batch * gates_row(), [&](std::int64_t number) {
      const std::int64_t first = number * block, end = std::min(first + block, 4 * units);
      double sums[block] = {};
      for (std::int64_t step = 0; step < batch * time; ++step) {
        for (std::int64_t c = first; c < end; ++c) sums[c - first] += static_cast<double>(dz[step * 4 * units + c]);
      }
      for (std::int64_t c = first; c < end; ++c) to[c] = static_cast<T>(sums[c - first]);
    });
  }
};

template <class T> Lstm<T> lstm_of(const Problem& problem) {
  const Shape& x = problem.inputs[x_at].shape;
  const Loops& loops = loops_for(problem.device.isa);
  const LstmLoops* own = nullptr;
  if constexpr (sizeof(T) == 8) own = &loops.lstm_double;
  else own = &loops.lstm_float;
  const std::int64_t units = problem.inputs[recurrent_at].shape[0];
  const StridedCopy turn({{4 * units, 1, units}, {units, 4 * units, 1}}, sizeof(T));
  return {*own, x[0], x[1], x[2], units, turn};
}

template <class T> Choice forward_of(const Problem& problem) {
  const Lstm<T> lstm = lstm_of<T>(problem);
  Choice choice = accept([lstm](const Launch& l) { lstm.forward(l); }, lstm.forward_workspace());
  choice.opaque.resize(problem.outputs.size());
  choice.opaque[reserve_output] = {lstm.reserve_bytes(), reserve_format};
  return choice;
}
Choice forward(const Problem& problem) {
  const DType dtype = problem.inputs[x_at].dtype;
  if (dtype == DType::float64) return forward_of<double>(problem);
  return dtype == DType::float32 ? forward_of<float>(problem) : refuse(cat("no loops for ", dtype));
}

template <class T> Choice backward_of(const Problem& problem) {
  const Lstm<T> lstm = lstm_of<T>(problem);
  return accept([lstm](const Launch& l) { lstm.backward(l); }, lstm.backward_workspace());
}
Choice backward(const Problem& problem) {
  const DType dtype = problem.inputs[x_at].dtype;
  if (problem.formats[reserve_at] != reserve_format)
    return refuse(cat("the reserve has the format '", problem.formats[reserve_at], "'"));
  if (dtype == DType::float64) return backward_of<double>(problem);
  return dtype == DType::float32 ? backward_of<float>(problem) : refuse(cat("no loops for ", dtype));
}

}  // namespace

void kernels_lstm(KernelTable& table) {
  add_both(table, "lstm", "steps", forward);
  add_both(table, "lstm_gradient", "steps", backward);
}

}  // namespace strata::cpu
