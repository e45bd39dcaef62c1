// SPDX-License-Identifier: Apache-2.0
// strata train RUN.yaml
#pragma once

#include "verb.h"

namespace strata::verbs {

struct Train {
  std::string run_file = {};
  std::vector<std::string> set = {};
  bool fresh = false;
  std::string resume = {};
  std::vector<std::string> allow = {};
  std::int64_t replay_step = 0;
  static Schema schema() {
    return Schema(
               "train",
               "Trains what a run file declares, or goes on where it was stopped; writes checkpoints, weights, log and "
               "resolved configuration to runs/<name>.")
        .arg("run_file", &Train::run_file, "The run file.", not_empty())
        .arg("set", &Train::set, "An override, such as fit.epochs=3; may be given several times.")
        .arg("fresh", &Train::fresh, "Begin anew; earlier checkpoints are moved to runs/<name>/replaced.")
        .arg("resume", &Train::resume, "Go on from this checkpoint instead of the newest.")
        .arg("allow", &Train::allow,
             "A key that may have changed since the checkpoint, such as compile.optimizer; may be given several times.")
        .arg("replay_step", &Train::replay_step,
             "Run again to this step, since the run's beginning, from the checkpoint before it, and say where its "
             "numbers "
             "are not finite. Nothing is written.",
             at_least(0));
  }
  int run(std::ostream& out) const;
};

inline void register_train(Registry<Verb>& r) { r.add<Train>(); }

}  // namespace strata::verbs
