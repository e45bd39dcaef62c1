// SPDX-License-Identifier: Apache-2.0
// A run that is cut anywhere and gone on with equals the uncut one to the bit: weights, slots, every other state, the
// figures, the table of the log. All combinations.
#include <doctest/doctest.h>

#include "support/resume.h"

TEST_CASE("every kind of training cut anywhere goes on to the bit") { strata::test::check_resume(0, 1000); }
