// SPDX-License-Identifier: Apache-2.0
#include "schema/numbers.h"

#include <doctest/doctest.h>

#include <limits>

namespace strata {
namespace {

TEST_CASE("numbers are read as people write them") {
  CHECK(read_number("3") == 3);
  CHECK(read_number("-0.5") == -0.5);
  CHECK(read_number("+2") == 2);
  CHECK(read_number(".5") == 0.5);
  CHECK(read_number("5.") == 5);
  CHECK(read_number("1e-3") == 0.001);
  CHECK(read_number("1E+3") == 1000);
  CHECK(read_number("1_000.5") == 1000.5);
  CHECK(read_number("1/255") == 1.0 / 255);
  CHECK(read_number("-1 / 4") == -0.25);
  CHECK(read_number("0") == 0);
  CHECK(read_number("0.10") == 0.1);
  CHECK(read_number("1e-320") == 1e-320);
}

TEST_CASE("a text that is no number says why") {
  const auto fault = [](const char* text) {
    CHECK_FALSE(read_numeral(text).value);
    CHECK_FALSE(read_number(text));
    return read_numeral(text).fault;
  };
  CHECK(fault("010") == "a number does not begin with 0; write 10");
  CHECK(fault("-007.5") == "a number does not begin with 0; write -7.5");
  CHECK(fault("00") == "a number does not begin with 0; write 0");
  CHECK(fault("0x10") == "only decimal numbers are read");
  CHECK(fault("0b1") == "only decimal numbers are read");
  CHECK(fault("0o7") == "only decimal numbers are read");
  CHECK(fault("nan") == "a number must be finite");
  CHECK(fault(".NaN") == "a number must be finite");
  CHECK(fault("-inf") == "a number must be finite");
  CHECK(fault("Infinity") == "a number must be finite");
  CHECK(fault("1e400") == "it does not fit a 64-bit float");
  CHECK(fault("1e-400") == "it does not fit a 64-bit float");
  CHECK(fault("0.1f") == "'f' is no part of a number");
  CHECK(fault("10 %") == "");
  CHECK(fault("10%") == "'%' is no part of a number");
  CHECK(fault("1e") == "'e' is no part of a number");
  CHECK(fault("1,5") == "a number has a point, not a comma");
  CHECK(fault("1__0") == "'_' stands between two digits only");
  CHECK(fault("1_") == "'_' stands between two digits only");
  CHECK(fault("1/0") == "it divides by 0");
  CHECK(fault("1/02") == "a number does not begin with 0; write 2");
  CHECK(fault("1e308/1e-308") == "it does not fit a 64-bit float");
  for (const char* text : {"", "-", "+", ".", "e3", "ten", "1/2/3", "--1", "1-1", "_1", "/", "1/", " 1", "1 "})
    CHECK(fault(text) == "");
}

TEST_CASE("whole numbers are exact") {
  CHECK(read_integer("1_000") == 1000);
  CHECK(read_integer("-3") == -3);
  CHECK(read_integer("+3") == 3);
  CHECK(read_integer("1e6") == 1'000'000);
  CHECK(read_integer("1.5e3") == 1500);
  CHECK(read_integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(read_integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  const auto fault = [](const char* text) {
    CHECK_FALSE(read_integer(text));
    return read_whole(text).fault;
  };
  CHECK(fault("9223372036854775808") == "it does not fit 64 bits");
  CHECK(fault("1e30") == "write it with all its digits");
  CHECK(fault("5.0") == "write 5");
  CHECK(fault("5.5") == "it is a fraction");
  CHECK(fault("1e-3") == "it is a fraction");
  CHECK(fault("6/2") == "write 3");
  CHECK(fault("1/3") == "it is a fraction");
  CHECK(fault("010") == "a number does not begin with 0; write 10");
  CHECK(fault("10k") == "'k' is no part of a number");
  CHECK(fault("ten") == "");
}

}  // namespace
}  // namespace strata
