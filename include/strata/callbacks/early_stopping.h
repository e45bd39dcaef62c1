// SPDX-License-Identifier: Apache-2.0
// Stops when a figure no longer gets better.
#pragma once

#include "strata/callback.h"

namespace strata::callbacks {

struct EarlyStopping {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;
  std::string mode = "auto";
  Optional<double> baseline = {};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
  // What it remembers over a stop.
  double best = 0;
  std::int64_t best_epoch = -1, wait = 0;
  std::map<std::string, Tensor> best_weights = {};

  static Schema schema() {
    return Schema("EarlyStopping", "Stops training when a figure has not got better for some epochs.")
        .arg("monitor", &EarlyStopping::monitor, "The figure.")
        .arg("min_delta", &EarlyStopping::min_delta, "What counts as better: a change of more than this.", at_least(0))
        .arg("patience", &EarlyStopping::patience, "Epochs without betterment before it stops.", at_least(0))
        .arg("mode", &EarlyStopping::mode, "Which way is better.", one_of({"auto", "min", "max"}))
        .arg("baseline", &EarlyStopping::baseline, "A value that must be bettered as well.")
        .arg("restore_best_weights", &EarlyStopping::restore_best_weights,
             "Whether to end with the best epoch's weights.")
        .arg("start_from_epoch", &EarlyStopping::start_from_epoch, "Epochs to let pass first.", at_least(0))
        .keeps("best", &EarlyStopping::best)
        .keeps("best_epoch", &EarlyStopping::best_epoch)
        .keeps("wait", &EarlyStopping::wait)
        .keeps("best_weights", &EarlyStopping::best_weights)
        .example(+[] { return EarlyStopping{.patience = 3}; })
        .example(+[] {
          return EarlyStopping{.monitor = "val_accuracy",
                               .min_delta = 0.001,
                               .patience = 5,
                               .mode = "max",
                               .baseline = 0.5,
                               .restore_best_weights = true,
                               .start_from_epoch = 2};
        });
  }

  void on_fit_begin(Training& t);
  void on_epoch_end(Training& t);
  void on_fit_end(Training& t);
};

inline void register_early_stopping(Registry<Callback>& r) { r.add<EarlyStopping>(); }

}  // namespace strata::callbacks
