// SPDX-License-Identifier: Apache-2.0
// All loops as one instruction set compiles them. Included by the variants only.
#pragma once

#include "backends/cpu/kernels/simd/elementwise.h"
#include "backends/cpu/kernels/simd/lstm.h"
#include "backends/cpu/kernels/simd/normalization.h"
#include "backends/cpu/kernels/simd/pooling.h"
#include "backends/cpu/kernels/simd/random.h"
#include "backends/cpu/kernels/simd/reduce.h"
#include "backends/cpu/kernels/simd/softmax.h"

namespace strata::cpu {
namespace {

constexpr Loops all_loops{elementwise_loops,
                          reduce_loops,
                          pool_loops_of<float>,
                          pool_loops_of<double>,
                          softmax_loops_of<float>,
                          softmax_loops_of<double>,
                          norm_loops_of<float>,
                          norm_loops_of<double>,
                          lstm_loops_of<float>,
                          lstm_loops_of<double>,
                          philox_blocks};

}  // namespace
}  // namespace strata::cpu
