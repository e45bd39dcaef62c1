// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/denormals.h"

#include <immintrin.h>

namespace strata::cpu {
namespace {

constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

// A team belongs to the thread that opens its regions, so each such thread prepares its own, once.
thread_local bool team_is_prepared = false;

void prepare_team() {
  team_is_prepared = true;
#pragma omp parallel
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
}

}  // namespace

FlushDenormals::FlushDenormals() : before_(_mm_getcsr()) {
  if (!team_is_prepared) [[unlikely]]
    prepare_team();
  _mm_setcsr(before_ | flush_to_zero | denormals_are_zero);
}

FlushDenormals::~FlushDenormals() { _mm_setcsr(before_); }

}  // namespace strata::cpu
