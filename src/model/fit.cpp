// SPDX-License-Identifier: Apache-2.0
// fit(): the loop of epochs, steps and validation.
#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "model/fitting.h"
#include "strata/callbacks/model_checkpoint.h"
#include "strata/callbacks/progress.h"

namespace strata {

Fitting::Fitting(Model& model, const FitOptions& options, const RunLock* lock)
    : model_(model), core_(model.core()), options_(options), held_(lock) {
  for (const auto& callback : options_.callbacks)
    if (const auto* backup = callback.get_if<callbacks::BackupAndRestore>()) {
      auto& checkpoint = options_.checkpoint;
      if (!checkpoint.directory.empty())
        throw Error("BackupAndRestore and fit's checkpoint.directory both say where checkpoints go; take one");
      checkpoint.directory = backup->backup_dir;
      checkpoint.every = {backup->save_freq == "epoch" ? "1 epoch" : backup->save_freq + " steps"};
      checkpoint.keep = backup->double_checkpoint ? 2 : 1;
      checkpoint.best = "none";
      passing_ = backup->delete_checkpoint;
    }
  if (options_.directory.empty()) options_.directory = options_.checkpoint.directory;
}

void Fitting::open(const Dataset& train) {
  Mistakes mistakes;
  train.schema().check(train.data(), {}, mistakes);
  for (const auto& callback : options_.callbacks) callback.schema().check(callback.data(), {}, mistakes);
  const callbacks::ProgressBar progress{.verbose = options_.verbose};
  schema_of<callbacks::ProgressBar>().check(&progress, {}, mistakes);
  mistakes.raise();
  reader_ = train->open();
  const std::int64_t rows = reader_->size();
  trained_rows_ = rows;
  validation_size_ = options_.validation_batch_size ? *options_.validation_batch_size : options_.batch_size;
  if (options_.validation_data) {
    validation_ = std::make_unique<Batches>(core_, (*options_.validation_data)->open(),
                                            BatchesOptions{.batch_size = validation_size_});
  } else if (options_.validation_split > 0) {
    trained_rows_ = training_rows(rows, options_.validation_split);
    if (trained_rows_ == 0 || trained_rows_ == rows)
      throw Error(cat("validation_split ", options_.validation_split, " of ", rows, " rows leaves ", trained_rows_,
                      " to train on and ", rows - trained_rows_, " to validate"));
    validation_ = std::make_unique<Batches>(
        core_, reader_, BatchesOptions{.batch_size = validation_size_, .first = trained_rows_, .last = rows});
  }
  if (trained_rows_ == 0) throw Error("the training data has no rows");
  if (validation_ && validation_->row_count() == 0) throw Error("the validation data has no rows");
  batches_ = std::make_unique<Batches>(core_, reader_,
                                       BatchesOptions{.batch_size = std::min(options_.batch_size, trained_rows_),
                                                      .shuffle = options_.shuffle,
                                                      .seed = options_.seed,
                                                      .first = 0,
                                                      .last = trained_rows_,
                                                      .class_weight = options_.class_weight});
  steps_ = options_.steps_per_epoch ? *options_.steps_per_epoch : batches_->count();
}

// Every plan of the run is made before the first step: what is wrong with shapes or memory is said now.
void Fitting::make_plans() {
  const std::int64_t batch = std::min(options_.batch_size, trained_rows_), tail = trained_rows_ % batch;
  for (const std::int64_t rows : {batch, tail}) {
    if (rows == 0) continue;
    if (options_.micro_batches > 1) StepRunner(core_).prepare_parts(batches_->types_of(rows), options_.micro_batches);
    else (void)core_.train_plan(batches_->types_of(rows));
  }
  if (validation_) {
    (void)core_.evaluate_plan(validation_->types_of(std::min(validation_size_, validation_->row_count())));
    if (const std::int64_t rest = validation_->row_count() % validation_size_;
        rest && validation_->row_count() > validation_size_)
      (void)core_.evaluate_plan(validation_->types_of(rest));
  }
  if (core_.store.has(names::seed)) {
    const double seed = static_cast<double>(options_.seed);
    core_.store.write(names::seed, Tensor::from_doubles({{}, DType::int64}, std::span<const double>(&seed, 1)));
  }
}

History Fitting::run(const Dataset& train) {
  open(train);
  make_plans();
  callbacks_ = options_.callbacks;
  if (options_.verbose != "none") callbacks_.push_back(callbacks::ProgressBar{.verbose = options_.verbose});
  for (auto& callback : callbacks_) every_step_ = every_step_ || callback->every_step();
  place_.epoch = place_.pass = options_.initial_epoch;
  if (!options_.directory.empty()) make_dirs(options_.directory);
  begin_checkpoints();
  for (auto& callback : callbacks_) callback->on_fit_begin(*this);
  while ((place_.stop.empty() || place_.begun) && place_.epoch < options_.epochs) run_epoch();
  finish();
  return history_;
}

void Fitting::run_epoch() {
  if (!place_.begun) {
    core_.reset_metrics();
    logged_.clear();
    stale_ = true;
    place_.step = 0;
    if (!options_.steps_per_epoch) {
      place_.pass = place_.epoch;
      place_.open = false;
    }
    place_.begun = true;
    for (auto& callback : callbacks_) callback->on_epoch_begin(*this);
  }
  if (!place_.steps_done) run_steps();
  place_.steps_done = true;
  // Data that ends with the epoch has not run out in the next one.
  if (place_.open && place_.in_pass == batches_->count()) {
    place_.open = false;
    ++place_.pass;
  }
  if (validation_ && validates()) validate();
  finish_epoch();
}

void Fitting::run_steps() {
  // With steps_per_epoch, passes over the data and epochs differ.
  if (place_.open) batches_->start(place_.pass, place_.in_pass);
  while (place_.step < steps_ && place_.stop.empty()) {
    if (!place_.open) {
      batches_->start(place_.pass, 0);
      place_.open = true;
      place_.in_pass = 0;
    }
    if (!batches_->next()) {
      place_.open = false;
      ++place_.pass;
      if (options_.steps_per_epoch && place_.in_pass) {
        warn(cat("the data ran out after ", place_.step, " of ", steps_, " steps of epoch ", place_.epoch + 1,
                 "; the epoch ends here"));
        return;
      }
      continue;
    }
    one_step();
    ++place_.in_pass;
    ++place_.step;
    ++place_.batches;
    if (every_step_)
      for (auto& callback : callbacks_) callback->on_step_end(*this);
    edge(false);
  }
}

void Fitting::one_step() {
  RunResult result;
  StepRunner runner(core_);
  if (place_.batches + 1 == replayed_) throw Replayed(blamed());
  try {
    if (options_.micro_batches > 1)
      result = runner.run_parts(batches_->types(), batches_->feeds(), options_.micro_batches, batches_->first_row());
    else result = runner.run(core_.train_plan(batches_->types()), batches_->feeds(), batches_->first_row());
  } catch (const NotFinite&) {
    fail_step();
  }
  if (result.status != Status::ok)
    throw RunFailed(
        cat("model '", model_.name(), "': a kernel failed in step ", place_.step + 1, " of epoch ", place_.epoch + 1));
  stale_ = true;
}

std::string Fitting::blamed() const {
  return cat("step ", place_.batches + 1, " (epoch ", place_.epoch + 1,
             "): ", blame(core_, batches_->types(), batches_->feeds(), batches_->first_row()));
}

void Fitting::fail_step() {
  std::string text = blamed();
  if (saver_) {
    (void)saver_->finish();
    const std::string newest = saver_->newest(), good = newest.empty() ? resumed_from_ : newest;
    if (!good.empty()) text += cat("\n  last good checkpoint: ", good);
    for (const auto& name : list_dir(options_.checkpoint.directory))
      if (name.starts_with("failed-") && name.ends_with(".h5")) remove_file(options_.checkpoint.directory + "/" + name);
    const std::string before = cat(options_.checkpoint.directory, "/failed-", place_.batches, ".h5");
    try {
      write_now(before);
      text += cat("\n  the state before that step: ", before);
    } catch (const RunFailed& error) {
      text += cat("\n  the state before that step could not be saved: ", error.what());
    }
  }
  throw RunFailed(text);
}

void Fitting::validate() {
  // A stop amid validation goes back to its beginning: it changes nothing but the metrics' sums.
  std::map<std::string, Tensor> sums;
  for (const auto& [path, _] : core_.store.variables())
    if (path.starts_with("metric/")) sums[path] = core_.store.read(path);
  for (auto& callback : callbacks_) callback->on_validation_begin(*this);
  const Figures trained = figures();
  core_.reset_metrics();
  validation_->start(0);
  for (std::int64_t done = 0; (!options_.validation_steps || done < *options_.validation_steps) && validation_->next();
       ++done) {
    if (signals_ && signals_->caught()) {
      for (const auto& [path, value] : sums) core_.store.write(path, value);
      stale_ = true;
      stop_for_signal();
    }
    if (core_.run(core_.evaluate_plan(validation_->types()), validation_->feeds(), validation_->first_row()).status !=
        Status::ok)
      throw RunFailed(cat("model '", model_.name(), "': a kernel failed while validating batch ", done));
  }
  const Figures measured = core_.figures("val_");
  figures_ = trained;
  figures_.insert(measured.begin(), measured.end());
  stale_ = false;
  for (auto& callback : callbacks_) callback->on_validation_end(*this);
}

void Fitting::finish_epoch() {
  for (auto& callback : callbacks_) callback->on_epoch_end(*this);
  history_.epoch.push_back(place_.epoch);
  for (auto& [name, value] : figures()) history_.figures[name].push_back(value);
  ++place_.epoch;
  place_.begun = place_.steps_done = false;
  edge(true);
}

void Fitting::finish() {
  if (saver_ && !saver_->finish())
    throw RunFailed(cat(options_.checkpoint.directory, ": the last checkpoint could not be written"));
  if (passing_)
    for (const auto& found : checkpoints_in(options_.checkpoint.directory)) remove_file(found.file);
  take_averages();
  for (auto& callback : callbacks_) callback->on_fit_end(*this);
  if (!place_.stop.empty()) note(place_.stop);
}

// With use_ema the running averages replace the weights when training ends.
void Fitting::take_averages() {
  if (!core_.binding.optimizer.common().use_ema || updates() == 0) return;
  for (auto& entry : model_.weights())
    if (const std::string path = cat("optimizer/", entry.path, "/average"); entry.trainable && core_.store.has(path))
      core_.store.write(entry.path, core_.store.read(path));
}

namespace {

void check_options(const FitOptions& options) {
  auto positive = [](const char* name, std::int64_t value) {
    if (value < 1) throw Error(cat("fit: ", name, " must be at least 1, got ", value));
  };
  positive("batch_size", options.batch_size);
  positive("validation_freq", options.validation_freq);
  positive("micro_batches", options.micro_batches);
  if (options.steps_per_epoch) positive("steps_per_epoch", *options.steps_per_epoch);
  if (options.validation_steps) positive("validation_steps", *options.validation_steps);
  if (options.validation_batch_size) positive("validation_batch_size", *options.validation_batch_size);
  if (options.epochs < 0) throw Error(cat("fit: epochs must be at least 0, got ", options.epochs));
  if (options.initial_epoch < 0) throw Error(cat("fit: initial_epoch must be at least 0, got ", options.initial_epoch));
  if (options.validation_split < 0 || options.validation_split >= 1)
    throw Error(cat("fit: validation_split must be at least 0 and below 1, got ", options.validation_split));
  const auto& checkpoint = options.checkpoint;
  if (checkpoint.directory.empty() && !checkpoint.every.empty()) throw Error("checkpoint: every needs a directory");
  for (const auto& every : checkpoint.every) (void)read_interval(every);
  if (checkpoint.keep < 1) throw Error(cat("checkpoint: keep must be at least 1, got ", checkpoint.keep));
  auto word = [](const char* name, const std::string& value, const std::vector<std::string>& words) {
    if (std::ranges::find(words, value) == words.end())
      throw Error(
          cat("checkpoint: ", name, " is ", listed(words, "or"), ", got '", value, "'", did_you_mean(value, words)));
  };
  word("mode", checkpoint.mode, {"auto", "min", "max"});
  word("on_signal", checkpoint.on_signal, {"save", "ignore"});
}

void check_fit(const Model& model, const FitOptions& options) {
  model.core().need_compiled("fit");
  check_options(options);
  if (options.micro_batches > 1 && model.core().binding.accumulation > 1)
    throw Error("fit: micro_batches and the optimizer's gradient_accumulation_steps exclude each other; take one");
}

}  // namespace

History fit_model(Model& model, const Dataset& train, const FitOptions& options, const RunLock* lock) {
  check_fit(model, options);
  return Fitting(model, options, lock).run(train);
}

std::string replay_step(Model& model, const Dataset& train, const FitOptions& options, const RunLock* lock,
                        std::int64_t step) {
  check_fit(model, options);
  Fitting fitting(model, options, lock);
  fitting.replay(step);
  try {
    (void)fitting.run(train);
  } catch (const Replayed& replayed) {
    return replayed.what();
  }
  throw Error(cat("the run ends before step ", step));
}

History Model::fit(const Dataset& train, const FitOptions& options) {
  return fit_model(*this, train, options, nullptr);
}

History Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options) {
  return fit(arrays_of({x}, {y}), options);
}

}  // namespace strata
