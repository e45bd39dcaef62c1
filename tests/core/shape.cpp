// SPDX-License-Identifier: Apache-2.0
#include "strata/shape.h"

#include <doctest/doctest.h>

#include "strata/error.h"
#include "support/message.h"

namespace strata {
namespace {

using test::message_of;

TEST_CASE("axes count from both ends") {
  const Shape shape{2, 3, 5};
  CHECK(shape.rank() == 3);
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 5);
  CHECK(shape.axis(-3) == 0);
  CHECK(shape.size() == 30);
  CHECK(message_of([&] { shape[3]; }) == "shape [2, 3, 5] has no axis 3");
  CHECK(message_of([&] { shape[-4]; }) == "shape [2, 3, 5] has no axis -4");
}

TEST_CASE("a scalar has one element, an empty shape none") {
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{}.rank() == 0);
  CHECK(Shape{4, 0, 3}.size() == 0);
  CHECK(to_text(Shape{}) == "[]");
}

TEST_CASE("shapes are changed by axis") {
  const Shape shape{2, 3, 5};
  CHECK(shape.with(-1, 7) == Shape{2, 3, 7});
  CHECK(shape.without(1) == Shape{2, 5});
  CHECK(shape.without(-3) == Shape{3, 5});
  CHECK(shape.prepend(9) == Shape{9, 2, 3, 5});
  CHECK(shape.append(9) == Shape{2, 3, 5, 9});
  CHECK(shape.slice(1, 3) == Shape{3, 5});
  CHECK(shape.slice(1, 1) == Shape{});
  CHECK(message_of([&] { shape.slice(2, 4); }) == "shape [2, 3, 5] has no axes 2 to 4");
  CHECK(message_of([&] { shape.with(0, -1); }) == "a shape's extents are at least 0, got -1");
}

TEST_CASE("equality is of extents, whatever was there before") {
  CHECK(Shape{2, 3, 5}.without(2) == Shape{2, 3});
  CHECK(Shape{2, 3} != Shape{2, 3, 1});
  CHECK(Shape{2, 3} != Shape{3, 2});
}

TEST_CASE("what is no shape is refused") {
  CHECK(message_of([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }) == "a shape has at most 8 axes, got 9");
  CHECK(message_of([] { Shape({3, -1}); }) == "a shape's extents are at least 0, got -1");
  CHECK(message_of([] { Shape({1, 1, 1, 1, 1, 1, 1, 1}).append(2); }) == "a shape has at most 8 axes, got 9");
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK(message_of([=] {
          Shape({huge, huge}).size();
        }) == "shape [1099511627776, 1099511627776] has more elements than fit a number");
}

TEST_CASE("shapes broadcast as NumPy's do") {
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({3}, {2, 1}) == Shape{2, 3});
  CHECK(broadcast({4, 1, 5}, {3, 1}) == Shape{4, 3, 5});
  CHECK(broadcast({}, {7}) == Shape{7});
  CHECK(broadcast({0}, {1}) == Shape{0});
  CHECK(message_of([] {
          broadcast({2, 3}, {2, 4});
        }) == "shapes [2, 3] and [2, 4] do not broadcast: 3 and 4 on axis -1");
  CHECK(message_of([] {
          broadcast({5, 3}, {2, 7, 3});
        }) == "shapes [5, 3] and [2, 7, 3] do not broadcast: 5 and 7 on axis -2");
}

}  // namespace
}  // namespace strata
