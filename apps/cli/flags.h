// SPDX-License-Identifier: Apache-2.0
// Command lines by schema.
#pragma once

#include <span>
#include <string>

#include "verb.h"

namespace strata {

// A wrong command line: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// "--epochs 3", "--epochs=3", and words without a flag for the verb's arguments in their order. Every value stands as
// plain text, typed by the schema. An argument that takes a list may be given several times.
Config read_flags(const Schema& schema, std::span<const std::string> words);
std::string help_of(const Schema& schema);
std::string help_of_all();

}  // namespace strata
