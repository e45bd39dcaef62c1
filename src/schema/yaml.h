// SPDX-License-Identifier: Apache-2.0
// YAML into Config, with the place of every key and value. Scalars stay text: the schema's types decide what they are.
#pragma once

#include <string>
#include <string_view>

#include "strata/config.h"

namespace strata {

// Error, with file:line:column: bad syntax, tags, a second document, a key twice, a merge key, an empty file, more than
// 100,000 values (aliases count each time), nesting over 100, files over 16 MiB, text that is not UTF-8.
Config read_yaml_file(const std::string& path);
Config read_yaml(std::string_view text, const std::string& file);
std::string write_yaml(const Config& config);           // block style; reads back as the same values

}  // namespace strata
