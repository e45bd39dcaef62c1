// SPDX-License-Identifier: Apache-2.0
// The training as callbacks see it, and what is written down of it at a step's edge.
#include "model/fitting.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

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

// --- written down ----------------------------------------------------------------------------------------------

void Fitting::fill(Snapshot& snapshot) const {
  snapshot.record.place = place_;
  if (!place_.begun) snapshot.record.place.step = 0;  // of the next epoch; step() still tells the last one's
  snapshot.record.best = best_;
  snapshot.record.seed = options_.seed;
  snapshot.record.figures = figures();
  snapshot.record.logged = logged_;
  snapshot.record.signature = signature_;
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

void Fitting::write_now(const std::string& file) const {
  Snapshot snapshot;
  fill(snapshot);
  make_dirs(folder_of(file));
  write_checkpoint(file, checkpoint_layout(model_), snapshot);
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
        write_now(file);
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

}  // namespace strata
