// SPDX-License-Identifier: Apache-2.0
// 16-bit floats by way of float: a kernel's arrays are widened into the workspace and its results rounded.
#pragma once

#include "backends/kernel_table.h"

namespace strata::cpu {

// The same candidate for problems that hold float16 or bfloat16; it refuses others.
KernelTable::Candidate through_float(KernelTable::Candidate candidate);

// Adds a candidate, and after it the same through float.
void add_both(KernelTable& table, std::string_view op, std::string_view name, const KernelTable::Candidate& candidate);

}  // namespace strata::cpu
