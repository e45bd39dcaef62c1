// SPDX-License-Identifier: Apache-2.0
// What declares a run, and what of it has changed since a checkpoint was written.
#pragma once

#include "strata/model.h"

namespace strata {

// Keys of the run that differ, by how much they matter. Used when a run goes on with another configuration.
struct Changes {
  std::vector<std::string> refused, accepted;  // "compile.optimizer.Adam.learning_rate: 0.001 -> 0.01"
  std::vector<std::string> allowed;            // keys taken because they were named
};
Changes changes_between(const Config& before, const Config& now, const std::vector<std::string>& allow);
// What declares a run made in C++.
Config describe_run(const Model& model, const FitOptions& options, const Reader& reader);

}  // namespace strata
