// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "core/random.h"
#include "strata/initializer.h"

namespace strata {
namespace {

TEST_CASE("fans are Keras's, for every rank") {
  const auto fans = [](const Shape& shape) { return Fill{shape, 0, ""}.fans(); };
  CHECK(fans({}) == std::pair(1.0, 1.0));
  CHECK(fans({7}) == std::pair(7.0, 7.0));
  CHECK(fans({3, 5}) == std::pair(3.0, 5.0));
  CHECK(fans({3, 3, 16, 32}) == std::pair(144.0, 288.0));
  CHECK(fans({4, 8, 64}) == std::pair(32.0, 256.0));
}

TEST_CASE("a weight's first values depend on the seed and its path only") {
  const Fill fill{{4}, 7, "dense/kernel"}, shaped{{2, 2}, 7, "dense/kernel"}, seeded{{4}, 8, "dense/kernel"},
      other{{4}, 7, "dense/bias"};
  for (int i = 0; i < 4; ++i) {
    const double value = fill.uniform(i);
    CHECK(value == uniform(random_key(7, stream_of("initial/dense/kernel")), 0, 0, static_cast<std::uint64_t>(i)));
    CHECK(shaped.uniform(i) == value);
    CHECK(seeded.uniform(i) != value);
    CHECK(other.uniform(i) != value);
    CHECK(fill.uniform(i) == value);
    CHECK(fill.normal(i) ==
          normal(random_key(7, stream_of("initial/dense/kernel")), 0, 0, static_cast<std::uint64_t>(i)));
    CHECK(std::abs(fill.truncated_normal(i)) <= 2);
  }
}

}  // namespace
}  // namespace strata
