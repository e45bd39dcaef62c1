// SPDX-License-Identifier: Apache-2.0
// fit(): epochs of steps, validation, callbacks.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "model/batches.h"
#include "strata/callbacks/progress.h"

namespace strata {

namespace {

// The training under way, as callbacks see it and as the loop drives it.
class Fitting final : public Training {
 public:
  Fitting(Model& model, Model::Core& core, const FitOptions& options) : model_(model), core_(core), options_(options) {}

  std::int64_t epoch() const override { return epoch_; }
  std::int64_t epochs() const override { return options_.epochs; }
  std::int64_t step() const override { return step_; }
  std::int64_t steps() const override { return steps_; }
  std::int64_t updates() const override {
    return core_.store.has(names::step) ? core_.store.read(names::step).as<std::int64_t>()[0] : 0;
  }
  const Figures& figures() const override {
    if (stale_) {
      figures_ = core_.figures();
      for (auto& [name, value] : logged_) figures_[name] = value;
      stale_ = false;
    }
    return figures_;
  }
  void log(const std::string& name, double value) override {
    (void)figures();
    figures_[name] = logged_[name] = value;
  }
  Direction direction(const std::string& figure) const override {
    const std::string plain = figure.starts_with("val_") ? figure.substr(4) : figure;
    if (plain == "loss" || plain.ends_with("_loss")) return Direction::down;
    for (auto& bound : core_.binding.metrics)
      if (bound.name == plain) return bound.metric->direction();
    return Direction::unknown;
  }
  void stop(const std::string& reason) override { stop_ = reason.empty() ? "stopped" : reason; }
  double value(const std::string& path) const override {
    one_number(path, "read");
    return core_.store.read(path).to_doubles()[0];
  }
  void set(const std::string& path, double value) override {
    const Type& type = one_number(path, "set");
    core_.store.write(path, Tensor::from_doubles(type, std::span<const double>(&value, 1)));
  }
  std::map<std::string, Tensor> weights() const override {
    std::map<std::string, Tensor> copies;
    for (auto& entry : model_.weights()) copies[entry.path] = core_.store.read(entry.path).clone();
    return copies;
  }
  void restore(const std::map<std::string, Tensor>& weights) override {
    for (auto& [path, value] : weights) core_.store.write(path, value);
  }
  const std::string& directory() const override { return options_.directory; }
  const History& history() const override { return history_; }

  History run(const Dataset& train);

 private:
  const Type& one_number(const std::string& path, const char* done) const {
    const Type& type = core_.store.find(checked(path))->type;
    if (type.size() != 1) throw Error(cat("state '", path, "' is ", type, "; only single numbers can be ", done));
    return type;
  }
  const std::string& checked(const std::string& path) const {
    if (path == "optimizer/learning_rate" && core_.binding.optimizer->learning_rate().scheduled())
      throw Error(cat("optimizer/learning_rate follows the schedule ",
                      core_.binding.optimizer->learning_rate().schedule().name(),
                      " and is no state that a callback reads or sets; give learning_rate a number"));
    if (core_.store.has(path)) return path;
    std::vector<std::string> known;
    for (auto& [name, _] : core_.store.variables()) known.push_back(name);
    const std::string near = closest(path, known);
    throw Error(cat("there is no state '", path, "'", near.empty() ? "" : cat("; did you mean '", near, "'?")));
  }
  void one_step(Batches& batches);
  void validate(Batches& validation);
  void take_averages();
  bool validates() const { return (epoch_ + 1) % std::max<std::int64_t>(1, options_.validation_freq) == 0; }

  Model& model_;
  Model::Core& core_;
  const FitOptions& options_;
  std::int64_t epoch_ = 0, step_ = 0, steps_ = 0;
  mutable Figures figures_;
  Figures logged_;  // by callbacks, in this epoch
  mutable bool stale_ = true;
  std::string stop_;
  History history_;
  std::vector<Callback> callbacks_;
  bool every_step_ = false;
};

void Fitting::one_step(Batches& batches) {
  RunResult result;
  StepRunner runner(core_);
  if (options_.micro_batches > 1)
    result = runner.run_parts(batches.types(), batches.feeds(), options_.micro_batches, batches.first_row());
  else result = runner.run(core_.train_plan(batches.types()), batches.feeds(), batches.first_row());
  if (result.status != Status::ok)
    throw RunFailed(cat("model '", model_.name(), "': a kernel failed in step ", step_ + 1, " of epoch ", epoch_ + 1));
  stale_ = true;
}

// With use_ema the running averages replace the weights when training ends.
void Fitting::take_averages() {
  if (!core_.binding.optimizer.common().use_ema || updates() == 0) return;
  for (auto& entry : model_.weights())
    if (const std::string path = cat("optimizer/", entry.path, "/average"); entry.trainable && core_.store.has(path))
      core_.store.write(entry.path, core_.store.read(path));
}

void Fitting::validate(Batches& validation) {
  for (auto& callback : callbacks_) callback->on_validation_begin(*this);
  const Figures trained = figures();
  core_.reset_metrics();
  validation.start(0);
  for (std::int64_t done = 0; (!options_.validation_steps || done < *options_.validation_steps) && validation.next();
       ++done)
    if (core_.run(core_.evaluate_plan(validation.types()), validation.feeds(), validation.first_row()).status !=
        Status::ok)
      throw RunFailed(cat("model '", model_.name(), "': a kernel failed while validating batch ", done));
  const Figures measured = core_.figures("val_");
  figures_ = trained;
  figures_.insert(measured.begin(), measured.end());
  stale_ = false;
  for (auto& callback : callbacks_) callback->on_validation_end(*this);
}

History Fitting::run(const Dataset& train) {
  Mistakes mistakes;
  train.schema().check(train.data(), {}, mistakes);
  for (auto& callback : options_.callbacks) callback.schema().check(callback.data(), {}, mistakes);
  const callbacks::ProgressBar progress{.verbose = options_.verbose};
  schema_of<callbacks::ProgressBar>().check(&progress, {}, mistakes);
  mistakes.raise();
  auto reader = train->open();
  const std::int64_t rows = reader->size();
  std::int64_t trained_rows = rows;
  std::unique_ptr<Batches> validation;
  const std::int64_t validation_size =
      options_.validation_batch_size ? *options_.validation_batch_size : options_.batch_size;
  if (options_.validation_data)
    validation = std::make_unique<Batches>(core_, (*options_.validation_data)->open(),
                                           BatchesOptions{.batch_size = validation_size});
  else if (options_.validation_split > 0) {
    trained_rows = training_rows(rows, options_.validation_split);
    if (trained_rows == 0 || trained_rows == rows)
      throw Error(cat("validation_split ", options_.validation_split, " of ", rows, " rows leaves ", trained_rows,
                      " to train on and ", rows - trained_rows, " to validate"));
    validation = std::make_unique<Batches>(
        core_, reader, BatchesOptions{.batch_size = validation_size, .first = trained_rows, .last = rows});
  }
  if (trained_rows == 0) throw Error("the training data has no rows");
  if (validation && validation->row_count() == 0) throw Error("the validation data has no rows");
  Batches batches(core_, reader,
                  {.batch_size = std::min(options_.batch_size, trained_rows),
                   .shuffle = options_.shuffle,
                   .seed = options_.seed,
                   .first = 0,
                   .last = trained_rows,
                   .class_weight = options_.class_weight});
  steps_ = options_.steps_per_epoch ? *options_.steps_per_epoch : batches.count();
  // Every plan of the run is made before the first step: what is wrong with shapes or memory is said now.
  const std::int64_t batch = std::min(options_.batch_size, trained_rows), tail = trained_rows % batch;
  for (const std::int64_t size : {batch, tail}) {
    if (size == 0) continue;
    if (options_.micro_batches > 1) StepRunner(core_).prepare_parts(batches.types_of(size), options_.micro_batches);
    else (void)core_.train_plan(batches.types_of(size));
  }
  if (validation) {
    (void)core_.evaluate_plan(validation->types_of(std::min(validation_size, validation->row_count())));
    if (const std::int64_t rest = validation->row_count() % validation_size;
        rest && validation->row_count() > validation_size)
      (void)core_.evaluate_plan(validation->types_of(rest));
  }
  if (core_.store.has(names::seed)) {
    const double seed = static_cast<double>(options_.seed);
    core_.store.write(names::seed, Tensor::from_doubles({{}, DType::int64}, std::span<const double>(&seed, 1)));
  }
  callbacks_ = options_.callbacks;
  if (options_.verbose != "none") callbacks_.push_back(progress);
  for (auto& callback : callbacks_) every_step_ = every_step_ || callback->every_step();
  if (!options_.directory.empty()) std::filesystem::create_directories(options_.directory);
  epoch_ = options_.initial_epoch;  // a callback tells by it whether a run begins or goes on
  for (auto& callback : callbacks_) callback->on_fit_begin(*this);
  std::int64_t pass = options_.initial_epoch,
               in_pass = 0;  // with steps_per_epoch, passes over the data and epochs differ
  bool open = false;
  for (epoch_ = options_.initial_epoch; epoch_ < options_.epochs && stop_.empty(); ++epoch_) {
    core_.reset_metrics();
    logged_.clear();
    stale_ = true;
    step_ = 0;
    for (auto& callback : callbacks_) callback->on_epoch_begin(*this);
    if (!options_.steps_per_epoch) {
      pass = epoch_;
      open = false;
    }
    bool ran_out = false;
    while (step_ < steps_ && stop_.empty()) {
      if (!open) {
        batches.start(pass, 0);
        open = true;
        in_pass = 0;
      }
      if (!batches.next()) {
        open = false;
        ++pass;
        if (options_.steps_per_epoch && in_pass) {
          warn(cat("the data ran out after ", step_, " of ", steps_, " steps of epoch ", epoch_ + 1,
                   "; the epoch ends here"));
          ran_out = true;
        }
        if (ran_out) break;
        continue;
      }
      ++in_pass;
      one_step(batches);
      ++step_;
      if (every_step_)
        for (auto& callback : callbacks_) callback->on_step_end(*this);
    }
    // Data that ends with the epoch has not run out in the next one.
    if (open && in_pass == batches.count()) {
      open = false;
      ++pass;
    }
    if (validation && validates()) validate(*validation);
    for (auto& callback : callbacks_) callback->on_epoch_end(*this);
    history_.epoch.push_back(epoch_);
    for (auto& [name, value] : figures()) history_.figures[name].push_back(value);
    const double loss = figures().count("loss") ? figures().at("loss") : 0;
    if (!std::isfinite(loss))
      throw RunFailed(cat("loss is ", loss, " after epoch ", epoch_ + 1,
                          "; a smaller learning_rate, or clipnorm, usually cures this"));
  }
  take_averages();
  for (auto& callback : callbacks_) callback->on_fit_end(*this);
  if (!stop_.empty()) note(stop_);
  return history_;
}

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
}

}  // namespace

History Model::fit(const Dataset& train, const FitOptions& options) {
  core_->need_compiled("fit");
  check_options(options);
  if (options.micro_batches > 1 && core_->binding.accumulation > 1)
    throw Error("fit: micro_batches and the optimizer's gradient_accumulation_steps exclude each other; take one");
  return Fitting(*this, *core_, options).run(train);
}

History Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options) {
  return fit(arrays_of({x}, {y}), options);
}

}  // namespace strata
