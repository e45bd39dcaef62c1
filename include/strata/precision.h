// SPDX-License-Identifier: Apache-2.0
// Precision policies, by Keras's names: float32, float64, float16 and bfloat16 compute and keep weights in one dtype;
// mixed_float16 and mixed_bfloat16 compute in 16 bits and keep float32 weights.
#pragma once

#include <string_view>

#include "strata/scope.h"

namespace strata {

Precision precision_named(std::string_view policy);  // Error with the nearest name

}  // namespace strata
