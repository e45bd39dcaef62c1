// SPDX-License-Identifier: Apache-2.0
// What initializers draw from.
#include <optional>
#include <string>

#include "core/random.h"
#include "strata/initializer.h"

namespace strata {
namespace {

// A weight's numbers are drawn one after the other: its path is hashed once, not for each.
RandomKey key_of(const Fill& fill) {
  struct Last {
    std::uint64_t seed;
    std::string path;
    RandomKey key;
  };
  thread_local std::optional<Last> last;
  if (!last || last->seed != fill.seed || last->path != fill.path) {
    last = Last{fill.seed, fill.path, random_key(fill.seed, stream_of("initial/" + fill.path))};
  }
  return last->key;
}

}  // namespace

double Fill::uniform(std::int64_t element) const {
  return strata::uniform(key_of(*this), 0, 0, static_cast<std::uint64_t>(element));
}
double Fill::normal(std::int64_t element) const {
  return strata::normal(key_of(*this), 0, 0, static_cast<std::uint64_t>(element));
}
double Fill::truncated_normal(std::int64_t element) const {
  return strata::truncated_normal(key_of(*this), 0, 0, static_cast<std::uint64_t>(element));
}

std::pair<double, double> Fill::fans() const {
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (int i = 0; i + 2 < rank; ++i) receptive *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[-2]) * receptive, static_cast<double>(shape[-1]) * receptive};
}

}  // namespace strata
