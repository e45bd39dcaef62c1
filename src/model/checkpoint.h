// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds, and its file: weights and optimizer where Keras looks for them, the rest below /strata.
//   /layers/…, /optimizer/vars/…     Keras's layout; each dataset's attribute `path` names the state
//   /strata/state/<path>             states that have no place there
//   /strata/callback_arrays/<n>/…    arrays that the n-th callback keeps
//   /strata/{record,history,callbacks,config}   text: where training stands, its figures, what callbacks keep, the run
#pragma once

#include <optional>

#include "model/core.h"
#include "model/hdf5.h"
#include "model/keras_format.h"
#include "strata/callback.h"

namespace strata {

// A point of a training: what was done, and what comes next.
struct Place {
  std::int64_t epoch = 0;    // under way or next
  std::int64_t step = 0;     // batches done in it
  std::int64_t batches = 0;  // done since the beginning
  std::int64_t pass = 0;     // over the data; other than the epoch only with steps_per_epoch
  std::int64_t in_pass = 0;  // batches taken from it
  bool open = false;         // whether that pass goes on
  bool begun = false;        // whether the epoch has begun
  bool steps_done = false;   // whether only its validation and its end are left
  std::string stop = {};     // why training ends here; "" when it goes on
  bool operator==(const Place&) const = default;
  static Schema schema();
};

struct BestEpoch {
  std::string figure = {};
  double value = 0;
  std::int64_t epoch = -1;
  static Schema schema();
};

// All that outlives a step and is no array.
struct Record {
  std::int64_t format = 1;
  Place place = {};
  BestEpoch best = {};
  std::int64_t seed = 0;
  std::map<std::string, double> figures = {};  // of the newest epoch's end, or so far
  std::map<std::string, double> logged = {};   // by callbacks, in the epoch under way
  std::string signature = {};                  // of the plans: equal ones give equal bits
  std::int64_t rows = 0;                       // that are trained on
};

struct Snapshot {
  Record record;
  History history;
  Config callbacks;                                // a list of {name, kept}
  Config config;                                   // what declares the run
  std::map<std::string, Tensor> states;            // by the store's path
  std::map<std::string, Tensor> callback_tensors;  // "<n>/<field>/<path>"
};

// Where a model's states lie in a file. Made once, so that a thread may write while the model trains on.
struct CheckpointLayout {
  KerasLayout keras;
  std::string model, optimizer;                                     // names
  std::vector<std::pair<std::string, std::string>> optimizer_vars;  // dataset and the state's path, in Keras's order
  std::int64_t accumulation = 1;
};
CheckpointLayout checkpoint_layout(const Model& model);

// Thread-safe. RunFailed: what could not be written; then no file of that name has changed.
void write_checkpoint(const std::string& file, const CheckpointLayout& layout, const Snapshot& snapshot);
// Error: damaged, of another program, of a newer format.
Snapshot read_checkpoint(const std::string& file);

std::string checkpoint_name(std::int64_t batches);  // "checkpoint-412.h5"
struct FoundCheckpoint {
  std::string file;
  std::int64_t batches = 0;
};
std::vector<FoundCheckpoint> checkpoints_in(const std::string& directory);  // newest first, by step
// The newest whole one, of at most so many batches (-1: any); a warning for each damaged one passed over. Error: there
// are some and none is whole.
std::optional<FoundCheckpoint> newest_whole(const std::string& directory, std::int64_t most_batches = -1);

// Moves the checkpoints beyond that many batches, and such a best.h5, to <directory>/replaced, which holds one generation.
void set_aside_checkpoints(const std::string& directory, std::int64_t batches);

}  // namespace strata
