// SPDX-License-Identifier: Apache-2.0
// From a reader's fields to a model's feeds: which field is which input, target or weight, batch by batch.
#pragma once

#include "data/loader.h"
#include "model/core.h"

namespace strata {

// Whole-batch tensors by feed name, and their types.
struct Fed {
  std::map<std::string, Tensor> feeds;
  BatchTypes types;
};
// Error: counts, names or shapes that do not fit the model.
Fed feed_tensors(Model::Core& core, const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                 const Tensor& sample_weight);

// How many rows train when the tail validates.
std::int64_t training_rows(std::int64_t rows, double validation_split);

Dataset arrays_of(const std::vector<Tensor>& x, const std::vector<Tensor>& y);
void copy_rows(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t rows);

struct BatchesOptions {
  std::int64_t batch_size = 32;
  bool targets = true;  // false: inputs only
  bool fill = false;    // the last batch is filled up to batch_size; rows() says what counts
  bool shuffle = false;
  std::int64_t seed = 0;
  std::int64_t first = 0, last = -1;  // the range of rows; -1: to the end
  std::map<std::int64_t, double> class_weight = {};
};

class Batches {
 public:
  Batches(Model::Core& core, std::shared_ptr<const Reader> reader, BatchesOptions options);

  std::int64_t count() const;      // batches in an epoch
  std::int64_t row_count() const;  // rows in the range
  void start(std::int64_t epoch, std::int64_t batch = 0);
  bool next();  // false at the end of the epoch
  std::int64_t rows() const { return batch_.rows; }
  std::int64_t first_row() const { return batch_.index * options_.batch_size; }  // in the epoch's order
  const std::map<std::string, Tensor>& feeds() const { return fed_.feeds; }
  const BatchTypes& types() const { return fed_.types; }
  // What batches of `rows` rows look like, before any is read.
  BatchTypes types_of(std::int64_t rows) const;

 private:
  struct Place {
    std::size_t field;
    std::string feed;
  };
  Model::Core& core_;
  std::shared_ptr<const Reader> reader_;
  BatchesOptions options_;
  std::vector<Place> places_;
  std::vector<std::size_t> target_outputs_;  // outputs that a loss or a metric looks at
  std::size_t label_field_ = 0;
  Loader loader_;
  Batch batch_;
  Fed fed_;
};

// Runs one training step: joined, as the next part of an accumulation window, or in micro-batches.
class StepRunner {
 public:
  explicit StepRunner(Model::Core& core) : core_(core) {}
  // Makes the plans that run_parts() will need for such a batch.
  void prepare_parts(const BatchTypes& types, std::int64_t parts);
  RunResult run(StepPlans& plans, const std::map<std::string, Tensor>& feeds, std::int64_t first_row);
  // The rows in `parts` parts with one update; equal to one step of all rows.
  RunResult run_parts(const BatchTypes& types, const std::map<std::string, Tensor>& feeds, std::int64_t parts,
                      std::int64_t first_row);

 private:
  Model::Core& core_;
};

}  // namespace strata
