// SPDX-License-Identifier: Apache-2.0
// Lets a test say at run time that it cannot be run here: `if (!gpu) return strata::test::skip("no GPU");`.
#pragma once

#include <string>

namespace strata::test {

// Counts the running test case as skipped, not passed, and prints the reason.
void skip(const std::string& reason);

}  // namespace strata::test
