// SPDX-License-Identifier: Apache-2.0
#include "core/epoch_order.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "strata/error.h"

namespace strata {
namespace {

std::vector<std::uint64_t> order_of(std::uint64_t seed, std::uint64_t epoch, std::uint64_t count) {
  const EpochOrder order(seed, epoch, count);
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < count; ++i) rows.push_back(order.at(i));
  return rows;
}

TEST_CASE("every row comes exactly once") {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t n = 1; n <= 70; ++n) counts.push_back(n);
  for (const std::uint64_t n : {127, 128, 255, 256, 257, 1000, 4095, 4097, 65537}) counts.push_back(n);
  for (const std::uint64_t n : counts) {
    std::vector<int> seen(n);
    for (const std::uint64_t row : order_of(7, 3, n)) {
      REQUIRE(row < n);
      ++seen[row];
    }
    CHECK(std::vector<int>(n, 1) == seen);
  }
}

TEST_CASE("orders differ between epochs and seeds, and are the same again") {
  const auto first = order_of(1, 0, 1000);
  CHECK(first == order_of(1, 0, 1000));
  CHECK(first != order_of(1, 1, 1000));
  CHECK(first != order_of(2, 0, 1000));
  int kept = 0;  // rows at the same position in the next epoch: one on average
  const auto next = order_of(1, 1, 1000);
  for (std::size_t i = 0; i < first.size(); ++i) kept += first[i] == next[i];
  CHECK(kept < 8);
}

TEST_CASE("all orders of a few rows are equally likely") {
  std::map<std::vector<std::uint64_t>, int> seen;
  constexpr int epochs = 24000;
  for (int epoch = 0; epoch < epochs; ++epoch) ++seen[order_of(5, static_cast<std::uint64_t>(epoch), 4)];
  CHECK(seen.size() == 24);
  double chi = 0;
  for (const auto& [order, count] : seen) chi += (count - epochs / 24.0) * (count - epochs / 24.0) / (epochs / 24.0);
  CHECK(chi < 49.7);  // 23 degrees of freedom, 0.1 % level
}

TEST_CASE("each row is equally likely at each position, and neighbours are unrelated") {
  constexpr std::uint64_t n = 10, epochs = 5000;
  std::vector<double> at(n * n), after(n * n);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto rows = order_of(11, epoch, n);
    for (std::size_t i = 0; i < n; ++i) {
      ++at[i * n + rows[i]];
      if (i + 1 < n) ++after[rows[i] * n + rows[i + 1]];
    }
  }
  double chi = 0, chi_after = 0;
  const double expected = static_cast<double>(epochs) / n;
  for (const double count : at) chi += (count - expected) * (count - expected) / expected;
  for (std::size_t i = 0; i < n * n; ++i) {
    if (i / n != i % n) chi_after += (after[i] - expected) * (after[i] - expected) / expected;
  }
  CHECK(chi < 126.1);        // 81 degrees of freedom, 0.1 % level
  CHECK(chi_after < 135.8);  // 89
}

TEST_CASE("huge counts need no memory, positions beyond the end are a bug") {
  const EpochOrder order(1, 2, std::uint64_t{1} << 40);
  CHECK(order.at(0) != order.at(1));
  CHECK(order.at((std::uint64_t{1} << 40) - 1) < order.count());
  CHECK_THROWS_AS(order.at(order.count()), InternalError);
}

}  // namespace
}  // namespace strata
