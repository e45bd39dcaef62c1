// SPDX-License-Identifier: Apache-2.0
// All kernels of the CPU. The table is filled by a generated file that calls kernels_<stem> of every file in this
// folder.
#pragma once

#include "backends/kernel_table.h"

namespace strata::cpu {

const KernelTable& kernels();

}  // namespace strata::cpu
