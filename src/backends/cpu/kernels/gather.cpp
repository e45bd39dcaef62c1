// SPDX-License-Identifier: Apache-2.0
// Rows by index and back. Rows are added up in the order of their indices, so that threads change nothing.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"
#include "strata/tensor.h"

namespace strata::cpu {
namespace {

Choice gather(const Problem& problem) {
  const std::int64_t rows = problem.inputs[0].shape[0], count = problem.inputs[1].size();
  const DType dtype = problem.inputs[1].dtype;
  const std::size_t row_bytes = count > 0 ? problem.outputs[0].bytes() / static_cast<std::size_t>(count) : 0;
  return accept([=](const Launch& l) {
    const char* table = static_cast<const char*>(l.inputs[0]);
    char* to = static_cast<char*>(l.outputs[0]);
    parallel_for(count, count * static_cast<std::int64_t>(row_bytes / 4), [&](std::int64_t i) {
      const std::int64_t index = integer_at(l.inputs[1], dtype, i);
      char* row = to + static_cast<std::size_t>(i) * row_bytes;
      if (index >= 0 && index < rows) std::memcpy(row, table + static_cast<std::size_t>(index) * row_bytes, row_bytes);
      else std::memset(row, 0, row_bytes);
    });
  });
}

template <class T> struct ScatterAdd {
  std::int64_t rows, count, width;
  DType indices;
  int threads;

  // Every thread reads all indices and adds the rows of its part of the table.
  void operator()(const Launch& l) const {
    const T* updates = static_cast<const T*>(l.inputs[1]);
    T* table = static_cast<T*>(l.outputs[0]);
    on_team(threads, (count + rows) * width, [&](int thread, int team) {
      const Part part = part_of(rows, thread, team);
      std::fill(table + part.begin * width, table + part.end * width, T(0));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t index = integer_at(l.inputs[0], indices, i);
        if (index < part.begin || index >= part.end) continue;
        const T* from = updates + i * width;
        T* to = table + index * width;
#pragma omp simd
        for (std::int64_t k = 0; k < width; ++k) to[k] = static_cast<T>(to[k] + from[k]);
      }
    });
  }
};

Choice scatter_add(const Problem& problem) {
  const std::int64_t rows = problem.outputs[0].shape[0], count = problem.inputs[0].size();
  const std::int64_t width = rows > 0 ? problem.outputs[0].size() / rows : 0;
  Choice choice;
  const bool known = with_element(problem.outputs[0].dtype, [&](auto element) {
    choice = accept(ScatterAdd<decltype(element)>{rows, count, width, problem.inputs[0].dtype, problem.device.threads});
  });
  return known ? choice : refuse(cat("no loop for ", problem.outputs[0].dtype));
}

Choice one_hot(const Problem& problem) {
  const Type& type = problem.outputs[0];
  const std::int64_t depth = problem.node.attributes.as<OneHot>().depth, count = problem.inputs[0].size();
  const DType indices = problem.inputs[0].dtype;
  const std::size_t width = size_of(type.dtype), bytes = type.bytes();
  const double one = 1;
  const Tensor mark = Tensor::from_doubles({Shape{}, type.dtype}, {&one, 1});
  return accept([=](const Launch& l) {
    char* to = static_cast<char*>(l.outputs[0]);
    if (bytes > 0) std::memset(to, 0, bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = integer_at(l.inputs[0], indices, i);
      if (index >= 0 && index < depth)
        std::memcpy(to + static_cast<std::size_t>(i * depth + index) * width, mark.address(), width);
    }
  });
}

}  // namespace

void kernels_gather(KernelTable& table) {
  table.add("gather", "rows", gather);
  add_both(table, "scatter_add", "rows in order", scatter_add);
  table.add("one_hot", "marks", one_hot);
}

}  // namespace strata::cpu
