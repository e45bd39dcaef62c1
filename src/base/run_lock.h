// SPDX-License-Identifier: Apache-2.0
// One trainer for a run's folder: whoever writes there holds its RunLock. A process that ends, however it ends, holds it
// no longer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/file_call.h"

namespace strata {

// flock on <directory>/lock, which holds the holder's name as text, is empty otherwise, and is never removed. Where the
// file system has no flock, <directory>/lock.pid stands for it: made by one process alone, removed at the end, taken over
// from a process of this machine that has ended. Both ways heed each other. The lock stays with the process that took it:
// a forked child does not give it back, but keeps a flock alive as long as it lives without exec.
class RunLock {
 public:
  // Makes the folder. Error within a second, with the holder's name, when another process or another RunLock of this one
  // holds it; RunFailed when its file cannot be written.
  explicit RunLock(const std::string& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Whether lock.pid stands for the lock. A holder on another host that dies then leaves it behind, for a person to delete.
  bool advisory_only() const { return advisory_only_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Claim;

  bool take_flock(Time deadline);  // false where there is none
  void take_file(Time deadline);
  bool take_over(const Claim& first, Time deadline);
  bool create(const std::string& path) const;
  [[noreturn]] void refuse(const Claim& claim, const std::string& file_to_delete = "") const;
  static Claim claim_at(const std::string& path, Time deadline);

  std::string directory_;
  std::string path_;      // .../lock
  std::string pid_path_;  // .../lock.pid
  std::string text_;      // what names us
  pid_t owner_;
  Descriptor file_;
  bool advisory_only_ = false;
};

}  // namespace strata
