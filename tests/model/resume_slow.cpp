// SPDX-License-Identifier: Apache-2.0
// A run that is cut anywhere and gone on with equals the uncut one to the bit: weights, slots, every other state, the
// figures, the table of the log.
#include <doctest/doctest.h>

#include "support/resume.h"

TEST_CASE("six trainings cut at every batch, in validation and between epochs go on to the bit") {
  strata::test::check_resume(0, 6);
}
