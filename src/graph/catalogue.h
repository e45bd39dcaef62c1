// SPDX-License-Identifier: Apache-2.0
// The ops that strata defines; the list is generated from the files of src/graph/ops.
#pragma once

#include <vector>

#include "strata/graph.h"

namespace strata {

std::vector<const OpDef*> catalogued_ops();

}  // namespace strata
