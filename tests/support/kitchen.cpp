// SPDX-License-Identifier: Apache-2.0
// The tools' catalogue.
#include "support/kitchen.h"

namespace strata {

template <> Registry<test::Tool>& parts<test::Tool>() {
  static Registry<test::Tool> all("tool", [](Registry<test::Tool>& registry) {
    registry.add<test::Knife>();
    registry.add<test::ReLU>();
    registry.add<test::Box>();
    registry.add<test::Plain>();
    registry.add_alias("leaky_relu", "ReLU", [] { return test::Tool(test::ReLU{.slope = 0.25}); });
    registry.add_alias("chef_knife", "Knife", [] { return test::Tool(test::Knife{.units = 21}); });
  });
  return all;
}

}  // namespace strata
