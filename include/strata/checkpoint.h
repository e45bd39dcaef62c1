// SPDX-License-Identifier: Apache-2.0
// Checkpoints: when a training is written down, and how it goes on. A checkpoint is one HDF5 file with everything that
// outlives a step; the run that goes on from it equals, bit for bit, the one that was never stopped.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "strata/config.h"

namespace strata {

struct CheckpointOptions {
  std::string directory = {};           // where checkpoint-<step>.h5 are written; "" for no checkpoints
  std::vector<std::string> every = {};  // "500 steps", "2 epochs", "10 min", whichever comes first; see below
  std::int64_t keep = 3;                // so many newest files stay
  std::string best = {};                // the figure whose best epoch stays as best.h5; "" for val_loss, "none"
  std::string mode = "auto";            // which way it is better: auto, min, max
  std::string on_signal = "save";       // SIGTERM, SIGINT, SIGUSR1: save and stop, or ignore (leave them alone)
  std::string resume = "auto";          // from the newest whole file; never; or a file
  std::vector<std::string> allow = {};  // changed keys that are taken though they change the mathematics
  Config config = {};                   // what declares the run; made from the model and the options when null
};
// Without `every` a checkpoint is due at each epoch's end, but not so soon that saving takes over 3 % of the time. One is
// always written at the end and when a signal stops the run. Steps are batches.

// A signal stopped the training, and where it stood is saved.
class Stopped : public std::runtime_error {
 public:
  Stopped(const std::string& message, int signal, std::string file)
      : std::runtime_error(message), signal(signal), file(std::move(file)) {}
  int signal;
  std::string file;  // the checkpoint
};

}  // namespace strata
