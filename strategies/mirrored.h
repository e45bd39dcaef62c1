// SPDX-License-Identifier: Apache-2.0
// Every local device a replica: each has all weights and a part of each batch's rows; gradients are summed.
#pragma once

#include <algorithm>

#include "strata/strategy.h"

namespace strata::strategies {

struct MirroredStrategy {
  std::vector<std::string> devices = {};
  static Schema schema() {
    return Schema("MirroredStrategy",
                  "A replica on each device, with all weights and a part of each batch's rows. The result is one "
                  "device's.")
        .arg("devices", &MirroredStrategy::devices,
             "Their names; one name alone with a number, such as cpu:4, means that many virtual replicas on it. Empty: "
             "all GPUs, else one CPU.")
        .example(+[] { return MirroredStrategy{.devices = {"cpu:2"}}; })
        .example(+[] {
          return MirroredStrategy{.devices = {"cuda:0", "cuda:2"}};
        });
  }
  Mesh mesh(const Devices& available) const {
    std::vector<Device> chosen;
    if (devices.empty()) {
      for (const Device& device : available)
        if (device.backend == available.at(0).backend) chosen.push_back(device);
    } else if (devices.size() == 1 && devices[0].find(':') != std::string::npos) {
      const Device named = device_named(devices[0]);
      if (named.index < 1)
        throw Error(cat("MirroredStrategy: devices '", devices[0], "' would be no replicas; write ", named.backend,
                        ":2 for two"));
      for (int i = 0; i < named.index; ++i) chosen.push_back({named.backend, i});
    } else {
      for (const std::string& name : devices) {
        const Device device = device_named(name);
        if (std::ranges::find(chosen, device) != chosen.end())
          throw Error(cat("MirroredStrategy: devices names ", device, " twice; for replicas on one device write ",
                          device.backend, ":2 alone"));
        chosen.push_back(device);
      }
    }
    return {{{"data", static_cast<int>(chosen.size())}}, chosen};
  }
  StrategyScope scope() const { return StrategyScope(*this); }
};

inline void register_mirrored(Registry<Strategy>& r) { r.add<MirroredStrategy>(); }

}  // namespace strata::strategies
