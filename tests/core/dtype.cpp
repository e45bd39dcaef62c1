// SPDX-License-Identifier: Apache-2.0
#include "strata/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/message.h"

namespace strata {
namespace {

using test::message_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_CASE("dtypes have names, sizes and kinds") {
  CHECK(to_text(DType::boolean) == "bool");
  CHECK(dtype_named("bool") == DType::boolean);
  for (const DType dtype :
       {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64, DType::uint8}) {
    CHECK(dtype_named(to_text(dtype)) == dtype);
    CHECK(is_floating(dtype) != is_integer(dtype));
  }
  CHECK_FALSE(is_integer(DType::boolean));
  CHECK(size_of(DType::bfloat16) == 2);
  CHECK(size_of(DType::opaque) == 0);
  CHECK(message_of([] { dtype_named("flaot32"); }) ==
        "there is no dtype 'flaot32'; did you mean 'float32'?; dtypes are float32, float16, bfloat16, float64, int32, "
        "int64, uint8 and bool");
  CHECK(message_of([] { dtype_named("none"); }).starts_with("there is no dtype 'none'"));
}

TEST_CASE("a type says its size in bytes") {
  const Type type{{128, 10}, DType::float16};
  CHECK(to_text(type) == "float16[128, 10]");
  CHECK(type.bytes() == 2560);
  CHECK_FALSE(Type{});
}

TEST_CASE("every 16-bit float survives the way to float and back") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = float16_to_float(half), brain = bfloat16_to_float(half);
    if (std::isnan(wide)) {
      if (!std::isnan(float16_to_float(float_to_float16(wide)))) FAIL_CHECK("a NaN was lost: ", bits);
    } else if (float_to_float16(wide) != half) {
      FAIL_CHECK("float16 ", bits);
    }
    if (std::isnan(brain)) {
      if (!std::isnan(bfloat16_to_float(float_to_bfloat16(brain)))) FAIL_CHECK("a NaN was lost: ", bits);
    } else if (float_to_bfloat16(brain) != half) {
      FAIL_CHECK("bfloat16 ", bits);
    }
  }
}

TEST_CASE("float16 has its known values") {
  CHECK(float16_to_float(0x3c00) == 1);
  CHECK(float16_to_float(0x7bff) == 65504);
  CHECK(float16_to_float(0x0001) == 0x1p-24f);
  CHECK(float16_to_float(0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(std::signbit(float16_to_float(0x8000)));
  CHECK(float_to_float16(65519.99f) == 0x7bff);
  CHECK(float_to_float16(65520.0f) == 0x7c00);
  CHECK(float_to_float16(0x1p-25f) == 0);  // a tie, to even
  CHECK(float_to_float16(std::nextafter(0x1p-25f, 1.0f)) == 1);
  CHECK(float_to_float16(1 + 0x1p-11f) == 0x3c00);  // a tie, to even
  CHECK(float_to_float16(1 + 3 * 0x1p-11f) == 0x3c02);
  CHECK(float_to_float16(0x1.ff8p-15f) == 0x03ff);  // the largest subnormal
  CHECK(float_to_float16(0x1.ffcp-15f) == 0x0400);  // a tie, to the smallest normal
}

TEST_CASE("bfloat16 rounds to nearest, ties to even") {
  CHECK(float_to_bfloat16(1 + 0x1p-8f) == 0x3f80);
  CHECK(float_to_bfloat16(1 + 3 * 0x1p-8f) == 0x3f82);
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);
  const auto nan = std::bit_cast<float>(0x7f800001u);  // its payload lies in the bits that are cut off
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(nan))));
}

TEST_CASE("round_to rounds once") {
  // Just above a tie of float16, by less than a float can tell: rounding by way of a float gives the even neighbour.
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  CHECK(round_to(DType::float16, above_tie) == 1 + 0x1p-10);
  CHECK(round_to(DType::bfloat16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(round_to(DType::float16, 1e5) == infinity);
  CHECK(round_to(DType::float16, -65519) == -65504);
  CHECK(round_to(DType::float16, 0x1p-26) == 0);
  CHECK(round_to(DType::bfloat16, 3.4e38) == infinity);
  CHECK(round_to(DType::float32, 0.1) == static_cast<double>(0.1f));
  CHECK(std::isnan(round_to(DType::float16, std::nan(""))));
  for (int i = 0; i < 2000; ++i) {  // on floats it agrees with the conversion
    const float value = std::ldexp(static_cast<float>(std::sin(i)), i % 60 - 40);
    CHECK(round_to(DType::float16, static_cast<double>(value)) ==
          static_cast<double>(float16_to_float(float_to_float16(value))));
    CHECK(round_to(DType::bfloat16, static_cast<double>(value)) ==
          static_cast<double>(bfloat16_to_float(float_to_bfloat16(value))));
  }
}

TEST_CASE("integers truncate and stay in their range") {
  CHECK(round_to(DType::int32, -2.9) == -2);
  CHECK(round_to(DType::uint8, 300) == 255);
  CHECK(round_to(DType::uint8, -1) == 0);
  CHECK(round_to(DType::int64, 1e30) == 0x1p63);
  CHECK(round_to(DType::int32, std::nan("")) == 0);
  CHECK(round_to(DType::boolean, -0.5) == 1);
}

}  // namespace
}  // namespace strata
