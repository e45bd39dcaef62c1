// SPDX-License-Identifier: Apache-2.0
// The door to the CPU backend, for backends.cpp.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace strata::cpu {

std::unique_ptr<Backend> make_backend();

}  // namespace strata::cpu
