// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "support/temporary.h"

namespace strata {
namespace {

constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGUSR1};

std::atomic<int> calls = 0;
std::atomic<int> sender = 0;
struct sigaction below = {};  // what a handler put over ours calls

void count_call(int) { ++calls; }
void count_sender(int, siginfo_t* information, void* context) {
  calls += context ? 1 : 100;
  sender = information->si_pid;
}
void count_and_call_below(int signal, siginfo_t* information, void* context) {
  calls += 10;
  if (below.sa_flags & SA_SIGINFO) below.sa_sigaction(signal, information, context);
}

struct sigaction action_of(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action;
}

struct sigaction plain(void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}

struct sigaction with_information(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  return action;
}

bool same(const struct sigaction& a, const struct sigaction& b) {
  const bool same_handler = (a.sa_flags & SA_SIGINFO) ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
  const int told = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
  return same_handler && (a.sa_flags & told) == (b.sa_flags & told);
}

// The test runner has handlers of its own for these signals: out of the way while one lives.
struct Host {
  explicit Host(const struct sigaction& action) {
    for (std::size_t i = 0; i < std::size(stop_signals); ++i) ::sigaction(stop_signals[i], &action, &before[i]);
    calls = 0;
    sender = 0;
  }
  explicit Host(void (*handler)(int)) : Host(plain(handler)) {}
  ~Host() {
    for (std::size_t i = 0; i < std::size(stop_signals); ++i) ::sigaction(stop_signals[i], &before[i], nullptr);
  }
  struct sigaction before[std::size(stop_signals)] = {};
};

// The signal a child ends by that does that, 0 when it comes to its end.
int signal_that_ends(const std::function<void()>& act) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    act();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) CHECK(WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("each of the stop signals is caught, and the handlers are given back") {
  const Host host(SIG_DFL);
  for (const int signal : stop_signals) {
    CAPTURE(signal);
    {
      const StopSignals stop;
      CHECK(stop.caught() == 0);
      ::raise(signal);
      CHECK(stop.caught() == signal);
    }
    for (const int each : stop_signals) CHECK(same(action_of(each), plain(SIG_DFL)));
  }
}

TEST_CASE("a second signal ends the process by that signal") {
  const Host host(SIG_DFL);
  for (const int first : stop_signals) {
    for (const int second : stop_signals) {
      CAPTURE(first);
      CAPTURE(second);
      CHECK(signal_that_ends([&] {
              const StopSignals stop;
              ::raise(first);
              if (stop.caught() != first) ::_exit(1);
              ::raise(second);
            }) == second);
    }
  }
}

TEST_CASE("without one, and after its end, a signal ends the process") {
  const Host host(SIG_DFL);
  CHECK(signal_that_ends([] { ::raise(SIGTERM); }) == SIGTERM);
  CHECK(signal_that_ends([] {
          { const StopSignals stop; }
          ::raise(SIGTERM);
        }) == SIGTERM);
}

TEST_CASE("two that live at once share what was caught; a new first one starts with nothing") {
  const Host host(SIG_DFL);
  {
    const StopSignals outer;
    {
      const StopSignals inner;
      ::raise(SIGTERM);
      CHECK(inner.caught() == SIGTERM);
      CHECK(outer.caught() == SIGTERM);
    }
    CHECK(outer.caught() == SIGTERM);
    const StopSignals later;
    CHECK(later.caught() == SIGTERM);
  }
  {
    const StopSignals stop;
    CHECK(stop.caught() == 0);
  }
  CHECK(signal_that_ends([] {
          const StopSignals outer;
          { const StopSignals inner; }
          ::raise(SIGINT);  // still caught
        }) == 0);
  // The one made first may end first.
  auto* first = new StopSignals;
  {
    const StopSignals second;
    delete first;
    ::raise(SIGUSR1);
    CHECK(second.caught() == SIGUSR1);
  }
  CHECK(same(action_of(SIGUSR1), plain(SIG_DFL)));
}

TEST_CASE("a signal that the program ignores stays ignored") {
  const Host host(SIG_DFL);
  const struct sigaction ignored = plain(SIG_IGN);
  ::sigaction(SIGINT, &ignored, nullptr);
  {
    const StopSignals stop;
    ::raise(SIGINT);
    ::raise(SIGINT);
    CHECK(stop.caught() == 0);
    CHECK(same(action_of(SIGINT), ignored));
    ::raise(SIGTERM);
    CHECK(stop.caught() == SIGTERM);
  }
  CHECK(same(action_of(SIGINT), ignored));
}

TEST_CASE("the program's own handler is called as well, decides on a second signal, and is given back") {
  const Host host(plain(count_call, SA_RESTART));
  {
    const StopSignals stop;
    ::raise(SIGINT);
    CHECK(stop.caught() == SIGINT);
    CHECK(calls == 1);
    ::raise(SIGINT);
    ::raise(SIGTERM);
    CHECK(calls == 3);
    CHECK(stop.caught() == SIGINT);
  }
  CHECK(same(action_of(SIGINT), plain(count_call, SA_RESTART)));
  ::raise(SIGINT);
  CHECK(calls == 4);
}

TEST_CASE("a handler that takes information gets it") {
  const Host host(with_information(count_sender));
  {
    const StopSignals stop;
    ::kill(::getpid(), SIGTERM);
    CHECK(stop.caught() == SIGTERM);
    CHECK(calls == 1);
    CHECK(sender == ::getpid());
  }
  CHECK(same(action_of(SIGTERM), with_information(count_sender)));
}

TEST_CASE("a handler for one signal only is called once, and what it leaves is given back") {
  const Host host(plain(count_call, static_cast<int>(SA_RESETHAND)));
  {
    const StopSignals stop;
    ::raise(SIGTERM);
    CHECK(calls == 1);
    CHECK(stop.caught() == SIGTERM);
    CHECK(signal_that_ends([] { ::raise(SIGTERM); }) == SIGTERM);
  }
  CHECK(same(action_of(SIGTERM), plain(SIG_DFL)));
  CHECK(same(action_of(SIGINT), plain(count_call, static_cast<int>(SA_RESETHAND))));
}

TEST_CASE("signals that the program's handler wants held back meanwhile are") {
  struct sigaction action = plain([](int) {
    sigset_t held;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &held);
    calls += ::sigismember(&held, SIGUSR2) ? 1 : 100;
  });
  ::sigaddset(&action.sa_mask, SIGUSR2);
  const Host host(action);
  const StopSignals stop;
  ::raise(SIGTERM);
  CHECK(calls == 1);
}

TEST_CASE("a handler installed over ours stays, and reaches the program's through it") {
  const Host host(count_call);
  const struct sigaction over = with_information(count_and_call_below);
  {
    const StopSignals stop;
    ::sigaction(SIGTERM, &over, &below);
    ::raise(SIGTERM);
    CHECK(stop.caught() == SIGTERM);
    CHECK(calls == 11);
  }
  CHECK(same(action_of(SIGTERM), over));
  CHECK(same(action_of(SIGINT), plain(count_call)));
  calls = 0;
  ::raise(SIGTERM);
  CHECK(calls == 11);
  for (int i = 0; i < 6; ++i) {  // each lies over the handler that calls the first
    {
      const StopSignals stop;
      calls = 0;
      ::raise(SIGTERM);
      CHECK(stop.caught() == SIGTERM);
      CHECK(calls == 11);
    }
    CHECK(same(action_of(SIGTERM), over));
  }
  // Whoever put it there takes it away: ours lies bare, and only passes on until it is used again.
  ::sigaction(SIGTERM, &below, nullptr);
  calls = 0;
  ::raise(SIGTERM);
  CHECK(calls == 1);
  {
    const StopSignals stop;
    ::raise(SIGTERM);
    CHECK(stop.caught() == SIGTERM);
    CHECK(calls == 2);
  }
  CHECK(same(action_of(SIGTERM), plain(count_call)));
}

TEST_CASE("handlers put over ours again and again, and never taken away, end in no circle") {
  const Host host(SIG_DFL);
  CHECK(signal_that_ends([] {  // a child: what they leave behind is gone with it
          const auto demand = [](bool condition) {
            if (!condition) ::_exit(1);
          };
          const int rounds = 12;
          for (int i = 0; i < rounds; ++i) {
            const StopSignals stop;
            const struct sigaction over = with_information(count_and_call_below);
            ::sigaction(SIGTERM, &over, &below);  // below is ours
            calls = 0;
            ::raise(SIGTERM);
            demand(stop.caught() == SIGTERM && calls >= 10 && calls <= 10 * rounds);
          }
          ::signal(SIGTERM, SIG_DFL);
          const StopSignals stop;
          ::raise(SIGTERM);
          demand(stop.caught() == SIGTERM);
          ::raise(SIGTERM);
        }) == SIGTERM);
}

TEST_CASE("our handler, put back by somebody after its end, acts by default, and serves the next") {
  const Host host(SIG_DFL);
  struct sigaction seen = {};
  {
    const StopSignals stop;
    seen = action_of(SIGTERM);
  }
  CHECK(signal_that_ends([&] {
          ::sigaction(SIGTERM, &seen, nullptr);
          ::raise(SIGTERM);
        }) == SIGTERM);
  ::sigaction(SIGTERM, &seen, nullptr);
  {
    const StopSignals stop;
    ::raise(SIGTERM);
    CHECK(stop.caught() == SIGTERM);
  }
  CHECK(same(action_of(SIGTERM), plain(SIG_DFL)));
}

TEST_CASE("a signal is caught on whichever thread it comes") {
  const Host host(SIG_DFL);
  const StopSignals stop;
  std::atomic<bool> go_on = true;
  std::thread other([&] {
    while (go_on) std::this_thread::yield();
  });
  ::pthread_kill(other.native_handle(), SIGUSR1);
  while (stop.caught() == 0) std::this_thread::yield();
  CHECK(stop.caught() == SIGUSR1);
  go_on = false;
  other.join();
}

TEST_CASE("threads make and end them while signals come") {
  const Host host(count_call);
  std::atomic<bool> go_on = true;
  const auto work = [&] {
    while (go_on) const StopSignals stop;
  };
  std::thread a(work), b(work);
  for (int i = 0; i < 2000; ++i) ::pthread_kill((i % 2 ? a : b).native_handle(), stop_signals[i % 3]);
  go_on = false;
  a.join();
  b.join();
  CHECK(calls > 0);
  for (const int signal : stop_signals) CHECK(same(action_of(signal), plain(count_call)));
}

TEST_CASE("errno is kept, whatever the program's handler does to it") {
  const Host host([](int) { errno = EIO; });
  const StopSignals stop;
  errno = EDOM;
  ::raise(SIGTERM);
  CHECK(errno == EDOM);
  CHECK(stop.caught() == SIGTERM);
}

TEST_CASE("a system call that is interrupted goes on") {
  const Host host(SIG_DFL);
  const StopSignals stop;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::atomic<bool> reads = false;
  ssize_t got = -2;
  std::thread reader([&] {
    char letter = 0;
    reads = true;
    got = ::read(ends[0], &letter, 1);
  });
  while (!reads) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::pthread_kill(reader.native_handle(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(::write(ends[1], "x", 1) == 1);
  reader.join();
  CHECK(got == 1);
  CHECK(stop.caught() == SIGTERM);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a file over its limit is a write that fails") {
  const test::TemporaryFolder folder;
  const auto write_much = [&] {
    const struct rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const int file = ::open((folder / "x").c_str(), O_WRONLY | O_CREAT, 0600);
    const std::string much(8192, 'x');
    const bool first = ::write(file, much.data(), much.size()) == 4096;
    const bool second = ::write(file, much.data(), much.size()) == -1 && errno == EFBIG;
    ::_exit(first && second ? 0 : 1);
  };
  CHECK(signal_that_ends([&] {
          ::signal(SIGXFSZ, SIG_DFL);
          write_much();
        }) == SIGXFSZ);
  CHECK(signal_that_ends([&] {
          ignore_file_size_signal();
          write_much();
        }) == 0);
}

}  // namespace
}  // namespace strata
