// SPDX-License-Identifier: Apache-2.0
// What schemas say, for readers and editors: the manual in Markdown, and JSON Schema. Nothing of it is kept in files.
#pragma once

#include <string>

#include "strata/part.h"

namespace strata {

// A page: doc, arguments with types, defaults and rules, and the examples as YAML. `common` are the arguments that
// every part of the kind takes.
std::string markdown_page(const Schema& schema, const Schema* common = nullptr);

// The JSON Schema of a map of arguments. A part as an argument is a reference: {"$ref": "#/$defs/layer"}.
Config json_schema(const Schema& schema, const Schema* common = nullptr);

// The JSON Schema of one part of a kind: a word, or a one-key map. It belongs under $defs/<word of the registry>.
Config json_schema(const Names& registry, const Schema* common = nullptr);

}  // namespace strata
