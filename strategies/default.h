// SPDX-License-Identifier: Apache-2.0
// One device.
#pragma once

#include "strata/strategy.h"

namespace strata::strategies {

struct DefaultStrategy {
  std::string device = {};
  static Schema schema() {
    return Schema("DefaultStrategy", "Everything on one device.")
        .arg("device", &DefaultStrategy::device, "Its name, such as cpu or cuda:1; the best there is when empty.")
        .example(+[] { return DefaultStrategy{.device = "cpu"}; });
  }
  Mesh mesh(const Devices& devices) const {
    return {{{"data", 1}}, {device.empty() ? devices.at(0) : device_named(device)}};
  }
};

inline void register_default(Registry<Strategy>& r) { r.add<DefaultStrategy>(); }

}  // namespace strata::strategies
