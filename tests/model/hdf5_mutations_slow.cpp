// SPDX-License-Identifier: Apache-2.0
// Damaged files of every kind: whatever libhdf5 makes of them, the program that reads gets an answer or an Error, in time.
#include <doctest/doctest.h>

#include <chrono>

#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

TEST_CASE("files changed at random 6,000 times are read or refused") {
  const TemporaryFolder folder;
  int refused = 0, count = 0;
  for (const std::string& seed : seeds(folder.path())) {
    write_raw(folder / "bad.h5", seed);
    CHECK(explore(folder / "bad.h5") == "(no error)");
    for (std::uint64_t i = 1000; i < 3000; ++i) {
      write_raw(folder / "bad.h5", mutated(seed, i));
      const auto start = std::chrono::steady_clock::now();
      const std::string said = explore(folder / "bad.h5");
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      CHECK_MESSAGE(!said.starts_with("(not named)"), said);
      CHECK_MESSAGE(seconds < 4, cat(i, ": ", said));  // 2 s for each of what is asked, on a machine that has time
      refused += said == "(no error)" ? 0 : 1;
      ++count;
    }
  }
  CHECK(count == 6000);
  CHECK(refused > 1000);
}
