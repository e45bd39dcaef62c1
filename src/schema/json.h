// SPDX-License-Identifier: Apache-2.0
// A Config as JSON text.
#pragma once

#include <string>

#include "strata/config.h"

namespace strata {

// Indented by two spaces; maps keep their order. Text is a string, quoted or not in the file; numbers that JSON lacks
// (nan, infinities) are null. What is no UTF-8 is kept as it is.
std::string to_json(const Config& config);

}  // namespace strata
