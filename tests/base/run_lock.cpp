// SPDX-License-Identifier: Apache-2.0
#include "base/run_lock.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include "base/file.h"
#include "base/lock_holder.h"
#include "base/text.h"
#include "strata/error.h"
#include "support/message.h"
#include "support/temporary.h"

namespace strata {
namespace {

using test::message_of;
using test::TemporaryFolder;
using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

// While it lives the file system has no flock; asks then of every call.
struct NoFlock {
  explicit NoFlock(int error = ENOLCK, FileFault then = {}) {
    set_file_fault([error, then](std::string_view call, const std::string& path) {
      if (call == "flock") return error;
      return then ? then(call, path) : 0;
    });
  }
  ~NoFlock() { set_file_fault({}); }
};

// A process that takes the lock, says whether it has it, and holds it until it is told to end or is killed.
class Trainer {
 public:
  explicit Trainer(const std::string& directory, const std::atomic<int>* start = nullptr) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    std::fflush(stdout);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (start && start->load() == 0) ::sched_yield();
      {
        std::unique_ptr<RunLock> lock;
        char result = 'L';
        try {
          lock = std::make_unique<RunLock>(directory);
          result = 'W';
        } catch (const RunFailed&) {
          result = 'F';
        } catch (const Error&) {
        }
        char letter = 0;
        if (::write(ends[1], &result, 1) != 1 || ::read(ends[1], &letter, 1) != 1) ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Trainer() { end(); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  bool won() {
    char letter = result_;
    if (!letter && ::read(socket_, &letter, 1) == 1) result_ = letter;
    REQUIRE((result_ == 'W' || result_ == 'L'));
    return result_ == 'W';
  }
  pid_t pid() const { return pid_; }
  void kill() {  // and leaves it unburied, as a shell may for a while
    ::kill(pid_, SIGKILL);
    siginfo_t information;
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &information, WEXITED | WNOWAIT) == 0);
  }
  void end() {
    if (pid_ == 0) return;
    ::send(socket_, "x", 1, MSG_NOSIGNAL);
    ::close(socket_);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
  int socket_ = -1;
  char result_ = 0;
};

// A number that parent and children see.
struct Shared {
  Shared() {
    void* memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    number = new (memory) std::atomic<int>(0);
  }
  ~Shared() { ::munmap(number, sizeof *number); }
  std::atomic<int>* number;
};

// What is said on stderr while it lives, which then is not on the terminal.
class Said {
 public:
  Said() : before_(::dup(STDERR_FILENO)) {
    const int file = ::open((folder_ / "err").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~Said() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  std::string text() const { return read_file(folder_ / "err"); }

 private:
  TemporaryFolder folder_;
  int before_;
};

// What a holder of lock.pid that was killed leaves there.
std::string leave_dead(const std::string& directory) {
  Trainer dead(directory);
  REQUIRE(dead.won());
  dead.kill();
  return read_file(directory + "/lock.pid");
}

int winners(const std::string& directory, int count) {
  Shared start;
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (int i = 0; i < count; ++i) trainers.push_back(std::make_unique<Trainer>(directory, start.number));
  *start.number = 1;
  int won = 0;
  for (const auto& trainer : trainers) won += trainer->won() ? 1 : 0;
  return won;
}

std::string in_use(const std::string& directory, const LockHolder& holder) {
  return cat(directory, ": is in use by process ", holder.pid, " on host ", holder.host, " since ", holder.since,
             "; only one trainer may write there");
}

TEST_CASE("a lock names its holder, and is given back empty") {
  const TemporaryFolder folder;
  const std::string run = folder / "runs/x";
  {
    const RunLock lock(run);
    CHECK_FALSE(lock.advisory_only());
    const auto holder = lock_holder(read_file(run + "/lock"));
    REQUIRE(holder);
    CHECK(holder->pid == ::getpid());
    CHECK(holder->since.size() == std::string_view("2026-12-01T05:01:25Z").size());
    CHECK(holder->since.ends_with('Z'));
    CHECK_FALSE(holder->gone());
    CHECK(message_of([&] { RunLock second(run); }) == in_use(run, *holder));
    CHECK(lock_text(*holder) == read_file(run + "/lock"));  // the second left it alone
  }
  CHECK(list_dir(run) == Words{"lock"});
  CHECK(read_file(run + "/lock").empty());
  CHECK_NOTHROW(RunLock{run});
}

TEST_CASE("a second trainer is refused within a second, with the first one's name") {
  const TemporaryFolder folder;
  Trainer first(folder.path());
  REQUIRE(first.won());
  const auto begin = Clock::now();
  const std::string message = message_of([&] { RunLock lock(folder.path()); });
  CHECK(Clock::now() - begin < std::chrono::seconds(1));
  CHECK(message.starts_with(cat(folder.path(), ": is in use by process ", first.pid(), " on host ")));
  CHECK(message.ends_with("Z; only one trainer may write there"));
  first.end();
  CHECK_NOTHROW(RunLock(folder.path()));
}

TEST_CASE("a holder that does not say its name, or says a dead one's, is refused within a second too") {
  const TemporaryFolder folder;
  for (const bool named : {false, true}) {
    LockHolder dead = this_process();
    dead.started = "1";
    write_file(folder / "lock", named ? lock_text(dead) : "");
    const int other = ::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::flock(other, LOCK_EX) == 0);
    const auto begin = Clock::now();
    CHECK(message_of([&] { RunLock lock(folder.path()); }) ==
          folder.path() + ": is in use by a process that has not said which it is; only one trainer may write there");
    CHECK(Clock::now() - begin < std::chrono::seconds(1));
    ::close(other);
  }
}

TEST_CASE("a killed holder's lock is free at once, and whose it was is said") {
  const Said quiet;
  const TemporaryFolder folder;
  for (const bool has_flock : {true, false}) {
    CAPTURE(has_flock);
    std::optional<NoFlock> fault;
    if (!has_flock) fault.emplace();
    for (int i = 0; i < 5; ++i) {
      Trainer holder(folder.path());
      REQUIRE(holder.won());
      const auto named = lock_holder(read_file(folder / (has_flock ? "lock" : "lock.pid")));
      REQUIRE(named);
      CHECK_THROWS_AS(RunLock(folder.path()), Error);
      holder.kill();
      const Said said;
      const auto begin = Clock::now();
      const RunLock lock(folder.path());
      CHECK(Clock::now() - begin < std::chrono::milliseconds(400));
      CHECK(lock.advisory_only() == !has_flock);
      const std::string no_flock = cat(folder.path(), ": its file system has no flock (No locks available); ",
                                       folder / "lock.pid", " stands for it\n");
      CHECK(said.text() == cat(has_flock ? "" : no_flock, folder.path(), ": taken over from process ", named->pid,
                               " on host ", named->host, " since ", named->since,
                               ", which ended without giving it back\n"));
    }
    CHECK(list_dir(folder.path()) == Words{"lock"});
  }
  const Said said;
  { const RunLock lock(folder.path()); }
  { const RunLock lock(folder.path()); }
  CHECK(said.text().empty());
}

TEST_CASE("of two trainers that begin at the same moment one has the folder") {
  const Said quiet;
  for (const bool has_flock : {true, false}) {
    CAPTURE(has_flock);
    std::optional<NoFlock> fault;
    if (!has_flock) fault.emplace();
    const TemporaryFolder folder;
    for (int i = 0; i < 100; ++i) REQUIRE(winners(folder.path(), 2) == 1);
    CHECK(list_dir(folder.path()) == Words{"lock"});
  }
}

TEST_CASE("without flock one of several takes a dead holder's lock over") {
  const Said quiet;
  const NoFlock fault;
  const TemporaryFolder folder;
  for (int i = 0; i < 100; ++i) {
    leave_dead(folder.path());
    REQUIRE(winners(folder.path(), 3) == 1);
    REQUIRE(list_dir(folder.path()) == Words{"lock"});
  }
}

TEST_CASE("each of the errors of a file system without flock leads to lock.pid, others do not") {
  const Said quiet;
  const TemporaryFolder folder;
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
    const NoFlock fault(error);
    const RunLock lock(folder.path());
    CHECK(lock.advisory_only());
    const auto holder = lock_holder(read_file(folder / "lock.pid"));
    REQUIRE(holder);
    CHECK(holder->pid == ::getpid());
    CHECK(message_of([&] { RunLock second(folder.path()); }) == in_use(folder.path(), *holder));
  }
  const NoFlock fault(EIO);
  CHECK(message_of([&] { RunLock lock(folder.path()); }) == folder / "lock: cannot be locked: Input/output error");
  CHECK(list_dir(folder.path()) == Words{"lock"});
}

TEST_CASE("without flock another machine's lock stays until a person deletes it") {
  const Said quiet;
  const NoFlock fault;
  const TemporaryFolder folder;
  LockHolder far = this_process();
  far.host = "far";
  far.machine = "1";
  write_file(folder / "lock.pid", lock_text(far));
  CHECK(message_of([&] { RunLock lock(folder.path()); }) ==
        cat(in_use(folder.path(), far), "; when that process is gone, delete ", folder / "lock.pid"));
  CHECK(read_file(folder / "lock.pid") == lock_text(far));
  remove_file(folder / "lock.pid");
  CHECK_NOTHROW(RunLock(folder.path()));
  write_file(folder / "lock.pid", "");
  CHECK(message_of([&] { RunLock lock(folder.path()); }) ==
        cat(folder.path(), ": is in use by a process that has not said which it is; only one trainer may write there; ",
            "when that process is gone, delete ", folder / "lock.pid"));
}

TEST_CASE("one that has flock and one that has none heed each other") {
  const Said quiet;
  const TemporaryFolder folder;
  {
    const RunLock lock(folder.path());
    const NoFlock fault;
    CHECK_THROWS_AS(RunLock(folder.path()), Error);
    CHECK(list_dir(folder.path()) == Words{"lock"});
  }
  std::optional<NoFlock> fault(std::in_place);
  {
    const RunLock lock(folder.path());
    fault.reset();
    CHECK_THROWS_AS(RunLock(folder.path()), Error);
    CHECK(read_file(folder / "lock").empty());
    CHECK(list_dir(folder.path()) == Words{"lock", "lock.pid"});
  }
  CHECK_NOTHROW(RunLock(folder.path()));
  fault.emplace();
  leave_dead(folder.path());
  fault.reset();
  CHECK_NOTHROW(RunLock(folder.path()));
}

TEST_CASE("a forked child does not give its parent's lock back") {
  const Said quiet;
  const TemporaryFolder folder;
  for (const bool has_flock : {true, false}) {
    std::optional<NoFlock> fault;
    if (!has_flock) fault.emplace();
    auto lock = std::make_unique<RunLock>(folder.path());
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      lock.reset();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    CHECK_FALSE(Trainer(folder.path()).won());
    lock.reset();
    CHECK(Trainer(folder.path()).won());
  }
}

// Two takers of a dead holder's lock, the second whole between any two calls of the first: the first is this process,
// the second a child that then goes on, ends or is killed.
TEST_CASE("whatever happens between two calls of a taker, one at most has the lock") {
  const Said quiet;
  enum class Then { holds, ends, is_killed };
  for (const Then then : {Then::holds, Then::ends, Then::is_killed}) {
    for (int n = 0, calls = 1; calls > 0; ++n) {
      CAPTURE(static_cast<int>(then));
      CAPTURE(n);
      REQUIRE(n < 20);
      const TemporaryFolder folder;
      {
        const NoFlock fault;
        leave_dead(folder.path());
      }
      std::optional<Trainer> other;
      calls = 0;
      const NoFlock fault(ENOLCK, [&](std::string_view, const std::string&) {
        if (calls++ != n) return 0;
        other.emplace(folder.path());
        other->won();
        if (then == Then::ends) other->end();
        if (then == Then::is_killed) other->kill();
        return 0;
      });
      std::optional<RunLock> lock;
      try {
        lock.emplace(folder.path());
      } catch (const Error&) {
      }
      if (calls <= n) break;  // behind the last call
      if (then == Then::holds) {
        CHECK(other->won() == !lock.has_value());
      }
      if (lock || then == Then::holds) CHECK_FALSE(Trainer(folder.path()).won());
      other.reset();
      lock.reset();
      CHECK(Trainer(folder.path()).won());
    }
  }
}

TEST_CASE("a call that fails leaves no lock behind, and a taker killed at any call none that lasts") {
  const Said quiet;
  for (const bool has_flock : {true, false}) {
    for (const bool is_killed : {false, true}) {
      for (int n = 0, calls = 1; calls > 0; ++n) {
        CAPTURE(has_flock);
        CAPTURE(is_killed);
        CAPTURE(n);
        REQUIRE(n < 20);
        const TemporaryFolder folder;
        std::string last;
        calls = 0;
        const auto act = [&](std::string_view call, const std::string&) {
          if (call == "flock" && !has_flock) return ENOLCK;
          last = call;
          if (calls++ != n) return 0;
          if (is_killed && call == "write" && !has_flock) ::_exit(0);  // its claim is empty for ever
          if (is_killed) ::kill(::getpid(), SIGKILL);
          return EIO;
        };
        {
          const NoFlock fault;
          leave_dead(folder.path());
        }
        set_file_fault(act);
        int status = 0;
        if (is_killed) {
          std::fflush(stdout);
          const pid_t child = ::fork();
          if (child == 0) {
            const RunLock lock(folder.path());
            ::_exit(calls);
          }
          ::waitpid(child, &status, 0);
          calls = WIFEXITED(status) && WEXITSTATUS(status) > 0 ? n : n + 1;
        } else {
          try {
            const RunLock lock(folder.path());
            CHECK(calls == n);
          } catch (const RunFailed&) {
          }
        }
        set_file_fault({});
        std::optional<NoFlock> fault;
        if (!has_flock) fault.emplace();
        const bool is_mute = WIFEXITED(status) && is_killed && calls > n;
        CHECK(Trainer(folder.path()).won() == !is_mute);
        if (!has_flock && !is_mute) CHECK(list_dir(folder.path()) == Words{"lock"});
        if (calls <= n) calls = 0;  // behind the last call
      }
    }
  }
}

}  // namespace
}  // namespace strata
