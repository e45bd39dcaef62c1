// SPDX-License-Identifier: Apache-2.0
// Keras's two words for checkpoints. Both ask fit() for what it writes by itself (CheckpointOptions): the same files, read
// and resumed in the same way.
#pragma once

#include "strata/callback.h"

namespace strata::callbacks {

// A file an epoch, or only when a figure is better than ever. Written at the epoch's edge, after every callback has had
// its say, so that what goes on from it lags behind in nothing.
struct ModelCheckpoint {
  std::string filepath = {}, monitor = "val_loss";
  std::int64_t verbose = 0;
  bool save_best_only = false, save_weights_only = false;
  std::string mode = "auto", save_freq = "epoch";
  Optional<double> initial_value_threshold = {};
  // What it remembers over a stop.
  Optional<double> best = {};
  std::int64_t batches = 0;

  static Schema schema();
  void on_fit_begin(Training& t);
  void on_step_end(Training& t);
  void on_epoch_end(Training& t);

 private:
  void save(Training& t);
};

// Saves the whole training, and goes on from it when the same program is started again.
struct BackupAndRestore {
  std::string backup_dir = {}, save_freq = "epoch";
  bool double_checkpoint = false, delete_checkpoint = true;
  static Schema schema();
  void on_fit_begin(Training&) {}  // fit() reads the members
};

// "weights-{epoch:02d}-{val_loss:.2f}.h5" with an epoch (from 1), a batch and the figures put in. Error: a name that is
// none of these, a format that is not understood.
std::string filled_in(const std::string& pattern, std::int64_t epoch, std::int64_t batch, const Figures& figures);

void register_model_checkpoint(Registry<Callback>& r);

}  // namespace strata::callbacks
