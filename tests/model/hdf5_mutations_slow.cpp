// SPDX-License-Identifier: Apache-2.0
// Damaged files of every kind: whatever libhdf5 makes of them, the program that reads gets an answer or an Error, in time.
#include <doctest/doctest.h>

#include "support/hdf5_files.h"

TEST_CASE("files changed at random 6,000 times are read or refused") {
  CHECK(strata::test::explore_mutated(1000, 3000) > 1000);
}
