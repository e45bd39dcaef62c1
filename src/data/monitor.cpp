// SPDX-License-Identifier: Apache-2.0
// Figures looked up in a history, followed over epochs, and the callbacks that act when one gets no better.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.h"
#include "base/text.h"
#include "strata/callbacks/early_stopping.h"
#include "strata/callbacks/reduce_lr_on_plateau.h"

namespace strata {

const std::vector<double>& History::operator[](const std::string& name) const {
  if (const auto it = figures.find(name); it != figures.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [figure, _] : figures) known.push_back(figure);
  if (known.empty()) throw Error(cat("the history has no figure '", name, "': no epoch was trained"));
  throw Error(cat("the history has no figure '", name, "'; it has ", listed(known), did_you_mean(name, known)));
}

namespace {

bool wants_more(const Monitor& monitor, const Training& training) {
  if (monitor.mode != "auto") return monitor.mode == "max";
  switch (training.direction(monitor.figure)) {
    case Direction::up: return true;
    case Direction::down: return false;
    default:
      throw Error(
          cat("whether more or less of '", monitor.figure, "' is better cannot be known; set mode to min or max"));
  }
}

}  // namespace

bool Monitor::better(const Training& training, double value, double best) const {
  if (std::isnan(value)) return false;
  return wants_more(*this, training) ? value > best + min_delta : value < best - min_delta;
}

double Monitor::worst(const Training& training) const {
  const double infinite = std::numeric_limits<double>::infinity();
  return wants_more(*this, training) ? -infinite : infinite;
}

Optional<double> Monitor::read(const Training& training) const {
  const Figures& figures = training.figures();
  if (const auto it = figures.find(figure); it != figures.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [name, _] : figures) known.push_back(name);
  warn(cat("there is no figure '", figure, "' to monitor in epoch ", training.epoch() + 1, "; there are ",
           listed(known), did_you_mean(figure, known)));
  return {};
}

namespace callbacks {

void EarlyStopping::on_fit_begin(Training& t) {
  if (t.resumed()) return;
  best = 0;
  best_epoch = -1;
  wait = 0;
  best_weights.clear();
}

void EarlyStopping::on_epoch_end(Training& t) {
  const Monitor watched{monitor, mode, min_delta};
  const auto value = watched.read(t);
  if (!value || t.epoch() < start_from_epoch) return;
  const bool first = best_epoch < 0;
  if (first) best = watched.worst(t);
  if (first && restore_best_weights && best_weights.empty()) best_weights = t.weights();
  ++wait;
  // The first is the best so far, though it be infinite. A NaN never is: nothing would be better than it.
  if (!std::isnan(*value) && (first || watched.better(t, *value, best))) {
    best = *value;
    best_epoch = t.epoch();
    if (restore_best_weights) best_weights = t.weights();
    if (!baseline || watched.better(t, *value, *baseline)) wait = 0;
    return;
  }
  if (wait < patience || t.epoch() == 0) return;
  const std::string since = best_epoch < 0 ? std::string("was never a number")
                                           : cat("has not got better since epoch ", best_epoch + 1, " (", best, ")");
  t.stop(cat("EarlyStopping: ", monitor, " ", since, "; stopped after epoch ", t.epoch() + 1));
}

void EarlyStopping::on_fit_end(Training& t) {
  if (restore_best_weights && !best_weights.empty()) t.restore(best_weights);
}

namespace {

constexpr const char* rate_path = "optimizer/learning_rate";

}  // namespace

void ReduceLROnPlateau::on_fit_begin(Training& t) {
  (void)t.value(rate_path);  // a schedule refuses this now rather than after the first epoch
  if (t.resumed()) return;
  begun = false;
  wait = cooling = 0;
}

void ReduceLROnPlateau::on_epoch_end(Training& t) {
  const double rate = t.value(rate_path);
  t.log("learning_rate", rate);
  const Monitor watched{monitor, mode, min_delta};
  const auto value = watched.read(t);
  if (!value) return;
  if (cooling > 0) {
    --cooling;
    wait = 0;
  }
  if (!begun) best = watched.worst(t);
  if (!std::isnan(*value) && (!begun || watched.better(t, *value, best))) {
    best = *value;
    begun = true;
    wait = 0;
  } else if (cooling == 0 && ++wait >= patience && rate > min_lr) {
    t.set(rate_path, std::max(rate * factor, min_lr));
    cooling = cooldown;
    wait = 0;
  }
}

}  // namespace callbacks

}  // namespace strata
