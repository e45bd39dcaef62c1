// SPDX-License-Identifier: Apache-2.0
// What all kinds of arguments say when a value does not fit.
#pragma once

#include <string>
#include <string_view>

#include "strata/schema.h"

namespace strata {

// "Dense: 'units' should be an integer, got ten; <cure>", at the value's place.
void refuse(const std::string& subject, std::string_view wanted, const Config& got, Mistakes& mistakes,
            std::string_view cure = {});

}  // namespace strata
