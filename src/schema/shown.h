// SPDX-License-Identifier: Apache-2.0
// A value as a message quotes it.
#pragma once

#include <string>

#include "strata/config.h"

namespace strata {

std::string shown(const Config& config);  // one line of at most some 60 characters

}  // namespace strata
