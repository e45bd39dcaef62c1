// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace strata {
namespace {

constexpr std::array<int, 3> stop_signals = {SIGTERM, SIGINT, SIGUSR1};
using Handler = void (*)(int);
using InfoHandler = void (*)(int, siginfo_t*, void*);

// What was installed before us. Handlers read it on any thread, so its parts are atomic.
struct Earlier {
  std::atomic<std::uintptr_t> handler = 0;
  std::atomic<int> flags = 0;
  struct sigaction whole = {};  // under the mutex only
};

// A signal's installations of ours. More than one only when another handler was put over ours and is there still: it
// may call ours, which then must not begin again but reach what was there before that.
struct Installed {
  static constexpr std::size_t most = 4;
  std::array<Earlier, most> earlier;
  std::atomic<std::size_t> count = 0;
};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::uintptr_t>::is_always_lock_free);

std::mutex mutex;
std::atomic<int> living = 0;
std::atomic<int> first_caught = 0;
std::array<Installed, stop_signals.size()> installed;

// How often our handler is on this thread's stack, by signal. A handler must not allocate, as other models of thread
// locals may at their first use.
[[gnu::tls_model("initial-exec")]] thread_local std::array<std::size_t, stop_signals.size()> depth = {};

std::uintptr_t number_of(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) ? reinterpret_cast<std::uintptr_t>(action.sa_sigaction)
                                        : reinterpret_cast<std::uintptr_t>(action.sa_handler);
}

bool is(std::uintptr_t handler, Handler disposition) {
  return handler == reinterpret_cast<std::uintptr_t>(disposition);
}

// The signal's default action, here and now.
void end_by(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(128 + signal);  // the first process of a container does not end by default
}

void pass_on(Earlier& earlier, int signal, siginfo_t* information, void* context) {
  const int flags = earlier.flags.load();
  const std::uintptr_t handler = (flags & static_cast<int>(SA_RESETHAND))
                                     ? earlier.handler.exchange(reinterpret_cast<std::uintptr_t>(SIG_DFL))
                                     : earlier.handler.load();
  if (is(handler, SIG_DFL)) {
    end_by(signal);
  } else if (is(handler, SIG_IGN)) {
    return;
  } else if (flags & SA_SIGINFO) {
    reinterpret_cast<InfoHandler>(handler)(signal, information, context);
  } else {
    reinterpret_cast<Handler>(handler)(signal);
  }
}

void on_signal(int signal, siginfo_t* information, void* context);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_signal;
}

void on_signal(int signal, siginfo_t* information, void* context) {
  const int saved = errno;
  const auto index =
      static_cast<std::size_t>(std::find(stop_signals.begin(), stop_signals.end(), signal) - stop_signals.begin());
  Installed& ours = installed[index];
  const std::size_t count = ours.count.load();
  if (count == 0) {  // given back while we were on the way here: it is the program's, unless that put ours back
    struct sigaction now = {};
    if (::sigaction(signal, nullptr, &now) != 0 || is_ours(now)) end_by(signal);
    ::raise(signal);
  } else if (depth[index] == 0) {
    Earlier& earlier = ours.earlier[count - 1];
    int none = 0;
    const bool remembered = living.load() > 0 && first_caught.compare_exchange_strong(none, signal);
    // Only where another handler lies between two of ours can we come here again; a handler need not return.
    if (count > 1) ++depth[index];
    if (!remembered || !is(earlier.handler.load(), SIG_DFL)) pass_on(earlier, signal, information, context);
    if (count > 1) --depth[index];
  } else if (depth[index] < count) {
    Earlier& earlier = ours.earlier[count - 1 - depth[index]];
    ++depth[index];
    if (!is(earlier.handler.load(), SIG_DFL)) pass_on(earlier, signal, information, context);
    --depth[index];
  }
  errno = saved;
}

void install(int signal, Installed& ours) {
  struct sigaction before = {};
  if (::sigaction(signal, nullptr, &before) != 0 || is(number_of(before), SIG_IGN)) return;
  if (is_ours(before)) {
    if (ours.count > 0) return;
    before = {};  // put back by somebody who had seen it here, when it was ours no longer
    before.sa_handler = SIG_DFL;
  }
  const std::size_t at = std::min(ours.count.load(), Installed::most - 1);
  ours.earlier[at].whole = before;
  ours.earlier[at].flags = before.sa_flags;
  ours.earlier[at].handler = number_of(before);
  ours.count = at + 1;

  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_mask = before.sa_mask;  // what the program's handler counts on
  for (const int other : stop_signals) ::sigaddset(&action.sa_mask, other);
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigaction(signal, &action, nullptr);
}

void give_back(int signal, Installed& ours) {
  struct sigaction now = {};
  if (ours.count == 0 || ::sigaction(signal, nullptr, &now) != 0 || !is_ours(now)) return;
  Earlier& earlier = ours.earlier[ours.count - 1];
  struct sigaction before = earlier.whole;
  if (is(earlier.handler.load(), SIG_DFL)) {  // it was, or its handler was for one signal only and had it
    before = {};
    before.sa_handler = SIG_DFL;
  }
  ::sigaction(signal, &before, nullptr);
  --ours.count;
}

}  // namespace

StopSignals::StopSignals() {
  const std::lock_guard lock(mutex);
  if (living == 0) first_caught = 0;
  for (std::size_t i = 0; living == 0 && i < stop_signals.size(); ++i) install(stop_signals[i], installed[i]);
  ++living;
}

StopSignals::~StopSignals() {
  const std::lock_guard lock(mutex);
  if (--living > 0) return;
  for (std::size_t i = 0; i < stop_signals.size(); ++i) give_back(stop_signals[i], installed[i]);
}

int StopSignals::caught() const noexcept { return first_caught.load(); }

void ignore_file_size_signal() { ::signal(SIGXFSZ, SIG_IGN); }

}  // namespace strata
