// SPDX-License-Identifier: Apache-2.0
// Chooses the variant by the device's instruction set.
#include "backends/cpu/kernels/simd/loops.h"

namespace strata::cpu {

const Loops& loops_generic();
const Loops& loops_avx2();
const Loops& loops_avx512();

const Loops& loops_for(std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return loops_avx512();
  if (isa == "avx2") return loops_avx2();
#endif
  return loops_generic();
}

}  // namespace strata::cpu
