// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/simd/variant.h"

namespace strata::cpu {

const Loops& loops_avx2() { return all_loops; }

}  // namespace strata::cpu
