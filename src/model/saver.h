// SPDX-License-Identifier: Apache-2.0
// When checkpoints are due, and their writing beside the training: the state is copied at a step edge, a thread writes the
// copy. What cannot be written is said, the older files stay, and the next due one is tried.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "model/checkpoint.h"

namespace strata {

// "500 steps", "2 epochs", "10 min".
struct Interval {
  enum class Unit { steps, epochs, seconds };
  Unit unit = Unit::epochs;
  double amount = 1;
};
Interval read_interval(const std::string& text);  // Error: what is wrong with it, and what it may be

class Saver {
 public:
  // Removes what broken-off saves left behind and warns when the disk has no room. Error: what is wrong with the options.
  Saver(const CheckpointOptions& options, CheckpointLayout layout, std::uint64_t state_bytes);
  ~Saver();  // waits for the file that is being written
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  bool due(const Place& place, bool epoch_edge);
  // Where a resumed run stands: intervals count from there.
  void went_on(const Place& place);

  using Fill = std::function<void(Snapshot&)>;
  // Copies the state through `fill` and writes it; `best`: the best epoch's file as well (or alone).
  void save(const Fill& fill, const Place& place, bool best, bool checkpoint);
  // Waits until nothing is being written. False when the last checkpoint that was due was not.
  bool finish();
  std::string newest();  // the last checkpoint written here; "" for none

 private:
  void work();
  std::string write(bool best, bool checkpoint);  // what could not be done, or ""
  void retire(const std::string& kept) const;

  CheckpointOptions options_;
  std::vector<Interval> every_;
  CheckpointLayout layout_;
  Snapshot snapshot_;  // the copy; the thread's while busy_
  Place last_;
  std::chrono::steady_clock::time_point last_time_ = std::chrono::steady_clock::now();
  double last_cost_ = 0;  // of a whole save, in seconds
  std::string newest_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false, stopping_ = false, failed_ = false;
  bool want_best_ = false, want_checkpoint_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace strata
