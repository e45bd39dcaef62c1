// SPDX-License-Identifier: Apache-2.0
// Lowers the learning rate when a figure no longer gets better.
#pragma once

#include "strata/callback.h"

namespace strata::callbacks {

struct ReduceLROnPlateau {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0;
  // What it remembers over a stop.
  double best = 0;
  bool begun = false;
  std::int64_t wait = 0, cooling = 0;

  static Schema schema() {
    return Schema("ReduceLROnPlateau",
                  "Multiplies the learning rate by a factor when a figure has not got better for some epochs.")
        .arg("monitor", &ReduceLROnPlateau::monitor, "The figure.")
        .arg("factor", &ReduceLROnPlateau::factor, "The factor.", from_up_to(0, 1))
        .arg("patience", &ReduceLROnPlateau::patience, "Epochs without betterment.", at_least(0))
        .arg("mode", &ReduceLROnPlateau::mode, "Which way is better.", one_of({"auto", "min", "max"}))
        .arg("min_delta", &ReduceLROnPlateau::min_delta, "What counts as better: a change of more than this.",
             at_least(0))
        .arg("cooldown", &ReduceLROnPlateau::cooldown, "Epochs to let pass after lowering.", at_least(0))
        .arg("min_lr", &ReduceLROnPlateau::min_lr, "The least rate.", at_least(0))
        .keeps("best", &ReduceLROnPlateau::best)
        .keeps("begun", &ReduceLROnPlateau::begun)
        .keeps("wait", &ReduceLROnPlateau::wait)
        .keeps("cooling", &ReduceLROnPlateau::cooling)
        .example(+[] { return ReduceLROnPlateau{.factor = 0.5, .patience = 2}; })
        .example(+[] {
          return ReduceLROnPlateau{.monitor = "loss", .mode = "min", .min_delta = 0, .cooldown = 1, .min_lr = 1e-5};
        });
  }
  void on_fit_begin(Training& t);  // Error: the learning rate follows a schedule
  void on_epoch_end(Training& t);
};

inline void register_reduce_lr_on_plateau(Registry<Callback>& r) { r.add<ReduceLROnPlateau>(); }

}  // namespace strata::callbacks
