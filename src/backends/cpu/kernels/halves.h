// SPDX-License-Identifier: Apache-2.0
// 16-bit floats as a kernel's inputs and outputs, widened to float and rounded back.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"

namespace strata::cpu {

class Halves {
 public:
  Halves(DType dtype, std::string_view isa)
      : load_(loops_for(isa).elementwise.load(dtype)), store_(loops_for(isa).elementwise.store(dtype)) {}

  void widen(const void* from, float* to, std::int64_t count) const {
    run(count, [&](std::int64_t at, std::int64_t n) {
      load_(static_cast<const std::uint16_t*>(from) + at, nullptr, nullptr, to + at, n);
    });
  }
  void narrow(const float* from, void* to, std::int64_t count) const {
    run(count, [&](std::int64_t at, std::int64_t n) {
      store_(from + at, nullptr, nullptr, static_cast<std::uint16_t*>(to) + at, n);
    });
  }

 private:
  template <class F>
  static void run(std::int64_t count, F part) {
    constexpr std::int64_t tile = 4096;
#pragma omp parallel for schedule(static) if (parallel : count > parallel_elements)
    for (std::int64_t at = 0; at < count; at += tile) part(at, count - at < tile ? count - at : tile);
  }

  Loop load_, store_;
};

}  // namespace strata::cpu
