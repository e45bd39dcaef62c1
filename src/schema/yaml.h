// SPDX-License-Identifier: Apache-2.0
// YAML into Config, with the place of every key and value, and back. Scalars stay text: the schema's types decide what
// they are.
#pragma once

#include <string>
#include <string_view>

#include "strata/config.h"

namespace strata {

// Error, with file:line:column and the line: bad syntax (alone); tags, keys that stand twice, merge keys (all at
// once); a second document, an empty file, more than 100,000 values (an alias counts as what it stands for), nesting
// over 100, a file over 16 MiB, bytes that are not UTF-8, a byte order mark. Columns count characters.
Config read_yaml_file(const std::string& path);
Config read_yaml(std::string_view text, const std::string& file);

// Block style; reads back as the same values. With `origins`, each line ends in a comment that says where its value
// stood.
std::string write_yaml(const Config& config, bool origins = false);

}  // namespace strata
