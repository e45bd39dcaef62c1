// SPDX-License-Identifier: Apache-2.0
// strata train RUN.yaml
#pragma once

#include "verb.h"

namespace strata::verbs {

struct Train {
  std::string run_file = {};
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("train",
                  "Trains what a run file declares; writes weights, log and resolved configuration to runs/<name>.")
        .arg("run_file", &Train::run_file, "The run file.", not_empty())
        .arg("set", &Train::set, "An override, such as fit.epochs=3; may be given several times.");
  }
  int run(std::ostream& out) const;
};

inline void register_train(Registry<Verb>& r) { r.add<Train>(); }

}  // namespace strata::verbs
