// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/machine.h"

#include <omp.h>

namespace strata::cpu {

std::string machine_isa() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? "avx512" : avx2 ? "avx2" : "generic";
}

int machine_threads() { return omp_get_max_threads(); }
int thread_number() { return omp_get_thread_num(); }
int team_size() { return omp_get_num_threads(); }

}  // namespace strata::cpu
