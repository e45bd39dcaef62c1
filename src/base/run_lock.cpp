// SPDX-License-Identifier: Apache-2.0
#include "base/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/lock_holder.h"
#include "base/log.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::milliseconds(500);  // for a holder that has not yet written its name
constexpr auto nap = std::chrono::milliseconds(5);

int open_lock(const std::string& directory, const std::string& path) {
  make_dirs(directory);
  const int file = changing("open", path, [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (file < 0) unwritable(path, "cannot be opened for writing", errno);
  return file;
}

bool has_no_flock(int error) { return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL; }

void write_text(int file, const std::string& path, std::string_view text) {
  write_all(file, path, 0, std::as_bytes(std::span(text)));
}

std::string who(const LockHolder& holder) {
  return cat("process ", holder.pid, " on host ", holder.host, " since ", holder.since);
}

// Where the taker of a lock whose holder, named by that text, has ended makes its claim.
std::string next_path(const std::string& pid_path, std::string_view text) {
  return cat(pid_path, ".after.", hash64(text));
}

}  // namespace

struct RunLock::Claim {
  bool there = false;
  std::string text;
  std::optional<LockHolder> holder;  // nothing when the text does not say
  bool gone() const { return holder && holder->gone(); }
};

// Waits for a text that is whole: a claim is made first and filled after.
RunLock::Claim RunLock::claim_at(const std::string& path, Time deadline) {
  for (;;) {
    Claim claim;
    claim.there = exists(path);
    try {
      claim.text = read_file(path, 4096);
    } catch (const Error&) {  // gone meanwhile, or not for us to read
    }
    claim.holder = lock_holder(claim.text);
    if (!claim.there || claim.holder || Clock::now() >= deadline) return claim;
    std::this_thread::sleep_for(nap);
  }
}

void RunLock::refuse(const Claim& claim, const std::string& file_to_delete) const {
  std::string message =
      cat(directory_, ": is in use by ", claim.holder ? who(*claim.holder) : "a process that has not said which it is",
          "; only one trainer may write there");
  const bool can_tell = claim.holder && claim.holder->machine == this_process().machine;
  if (!file_to_delete.empty() && !can_tell) {
    message += cat("; when that process is gone, delete ", file_to_delete);
  }
  throw Error(message);
}

RunLock::RunLock(const std::string& directory)
    : directory_(directory.empty() ? "." : directory),
      path_(cat(directory_, "/lock")),
      pid_path_(cat(path_, ".pid")),
      text_(lock_text(this_process())),
      owner_(::getpid()),
      file_(open_lock(directory_, path_)) {
  const Time deadline = Clock::now() + patience;
  if (!take_flock(deadline)) take_file(deadline);
}

RunLock::~RunLock() {
  if (::getpid() != owner_) return;
  if (!advisory_only_) {
    [[maybe_unused]] const int ignored = ::ftruncate(file_.number(), 0);  // an empty lock was given back
  } else if (claim_at(pid_path_, Clock::now()).text == text_) {
    ::unlink(pid_path_.c_str());
  }
}

bool RunLock::take_flock(Time deadline) {
  while (changing("flock", path_, [&] { return ::flock(file_.number(), LOCK_EX | LOCK_NB); }) != 0) {
    if (has_no_flock(errno)) {
      note(cat(directory_, ": its file system has no flock (", std::generic_category().message(errno), "); ", pid_path_,
               " stands for it"));
      return false;
    }
    if (errno != EWOULDBLOCK) unwritable(path_, "cannot be locked", errno);
    const Claim claim = claim_at(path_, Clock::now());
    const bool late = Clock::now() >= deadline;
    if (late && claim.gone()) refuse({});  // what it left behind, a child of its own perhaps
    if (late || (claim.holder && !claim.gone())) refuse(claim);
    std::this_thread::sleep_for(nap);
  }
  const Claim left = claim_at(path_, Clock::now());
  const auto clear = [&] { return changing("write", path_, [&] { return ::ftruncate(file_.number(), 0); }); };
  if (clear() != 0) unwritable(path_, "cannot be emptied", errno);
  write_text(file_.number(), path_, text_);

  // A process that had no flock looks here after it made its file, as we look there after we wrote our name: one of the
  // two sees the other.
  const Claim other = claim_at(pid_path_, deadline);
  if (other.there && !other.gone()) {
    clear();
    refuse(other, pid_path_);
  }
  if (left.holder)
    note(cat(directory_, ": taken over from ", who(*left.holder), ", which ended without giving it back"));
  return true;
}

void RunLock::take_file(Time deadline) {
  while (!create(pid_path_)) {
    const Claim first = claim_at(pid_path_, deadline);
    if (first.there && take_over(first, deadline)) break;
    if (Clock::now() >= deadline) refuse(first, pid_path_);
  }
  advisory_only_ = true;
  const Claim other = claim_at(path_, Clock::now());  // of one that has flock
  if (other.holder && !other.gone()) {
    ::unlink(pid_path_.c_str());
    refuse(other, path_);
  }
}

// False when the file is there. Its text is not there at once with it.
bool RunLock::create(const std::string& path) const {
  const Descriptor file(
      changing("open", path, [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
  if (file.number() < 0 && errno == EEXIST) return false;
  if (file.number() < 0) unwritable(path, "cannot be made", errno);
  try {
    write_text(file.number(), path, text_);
  } catch (const Error&) {
    ::unlink(path.c_str());
    throw;
  }
  return true;
}

// Of several takers one may win, and none may move a file away that another has just made. So the lock passes on by
// claims: for each holder's text there is one name, which one taker alone makes. Its claim counts while lock.pid still
// says what it said when the taker read it (a holder that has ended never comes back), and then replaces lock.pid. A
// taker that ended half way is a holder that has ended, with a name for the claim after it. False: look again.
bool RunLock::take_over(const Claim& first, Time deadline) {
  const auto has_moved_on = [&] { return claim_at(pid_path_, Clock::now()).text != first.text; };
  std::vector<std::string> passed;
  std::string place = pid_path_;
  for (Claim last = first;;) {
    if (!last.gone()) {
      if (has_moved_on()) return false;
      refuse(last, place);
    }
    place = next_path(pid_path_, last.text);
    if (create(place)) break;
    last = claim_at(place, deadline);
    if (!last.there) return false;
    passed.push_back(place);
  }
  if (has_moved_on()) {
    ::unlink(place.c_str());
    return false;
  }
  if (changing("rename", pid_path_, [&] { return ::rename(place.c_str(), pid_path_.c_str()); }) != 0) {
    const int error = errno;
    ::unlink(place.c_str());
    unwritable(pid_path_, cat("cannot be moved there from ", place), error);
  }
  for (const std::string& name : passed) ::unlink(name.c_str());
  note(cat(directory_, ": taken over from ", who(*first.holder), ", which ended without giving it back"));
  return true;
}

}  // namespace strata
