// SPDX-License-Identifier: Apache-2.0
// The training as callbacks see it, and its checkpoints: when one is written, and how a run goes on from one.
#include "model/fitting.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace strata {

// --- as callbacks see it ----------------------------------------------------------------------------------------------

std::int64_t Fitting::updates() const {
  return core_.store.has(names::step) ? core_.store.read(names::step).as<std::int64_t>()[0] : 0;
}

const Figures& Fitting::figures() const {
  if (stale_) {
    figures_ = core_.figures();
    for (const auto& [name, value] : logged_) figures_[name] = value;
    stale_ = false;
  }
  return figures_;
}

void Fitting::log(const std::string& name, double value) {
  (void)figures();
  figures_[name] = logged_[name] = value;
}

Direction Fitting::direction(const std::string& figure) const {
  const std::string plain = figure.starts_with("val_") ? figure.substr(4) : figure;
  if (plain == "loss" || plain.ends_with("_loss")) return Direction::down;
  for (auto& bound : core_.binding.metrics)
    if (bound.name == plain) return bound.metric->direction();
  return Direction::unknown;
}

const Type& Fitting::one_number(const std::string& path, const char* done) const {
  const Type& type = core_.store.find(checked(path))->type;
  if (type.size() != 1) throw Error(cat("state '", path, "' is ", type, "; only single numbers can be ", done));
  return type;
}

double Fitting::value(const std::string& path) const {
  (void)one_number(path, "read");
  return core_.store.read(path).to_doubles()[0];
}

void Fitting::set(const std::string& path, double value) {
  const Type& type = one_number(path, "set");
  core_.store.write(path, Tensor::from_doubles(type, std::span<const double>(&value, 1)));
}

std::map<std::string, Tensor> Fitting::weights() const {
  std::map<std::string, Tensor> copies;
  for (auto& entry : model_.weights()) copies[entry.path] = core_.store.read(entry.path).clone();
  return copies;
}

void Fitting::restore(const std::map<std::string, Tensor>& weights) {
  for (auto& [path, value] : weights) core_.store.write(path, value);
}

void Fitting::save(const std::string& file, bool weights_only) { asked_.emplace_back(file, weights_only); }

const std::string& Fitting::checked(const std::string& path) const {
  if (path == "optimizer/learning_rate" && core_.binding.optimizer->learning_rate().scheduled())
    throw Error(cat("optimizer/learning_rate follows the schedule ",
                    core_.binding.optimizer->learning_rate().schedule().name(),
                    " and is no state that a callback reads or sets; give learning_rate a number"));
  if (core_.store.has(path)) return path;
  std::vector<std::string> known;
  for (auto& [name, _] : core_.store.variables()) known.push_back(name);
  throw Error(cat("there is no state '", path, "'", did_you_mean(path, known)));
}

// --- writing checkpoints ----------------------------------------------------------------------------------------------

void Fitting::fill(Snapshot& snapshot) const {
  snapshot.record.place = place_;
  if (!place_.begun) snapshot.record.place.step = 0;  // of the next epoch; step() still tells the last one's
  snapshot.record.best = best_;
  snapshot.record.seed = options_.seed;
  snapshot.record.figures = figures();
  snapshot.record.logged = logged_;
  snapshot.record.signature = signature();
  snapshot.record.rows = trained_rows_;
  snapshot.history = history_;
  snapshot.config = options_.checkpoint.config;
  Config::List kept;
  snapshot.callback_tensors.clear();
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    const Callback& callback = callbacks_[i];
    const Schema& schema = callback.schema();
    kept.push_back(
        Config(Config::Map{{"name", Config(callback.name())}, {"kept", schema.write_kept(callback.data())}}));
    for (const auto& field : schema.kept) {
      if (field.type != &field_type<std::map<std::string, Tensor>>()) continue;
      const void* at = static_cast<const char*>(callback.data()) + field.offset;
      for (const auto& [path, tensor] : *static_cast<const std::map<std::string, Tensor>*>(at))
        snapshot.callback_tensors[cat(i, "/", field.name, "/", path)] = tensor;
    }
  }
  snapshot.callbacks = Config(std::move(kept));
  core_.store.copy(snapshot.states);
}

// What gives equal bits: each replica's plans of all steps there are.
std::string Fitting::signature() const {
  std::string text;
  for (const auto* plans : {&core_.train_plans})
    for (const auto& [key, step] : *plans)
      for (const auto* compilation : {&step.micro, &step.update})
        for (const auto& plan : compilation->plans) text += cat(key, " ", plan.signature(), "\n");
  const auto& mesh = core_.runner->mesh();
  const DeviceModel device = backend(mesh.devices[0].backend).model(mesh.devices[0]);
  char digest[32];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(hash64(text)));
  return cat(device.backend, " ", device.isa, ", ", counted(device.threads, "thread"), ", ",
             counted(static_cast<std::int64_t>(mesh.devices.size()), "replica"), ", plans ", digest);
}

bool Fitting::is_best() {
  std::string figure = options_.checkpoint.best;
  if (figure == "none") return false;
  if (figure.empty()) figure = "val_loss";
  const auto it = figures().find(figure);
  if (it == figures().end()) return false;
  const Monitor monitor{figure, options_.checkpoint.mode, 0};
  if (best_.epoch >= 0 && best_.figure == figure && !monitor.better(*this, it->second, best_.value)) return false;
  if (std::isnan(it->second)) return false;
  best_ = {figure, it->second, place_.epoch - 1};
  return true;
}

void Fitting::edge(bool epoch_edge) {
  for (auto& [file, weights_only] : std::exchange(asked_, {})) {
    try {
      if (weights_only) {
        make_dirs(folder_of(file));
        model_.save_weights(file);
      } else {
        Snapshot snapshot;
        fill(snapshot);
        make_dirs(folder_of(file));
        write_checkpoint(file, checkpoint_layout(model_), snapshot);
      }
    } catch (const RunFailed& error) {
      warn(error.what());
    }
  }
  if (!saver_) return;
  const bool best = epoch_edge && is_best();
  const bool last = epoch_edge && (place_.epoch >= options_.epochs || !place_.stop.empty());
  const bool due = last || saver_->due(place_, epoch_edge);
  if (due || best) saver_->save([this](Snapshot& snapshot) { fill(snapshot); }, place_, best, due);
  if (signals_ && signals_->caught() && !last) stop_for_signal();
}

void Fitting::stop_for_signal() {
  const int signal = signals_->caught();
  const std::string name = strsignal(signal);
  const std::string file = options_.checkpoint.directory + "/" + checkpoint_name(place_.batches);
  (void)saver_->finish();
  if (saver_->newest() != file) saver_->save([this](Snapshot& snapshot) { fill(snapshot); }, place_, false, true);
  if (!saver_->finish()) throw RunFailed(cat("stopped by ", name, ", but the checkpoint could not be written"));
  throw Stopped(cat("stopped by ", name, " at step ", place_.step, " of epoch ", place_.epoch + 1, "; saved in ", file,
                    ": the same command goes on from there"),
                signal, file);
}

// --- going on ---------------------------------------------------------------------------------------------------------

void Fitting::begin_checkpoints() {
  const auto& options = options_.checkpoint;
  if (options.directory.empty()) {
    if (!options.every.empty()) throw Error("checkpoint: every needs a directory");
    return;
  }
  if (!options.best.empty() && options.best != "none") {
    std::vector<std::string> known{"loss"};
    for (const auto& bound : core_.binding.metrics) known.push_back(bound.name);
    if (core_.topology->output_names.size() > 1)
      for (const auto& name : core_.topology->output_names) known.push_back(name + "_loss");
    for (std::size_t i = 0, count = known.size(); validation_ && i < count; ++i) known.push_back("val_" + known[i]);
    if (std::ranges::find(known, options.best) == known.end())
      throw Error(cat("checkpoint: best names the figure '", options.best, "', which this run does not have; it has ",
                      listed(known), did_you_mean(options.best, known)));
  }
  make_dirs(options.directory);
  if (!held_ || options.directory != options_.directory) lock_ = std::make_unique<RunLock>(options.directory);
  if (options_.checkpoint.config.is_null()) options_.checkpoint.config = describe_run(model_, options_, *reader_);
  go_on();
  if (replayed_) return;
  saver_ = std::make_unique<Saver>(options, checkpoint_layout(model_), core_.store.bytes());
  saver_->went_on(place_);
  if (options.on_signal == "save") signals_ = std::make_unique<StopSignals>();
  else if (options.on_signal != "ignore")
    throw Error(cat("checkpoint: on_signal is 'save' or 'ignore', got '", options.on_signal, "'"));
}

void Fitting::go_on() {
  const auto& options = options_.checkpoint;
  std::string file;
  if (options.resume == "never") {
    if (replayed_) return;
    set_aside_checkpoints(options.directory, -1);
    return;
  }
  if (options.resume == "auto") {
    const auto newest = newest_whole(options.directory, replayed_ ? replayed_ - 1 : -1);
    if (!newest) return;
    file = newest->file;
  } else {
    file = options.resume;
    if (!exists(file)) throw Error(cat("checkpoint: resume names ", file, ", which does not exist"));
  }
  const Snapshot snapshot = read_checkpoint(file);
  const Changes changes = changes_between(snapshot.config, options.config, options.allow);
  if (!changes.refused.empty())
    throw Error(cat(file, ": was made by a run with other settings:\n  ", join(changes.refused, "\n  "),
                    "\n  --allow KEY takes a change, --fresh begins anew"));
  restore(snapshot, file);
  for (const auto& key : changes.allowed)
    if (key.ends_with("learning_rate") && core_.store.has("optimizer/learning_rate")) {
      const double rate = core_.binding.optimizer->learning_rate().value();
      core_.store.write("optimizer/learning_rate",
                        Tensor::from_doubles({{}, DType::float32}, std::span<const double>(&rate, 1)));
    }
  // What lies beyond that point belongs to another course of events.
  if (!replayed_) set_aside_checkpoints(options.directory, place_.batches);
  if (!changes.accepted.empty()) note(cat("changed since ", file, ":\n  ", join(changes.accepted, "\n  ")));
  const bool done = !place_.begun && (place_.epoch >= options_.epochs || !place_.stop.empty());
  if (options_.verbose != "none")
    note(done ? cat("finished already: ", place_.epoch, " of ", counted(options_.epochs, "epoch"), " in ", file)
              : cat("going on from ", file, ": epoch ", place_.epoch + 1, " of ", options_.epochs, ", ", place_.step,
                    " of ", counted(steps_, "step"), " done"));
}

void Fitting::restore(const Snapshot& snapshot, const std::string& file) {
  const auto& record = snapshot.record;
  if (record.rows != trained_rows_)
    throw Error(cat(file, ": was trained on ", record.rows, " rows, the data now has ", trained_rows_,
                    "; the order of an epoch would be another"));
  std::vector<std::string> problems;
  for (const auto& [path, variable] : core_.store.variables()) {
    const auto it = snapshot.states.find(path);
    if (it == snapshot.states.end()) problems.push_back(cat("missing   ", path, "  ", variable->type));
    else if (it->second.type() != variable->type)
      problems.push_back(cat("mismatch  ", path, "  the file has ", it->second.type(), ", the run ", variable->type));
  }
  for (const auto& [path, value] : snapshot.states)
    if (!core_.store.has(path) && path != names::window)
      problems.push_back(cat("not used  ", path, "  ", value.type()));
  if (!problems.empty())
    throw Error(cat(file, ": does not fit model '", model_.name(), "'\n  ", join(problems, "\n  ")));
  for (const auto& [path, value] : snapshot.states) {
    if (core_.store.has(path)) core_.store.write(path, value);
    else core_.store.add(path, value, false);
  }
  place_ = record.place;
  best_ = record.best;
  logged_ = record.logged;
  history_ = snapshot.history;
  stale_ = true;
  resumed_ = true;
  resumed_from_ = file;
  if (record.signature != signature())
    warn(cat(file, ": was made with other kernels (", record.signature, "; here ", signature(),
             "): the run goes on to about 1e-5, not to the bit"));
  // Callbacks are matched by name, the first with the first.
  const auto* list = snapshot.callbacks.list();
  std::vector<bool> used(list ? list->size() : 0, false);
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    Callback& callback = callbacks_[i];
    for (std::size_t k = 0; k < used.size(); ++k) {
      const Config* name = (*list)[k].find("name");
      const Config* kept = (*list)[k].find("kept");
      if (used[k] || !name || !kept || !name->text() || *name->text() != callback.name()) continue;
      used[k] = true;
      Mistakes mistakes;
      callback.schema().read_kept(callback.data(), *kept, mistakes);
      mistakes.raise();
      for (const auto& field : callback.schema().kept) {
        if (field.type != &field_type<std::map<std::string, Tensor>>()) continue;
        auto& tensors =
            *reinterpret_cast<std::map<std::string, Tensor>*>(static_cast<char*>(callback.data()) + field.offset);
        tensors.clear();
        const std::string prefix = cat(k, "/", field.name, "/");
        for (const auto& [path, tensor] : snapshot.callback_tensors)
          if (path.starts_with(prefix)) tensors[path.substr(prefix.size())] = tensor;
      }
      break;
    }
  }
}

}  // namespace strata
