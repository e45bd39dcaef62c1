// SPDX-License-Identifier: Apache-2.0
// Initializers against real Keras: what is certain exactly; what is drawn by its moments, its bounds and its products.
#include <numeric>

#include "support/golden.h"

using namespace strata;
using namespace strata::test;

namespace {

std::vector<double> made(const json& c, std::uint64_t seed) {
  const std::vector<std::int64_t> extents = c["shape"];
  const Shape shape(extents);
  const Initializer initializer = parts<Initializer>().make(c["kind"], config_of(c["args"]));
  std::vector<double> values(static_cast<std::size_t>(shape.size()), NAN);
  initializer->make(Fill{shape, seed, "layer/kernel"}, values);
  return values;
}

// The largest difference of A'A, or AA' when rows are the shorter side, from gram times the identity.
double not_orthogonal(const std::vector<double>& values, std::int64_t columns, bool of_rows, double gram) {
  const auto width = static_cast<std::size_t>(columns), height = values.size() / width;
  const std::size_t count = of_rows ? height : width, length = of_rows ? width : height;
  const auto at = [&](std::size_t which, std::size_t i) {
    return values[of_rows ? which * width + i : i * width + which];
  };
  double most = 0;
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
      most = std::max(most, std::abs(product - (a == b ? gram : 0)));
    }
  return most;
}

}  // namespace

TEST_CASE("initializers make Keras's values, or draw from Keras's distribution") {
  const json file = golden("initializers");
  int exact = 0, drawn = 0;
  for (const auto& c : file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    if (c.contains("exact")) {
      CHECK(made(c, 1) == array_of(c["exact"]).data);
      ++exact;
      continue;
    }
    ++drawn;
    // Twice as many draws as Keras was asked for, so that the bounds are ours to reach.
    std::vector<double> all;
    for (int seed = 0; seed < 2 * c["draws"].get<int>(); ++seed) {
      const std::vector<double> values = made(c, static_cast<std::uint64_t>(seed));
      if (c.contains("orthogonal"))
        CHECK(not_orthogonal(values, c["shape"].back(), c["orthogonal"] == "rows", c["gram"]) < 1e-9);
      all.insert(all.end(), values.begin(), values.end());
    }
    const double mean = c["mean"], stddev = c["stddev"];
    const auto count = static_cast<double>(all.size());
    const double own_mean = std::accumulate(all.begin(), all.end(), 0.0) / count;
    double squares = 0, farthest = 0;
    for (const double value : all) {
      squares += (value - own_mean) * (value - own_mean);
      farthest = std::max(farthest, std::abs(value - mean));
    }
    CHECK(std::abs(own_mean - mean) < 5 * stddev / std::sqrt(count));
    CHECK(std::sqrt(squares / count) == doctest::Approx(stddev).epsilon(0.02));
    if (c["limit"].is_null()) continue;
    CHECK(farthest <= c["limit"].get<double>() * (1 + 1e-8));
    CHECK(farthest >= c["drawn_limit"].get<double>() * 0.995);
  }
  CHECK(exact >= 4);
  CHECK(drawn >= 46);
  CHECK(exact + drawn == static_cast<int>(file["cases"].size()));
}

TEST_CASE("every initializer of the catalogue has a golden case, but for the identity matrix") {
  std::set<std::string> golden_kinds;
  const json file = golden("initializers");
  for (const auto& c : file["cases"]) golden_kinds.insert(c["kind"]);
  for (const std::string& name : parts<Initializer>().names())
    CHECK_MESSAGE(golden_kinds.count(name) + (name == "Identity") == 1, name);
}

TEST_CASE("the identity matrix is one, times its gain, cut to the shape") {
  const json c = json::parse(R"({"kind": "Identity", "args": {"gain": 2.0}, "shape": [2, 3]})");
  CHECK(made(c, 1) == std::vector<double>{2, 0, 0, 0, 2, 0});
}
