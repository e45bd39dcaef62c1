// SPDX-License-Identifier: Apache-2.0
#include "model/hdf5_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : "";
}

// Beside the running code: in the build tree all lie together, installed it is libexec/strata under the same prefix
// (../lib, or ../../lib/x86_64-linux-gnu on Debian).
std::string find_guard(std::string& looked_in) {
  std::vector<std::string> folders;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_guard), &info) != 0 && info.dli_fname)
    folders.push_back(folder_of(real_path(info.dli_fname)));
  folders.push_back(folder_of(real_path("/proc/self/exe")));
  for (const std::string& folder : folders)
    for (const char* place : {"", "/../libexec/strata", "/../../libexec/strata"}) {
      const std::string program = cat(folder, place, "/strata-guard");
      if (::access(program.c_str(), X_OK) == 0) return real_path(program);
    }
  // A static library tells nothing of where it was installed.
  if (const std::string program = cat(STRATA_LIBEXEC_DIR, "/strata-guard"); ::access(program.c_str(), X_OK) == 0)
    return program;
  looked_in = folders.front();
  return "";
}

const std::string& guard_program(const std::string& path) {
  static std::string looked_in;
  static const std::string program = find_guard(looked_in);
  if (program.empty())
    throw Error(cat(path, ": cannot be read without the program strata-guard, and neither ", looked_in,
                    " nor libexec/strata beside it has it\n  install strata whole, or build the target strata_guard"));
  return program;
}

// A descriptor above those that the guard is given.
int out_of_the_way(int descriptor) { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 10); }

// Without what would change how libhdf5 works.
std::vector<char*> environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("HDF5_")) kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

GuardProcess::GuardProcess(const std::string& path, int descriptor, std::uint64_t file_size, std::uint64_t wanted)
    : path_(path) {
  std::string program = guard_program(path), size = cat(file_size), bytes = cat(wanted);
  char* arguments[] = {program.data(), size.data(), bytes.data(), nullptr};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    throw Error(cat(path, ": cannot be read: no socket for strata-guard: ", reason(errno)));
  socket_ = ends[0];
  const int its_socket = out_of_the_way(ends[1]), its_file = out_of_the_way(descriptor);
  int error = its_socket < 0 || its_file < 0 ? errno : 0;
  ::close(ends[1]);
  if (error == 0) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, its_socket, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);  // what libraries say when they break is not for the user
    posix_spawn_file_actions_adddup2(&actions, its_file, 3);
    posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    // A group of its own: ^C is for us to handle. All signals as at the start of a program.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    error = ::posix_spawn(&process_, program.c_str(), &actions, &attributes, arguments, environment().data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  if (its_socket >= 0) ::close(its_socket);
  if (its_file >= 0) ::close(its_file);
  if (error != 0) {
    process_ = -1;
    end();
    throw Error(cat(path, ": cannot be read: ", program, " cannot be started: ", reason(error)));
  }
}

GuardProcess::~GuardProcess() { end(); }

void GuardProcess::end() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

void GuardProcess::failed(const std::string& what) {
  end();
  throw Error(cat(path_, ": cannot be read: it is damaged or hostile (", what, ")"));
}

void GuardProcess::allow(std::uint64_t bytes) {
  constexpr std::uint64_t bytes_a_second = 4 << 20;
  deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(2000 + bytes / (bytes_a_second / 1000));
}

void GuardProcess::send(std::uint32_t number) {
  // So little always fits into the socket; a guard that is gone shows in what is received.
  if (socket_ >= 0) (void)!::send(socket_, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void GuardProcess::receive(std::span<std::byte> into) {
  if (socket_ < 0) failed("strata-guard has ended");
  while (!into.empty()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) failed("reading takes too long");
    pollfd ready{socket_, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left.count(), INT_MAX)));
    if (count < 0 && errno != EINTR) failed(reason(errno));
    if (count <= 0) continue;
    const ssize_t got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
      continue;
    }
    // It is ending by itself, or has closed its end: either way it is waited for, and does not get long.
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 100 && ended == 0; ++i) {
      ended = ::waitpid(process_, &status, WNOHANG);
      if (ended == 0) ::usleep(1000);
    }
    if (ended != 0) process_ = -1;
    failed(ended <= 0            ? "strata-guard has ended"
           : WIFSIGNALED(status) ? cat("strata-guard was ended by signal ", WTERMSIG(status))
                                 : cat("strata-guard ended with ", WEXITSTATUS(status)));
  }
}

}  // namespace strata
