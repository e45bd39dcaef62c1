// SPDX-License-Identifier: Apache-2.0
// All loops as one instruction set compiles them. Included by the variants only.
#pragma once

#include "backends/cpu/kernels/simd/elementwise.h"
#include "backends/cpu/kernels/simd/reduce.h"

namespace strata::cpu {
namespace {

constexpr Loops all_loops{elementwise_loops, reduce_loops};

}  // namespace
}  // namespace strata::cpu
