// SPDX-License-Identifier: Apache-2.0
// The source line of a mistake with a caret below its column.
#pragma once

#include <string>
#include <string_view>

#include "strata/config.h"

namespace strata {

// "\n  14 |     - Dense: {unit: 10}\n     |               ^", or nothing where there is no such place. Columns count
// characters, not bytes.
std::string excerpt_of(std::string_view text, int line, int column);
std::string excerpt(const Where& where);  // from the file, where it can still be read

}  // namespace strata
