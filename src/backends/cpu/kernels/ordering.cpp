// SPDX-License-Identifier: Apache-2.0
// Where the largest stands, sums so far, and orders along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

template <class T> void find_largest(const AxisView& v, const T* x, std::int32_t* places) {
  parallel_for(v.outer, v.outer * v.length * v.inner, [&](std::int64_t o) {
    for (std::int64_t i = 0; i < v.inner; ++i) {
      const T* column = x + o * v.length * v.inner + i;
      std::int64_t best = 0;
      for (std::int64_t l = 1; l < v.length; ++l) {
        if (column[l * v.inner] > column[best * v.inner]) best = l;
      }
      places[o * v.inner + i] = static_cast<std::int32_t>(best);
    }
  });
}

Choice argmax(const Problem& problem) {
  const AxisView view(problem.inputs[0].shape, problem.node.attributes.as<Axis>().axis);
  Choice choice;
  const bool known = with_element(problem.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    choice = accept([view](const Launch& l) {
      find_largest(view, static_cast<const T*>(l.inputs[0]), static_cast<std::int32_t*>(l.outputs[0]));
    });
  });
  return known ? choice : refuse(cat("no loop for ", problem.inputs[0].dtype));
}

template <class T> void sum_so_far(const AxisView& v, const T* x, T* y) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  parallel_for(v.outer, v.outer * v.length * v.inner, [&](std::int64_t o) {
    for (std::int64_t i = 0; i < v.inner; ++i) {
      Sum sum = 0;
      for (std::int64_t l = 0; l < v.length; ++l) {
        const std::int64_t at = (o * v.length + l) * v.inner + i;
        sum += static_cast<Sum>(x[at]);
        y[at] = static_cast<T>(sum);
      }
    }
  });
}

Choice cumulative_sum(const Problem& problem) {
  const AxisView view(problem.inputs[0].shape, problem.node.attributes.as<Axis>().axis);
  Choice choice;
  const bool known = with_element(problem.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    choice = accept([view](const Launch& l) {
      sum_so_far(view, static_cast<const T*>(l.inputs[0]), static_cast<T*>(l.outputs[0]));
    });
    choice.in_place = {{0, 0}};
  });
  return known ? choice : refuse(cat("no loop for ", problem.inputs[0].dtype));
}

// Whether a comes before b: larger ones first, numbers before what is none.
template <class T> bool comes_first(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a > b;
}

template <class T> void sort_rows(const AxisView& v, const T* x, T* sorted, std::int32_t* places) {
  parallel_for(v.outer, v.outer * v.length, [&](std::int64_t row) {
    const T* from = x + row * v.length;
    std::int32_t* order = places + row * v.length;
    std::iota(order, order + v.length, 0);
    std::sort(order, order + v.length, [from](std::int32_t a, std::int32_t b) {
      if (comes_first(from[a], from[b])) return true;
      return !comes_first(from[b], from[a]) && a < b;
    });
    for (std::int64_t l = 0; l < v.length; ++l) sorted[row * v.length + l] = from[order[l]];
  });
}

Choice sort_descending(const Problem& problem) {
  const AxisView view(problem.inputs[0].shape, -1);
  const std::size_t place_bytes = static_cast<std::size_t>(problem.inputs[0].size()) * sizeof(std::int32_t);
  Choice choice;
  const bool known = with_element(problem.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = [view](const Launch& l) {
      void* places = l.outputs.size() > 1 && l.outputs[1] ? l.outputs[1] : l.workspace;
      sort_rows(view, static_cast<const T*>(l.inputs[0]), static_cast<T*>(l.outputs[0]),
                static_cast<std::int32_t*>(places));
    };
    choice = accept(run, place_bytes);
  });
  return known ? choice : refuse(cat("no loop for ", problem.inputs[0].dtype));
}

}  // namespace

void kernels_ordering(KernelTable& table) {
  add_both(table, "argmax", "loop", argmax);
  add_both(table, "cumulative_sum", "loop", cumulative_sum);
  add_both(table, "sort_descending", "loop", sort_descending);
}

}  // namespace strata::cpu
