// SPDX-License-Identifier: Apache-2.0
#include "model/saver.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace strata {

namespace {

// Without `every`: a save may cost this share of the time since the last one.
constexpr double most_of_the_time = 0.03;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Interval read_interval(const std::string& text) {
  static const std::map<std::string, std::pair<Interval::Unit, double>> units{
      {"step", {Interval::Unit::steps, 1}},       {"steps", {Interval::Unit::steps, 1}},
      {"epoch", {Interval::Unit::epochs, 1}},     {"epochs", {Interval::Unit::epochs, 1}},
      {"s", {Interval::Unit::seconds, 1}},        {"second", {Interval::Unit::seconds, 1}},
      {"seconds", {Interval::Unit::seconds, 1}},  {"min", {Interval::Unit::seconds, 60}},
      {"minutes", {Interval::Unit::seconds, 60}}, {"minute", {Interval::Unit::seconds, 60}},
      {"h", {Interval::Unit::seconds, 3600}},     {"hour", {Interval::Unit::seconds, 3600}},
      {"hours", {Interval::Unit::seconds, 3600}}};
  const std::string shown = cat("checkpoint: every '", text, "'");
  const std::string cure = "; write 500 steps, 2 epochs or 10 min";
  const auto words = [&] {
    std::vector<std::string> kept;
    for (const auto& word : split(trim(text), ' '))
      if (!word.empty()) kept.push_back(word);
    return kept;
  }();
  if (words.empty() || words.size() > 2) throw Error(shown + " is no interval" + cure);
  const std::string unit = lower(words.back());
  double amount = 1;
  if (words.size() == 2) {
    const auto number = read_number(words[0]);
    if (!number) throw Error(cat(shown, ": '", words[0], "' is no number", cure));
    amount = *number;
  }
  const auto it = units.find(unit);
  if (it == units.end()) {
    std::vector<std::string> known;
    for (const auto& [word, _] : units) known.push_back(word);
    throw Error(cat(shown, ": '", words.back(), "' is no unit", did_you_mean(unit, known), cure));
  }
  const bool whole =
      it->second.first == Interval::Unit::seconds || amount == static_cast<double>(static_cast<std::int64_t>(amount));
  if (!(amount > 0) || amount > 1e15 || !whole)
    throw Error(cat(shown, ": the amount must be positive", whole ? "" : " and whole", cure));
  return {it->second.first, amount * it->second.second};
}

Saver::Saver(const CheckpointOptions& options, CheckpointLayout layout, std::uint64_t state_bytes)
    : options_(options), layout_(std::move(layout)) {
  for (const auto& text : options_.every) every_.push_back(read_interval(text));
  for (const auto& name : list_dir(options_.directory))
    if (name.find(".h5.tmp.") != std::string::npos) remove_file(options_.directory + "/" + name);
  const std::uint64_t wanted = state_bytes * static_cast<std::uint64_t>(options_.keep + 2);
  if (const std::uint64_t free = free_bytes(options_.directory); free != 0 && free < wanted)
    warn(cat(options_.directory, ": has ", bytes_text(free), " free; ", counted(options_.keep, "checkpoint"), " of ",
             bytes_text(state_bytes), ", the best one and the one being written may need ", bytes_text(wanted)));
  thread_ = std::thread([this] { work(); });
}

Saver::~Saver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string Saver::newest() {
  const std::lock_guard lock(mutex_);
  return newest_;
}

bool Saver::due(const Place& place, bool epoch_edge) {
  const std::lock_guard lock(mutex_);
  const double passed = seconds_since(last_time_);
  if (every_.empty())
    return !busy_ && epoch_edge && place.epoch > last_.epoch && passed * most_of_the_time >= last_cost_;
  for (const auto& interval : every_) switch (interval.unit) {
      case Interval::Unit::steps:
        if (static_cast<double>(place.batches - last_.batches) >= interval.amount) return true;
        break;
      case Interval::Unit::epochs:
        if (epoch_edge && static_cast<double>(place.epoch - last_.epoch) >= interval.amount) return true;
        break;
      case Interval::Unit::seconds:
        if (passed >= interval.amount) return true;
        break;
    }
  return false;
}

void Saver::went_on(const Place& place) {
  last_ = place;
  last_time_ = std::chrono::steady_clock::now();
}

void Saver::save(const Fill& fill, const Place& place, bool best, bool checkpoint) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
  if (!failure_.empty()) warn(std::exchange(failure_, ""));
  fill(snapshot_);
  want_best_ = best;
  want_checkpoint_ = checkpoint;
  busy_ = true;
  changed_.notify_all();
  if (checkpoint) {
    last_ = place;
    last_time_ = std::chrono::steady_clock::now();
  }
}

bool Saver::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
  if (!failure_.empty()) warn(std::exchange(failure_, ""));
  return !failed_;
}

void Saver::work() {
  // Signals are for the thread that trains; a file-size limit becomes an error of the write.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return busy_ || stopping_; });
    if (!busy_) return;
    const bool best = want_best_, checkpoint = want_checkpoint_;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    const std::string failure = write(best, checkpoint);
    lock.lock();
    last_cost_ = seconds_since(begin);
    failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

std::string Saver::write(bool best, bool checkpoint) {
  const std::string file = options_.directory + "/" + checkpoint_name(snapshot_.record.place.batches);
  const std::string best_file = options_.directory + "/best.h5";
  if (checkpoint) {
    std::string failure;
    try {
      write_checkpoint(file, layout_, snapshot_);
    } catch (const std::exception& error) {
      failure =
          cat("checkpoint not written: ", error.what(), "; older ones stand, and the next is tried when it is due");
    }
    const std::lock_guard lock(mutex_);
    failed_ = !failure.empty();
    if (failed_) return failure;
    newest_ = file;
  }
  try {
    if (best && checkpoint) link_file(file, best_file);
    else if (best) write_checkpoint(best_file, layout_, snapshot_);
    if (checkpoint) retire(file);
  } catch (const std::exception& error) {
    return cat(best ? "best.h5 not written, or older checkpoints not removed: " : "older checkpoints not removed: ",
               error.what());
  }
  return "";
}

// The newest stay. Only called when `kept` was just written whole.
void Saver::retire(const std::string& kept) const {
  const auto found = checkpoints_in(options_.directory);
  for (std::size_t i = static_cast<std::size_t>(options_.keep); i < found.size(); ++i)
    if (found[i].file != kept) remove_file(found[i].file);
}

}  // namespace strata
