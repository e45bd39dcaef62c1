// SPDX-License-Identifier: Apache-2.0
// What a name means after `using namespace strata`: where two kinds have it, the loss and the layer.
#include <doctest/doctest.h>

#include <type_traits>

#include <strata/strata.h>

using namespace strata;

static_assert(std::is_same_v<MeanSquaredError, losses::MeanSquaredError>);
static_assert(std::is_same_v<MeanAbsoluteError, losses::MeanAbsoluteError>);
static_assert(std::is_same_v<BinaryCrossentropy, losses::BinaryCrossentropy>);
static_assert(std::is_same_v<CategoricalCrossentropy, losses::CategoricalCrossentropy>);
static_assert(std::is_same_v<SparseCategoricalCrossentropy, losses::SparseCategoricalCrossentropy>);
static_assert(std::is_same_v<Identity, layers::Identity>);

TEST_CASE("a name that two kinds have is written with its kind for the other") {
  const Loss loss = MeanSquaredError{};
  const Metric metric = metrics::MeanSquaredError{};
  const Initializer initializer = initializers::Identity{};
  CHECK(loss.name() == metric.name());
  CHECK(initializer.name() == "Identity");
  // A kind's own names need no kind.
  CHECK(Metric(RootMeanSquaredError{}).name() == "RootMeanSquaredError");
  CHECK(Initializer(HeNormal{}).name() == "HeNormal");
  CHECK(Callback(EarlyStopping{}).name() == "EarlyStopping");
}
