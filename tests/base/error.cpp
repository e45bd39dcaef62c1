// SPDX-License-Identifier: Apache-2.0
#include "strata/error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace strata {
namespace {

struct Place {
  int line;
};
std::string to_text(const Place& place) { return "line " + strata::to_text(std::int64_t{place.line}); }

TEST_CASE("numbers are written as the shortest text that reads back") {
  CHECK(cat(1.0) == "1");
  CHECK(cat(0.1) == "0.1");
  CHECK(cat(1e-3) == "0.001");
  CHECK(cat(1e30) == "1e+30");
  CHECK(cat(-0.0) == "-0");
  CHECK(cat(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(cat(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(cat(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(cat(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(cat(std::numeric_limits<double>::denorm_min()) == "5e-324");
}

TEST_CASE("cat joins text, numbers and whatever has a to_text of its own") {
  CHECK(cat("got ", 3, ' ', true, ", ", std::string("x"), std::string_view("y"), ", ", Place{7}) ==
        "got 3 true, xy, line 7");
  CHECK(cat().empty());
}

TEST_CASE("a failed check names the condition, the place and the values") {
  try {
    STRATA_CHECK(1 + 1 == 3, "got ", 1 + 1);
    FAIL("nothing was thrown");
  } catch (const InternalError& bug) {
    const std::string text = bug.what();
    CHECK(text.find("error.cpp:") != std::string::npos);
    CHECK(text.find("this is a bug in strata: 1 + 1 == 3 does not hold: got 2") != std::string::npos);
  }
  CHECK_NOTHROW(STRATA_CHECK(true));
}

TEST_CASE("a failed run is an error too, our own bug is not") {
  CHECK_THROWS_AS(throw RunFailed("disk"), Error);
  CHECK_FALSE(std::is_base_of_v<Error, InternalError>);
}

}  // namespace
}  // namespace strata
