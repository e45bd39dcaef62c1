// SPDX-License-Identifier: Apache-2.0
// kill -9 while checkpoints are written: no run is lost, none differs.
#include <doctest/doctest.h>

#include "support/kills.h"

TEST_CASE("a trainer killed 1000 times ends as the one that never was") {
  const auto done = strata::test::kill_and_go_on(1000);
  MESSAGE(done.kills << " kills, " << done.in_saves << " of them in a save; " << done.runs_ended << " runs ended");
  CHECK(done.kills == 1000);
  CHECK(done.in_saves * 2 >= done.kills);
}
