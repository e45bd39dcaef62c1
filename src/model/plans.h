// SPDX-License-Identifier: Apache-2.0
// The plans of a model, made when first wanted and kept by what they are for; and their running on the strategy's
// devices, each replica on its rows.
#pragma once

#include <memory>

#include "compiler/compile.h"
#include "model/step.h"
#include "runtime/executor.h"

namespace strata {

// One graph compiled for every replica, with its feeds' places ready, so that a step neither looks up nor allocates.
struct Compilation {
  std::vector<Plan> plans;                                  // by replica
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // each replica's part of the batch
  std::vector<std::map<std::string, Tensor>> feeds;         // by replica; refilled by every step
  std::map<std::string, Type> whole;                        // the feeds of the whole batch
  std::int64_t batch_rows = 0;
  std::vector<std::string> checks;  // what a failed check says, by bit of the faults
  bool learns = false;              // whether something was to be learnt from the batch
};

// What a batch looks like, compiled: micro and (unless joined) update.
struct StepPlans {
  Compilation micro, update;
  bool joined = true;
};

class Runner {
 public:
  Runner(Backend& backend, Mesh mesh, Store& store, bool fast_math);

  // Compiles for all replicas, each with its contiguous part of the rows (ceil(rows / replicas), possibly none).
  Compilation compile(const Graph& graph, const std::string& name, std::int64_t rows);
  // Feeds whole-batch tensors by name; scalars go to every replica. `row_offset`: the global row of row 0.
  RunResult run(Compilation& compilation, const std::map<std::string, Tensor>& feeds, std::int64_t row_offset = 0);
  // An output, its replicas' rows joined when it is split along the batch.
  Tensor output(const Compilation& compilation, const std::string& name) const;

  Executor& executor() { return executor_; }
  const Mesh& mesh() const { return mesh_; }
  double compile_seconds() const { return compile_seconds_; }

 private:
  Backend& backend_;
  Mesh mesh_;
  Store& store_;
  bool fast_math_;
  Executor executor_;
  double compile_seconds_ = 0;
};

}  // namespace strata
