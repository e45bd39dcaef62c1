// SPDX-License-Identifier: Apache-2.0
// Two trainers started together in one directory.
#include <doctest/doctest.h>

#include "support/kills.h"

TEST_CASE("of two trainers that start together one trains and one is refused") { strata::test::race(100); }
