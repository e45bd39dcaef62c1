// SPDX-License-Identifier: Apache-2.0
// A training under way: epochs of steps, validation, callbacks, checkpoints; as the loop drives it and callbacks see it.
#pragma once

#include <stdexcept>

#include "base/run_lock.h"
#include "base/signals.h"
#include "model/batches.h"
#include "model/checkpoint.h"
#include "model/saver.h"

namespace strata {

class Fitting final : public Training {
 public:
  // `lock`: of the checkpoints' directory when the caller holds it already.
  Fitting(Model& model, const FitOptions& options, const RunLock* lock = nullptr);
  // run() then ends at that batch (from 1, since the beginning) with Replayed; nothing is written.
  void replay(std::int64_t batch) { replayed_ = batch; }
  History run(const Dataset& train);

  std::int64_t epoch() const override { return place_.epoch; }
  std::int64_t epochs() const override { return options_.epochs; }
  std::int64_t step() const override { return place_.step; }
  std::int64_t steps() const override { return steps_; }
  std::int64_t updates() const override;
  const Figures& figures() const override;
  void log(const std::string& name, double value) override;
  Direction direction(const std::string& figure) const override;
  void stop(const std::string& reason) override { place_.stop = reason.empty() ? "stopped" : reason; }
  double value(const std::string& path) const override;
  void set(const std::string& path, double value) override;
  std::map<std::string, Tensor> weights() const override;
  void restore(const std::map<std::string, Tensor>& weights) override;
  const std::string& directory() const override { return options_.directory; }
  const History& history() const override { return history_; }
  bool resumed() const override { return resumed_; }
  void save(const std::string& file, bool weights_only) override;

 private:
  const std::string& checked(const std::string& path) const;
  const Type& one_number(const std::string& path, const char* done) const;
  void open(const Dataset& train);
  void make_plans();
  void begin_checkpoints();
  void go_on();  // from a checkpoint, where there is one
  void restore(const Snapshot& snapshot, const std::string& file);
  void run_epoch();
  void run_steps();
  void one_step();
  std::string blamed() const;     // what blame() says of this step
  [[noreturn]] void fail_step();  // RunFailed with it, and with where the state before the step is kept
  void validate();
  bool validates() const { return (place_.epoch + 1) % std::max<std::int64_t>(1, options_.validation_freq) == 0; }
  void finish_epoch();
  void finish();
  void take_averages();
  // What is due at a step edge: asked-for saves, checkpoints, a signal's stop.
  void edge(bool epoch_edge);
  void stop_for_signal();
  void fill(Snapshot& snapshot) const;
  void write_now(const std::string& file) const;  // RunFailed: it cannot be written
  std::string signature() const;
  bool is_best();

  Model& model_;
  Model::Core& core_;
  FitOptions options_;
  const RunLock* held_;            // the caller's, of the checkpoints' directory
  std::unique_ptr<RunLock> lock_;  // otherwise our own
  std::shared_ptr<const Reader> reader_;
  std::unique_ptr<Batches> batches_, validation_;
  std::int64_t trained_rows_ = 0, validation_size_ = 0, steps_ = 0;

  Place place_;
  BestEpoch best_;
  History history_;
  mutable Figures figures_;
  Figures logged_;             // by callbacks, in this epoch
  mutable bool stale_ = true;  // figures_ are to be read from the metrics' states
  bool resumed_ = false;
  std::string resumed_from_;
  std::string signature_;
  std::vector<Callback> callbacks_;
  bool every_step_ = false;
  std::int64_t replayed_ = 0;
  bool passing_ = false;  // the checkpoints go when training has ended

  std::unique_ptr<Saver> saver_;
  std::unique_ptr<StopSignals> signals_;
  std::vector<std::pair<std::string, bool>> asked_;  // saves that callbacks asked for: file, weights only
};

// A replayed run has come to its step; what() is what blame() says of it.
class Replayed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Model::fit, with the lock of the run's directory when the caller holds it.
History fit_model(Model& model, const Dataset& train, const FitOptions& options, const RunLock* lock);
// Runs to a step (from 1, since the beginning) from the checkpoint before it, and says where its numbers are not finite.
std::string replay_step(Model& model, const Dataset& train, const FitOptions& options, const RunLock* lock,
                        std::int64_t step);

}  // namespace strata
