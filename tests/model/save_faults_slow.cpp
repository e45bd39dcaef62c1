// SPDX-License-Identifier: Apache-2.0
// Saving under attack: the process dies after every call that changes a file, every such call fails with every errno.
// Whatever happens, the next run goes on from a whole checkpoint and ends as the uncut one.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "support/resume.h"
#include "support/temporary.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace strata::test {
namespace {

const char* const folder_variable = "STRATA_TEST_FOLDER";
const char* const call_variable = "STRATA_TEST_CALL";

// Counts the calls that change files below `folder`; at number `at` it does `act`, whose result the call fails with.
std::shared_ptr<std::atomic<int>> fault_at(const std::string& folder, int at, std::function<int()> act) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  set_file_fault([calls, folder, at, act](std::string_view, const std::string& path) {
    if (!path.starts_with(folder)) return 0;
    return ++*calls == at ? act() : 0;
  });
  return calls;
}

// In another process, which dies before that call. Its exit status: 9 when it came so far.
int child_that_dies(const std::string& folder, int call) {
  ::setenv(folder_variable, folder.c_str(), 1);
  ::setenv(call_variable, std::to_string(call).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--test-case=the child of the test that dies", unskip = "--no-skip";
  char* arguments[] = {program.data(), filter.data(), unskip.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  REQUIRE(posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  ::unsetenv(folder_variable);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("the child of the test that dies" * doctest::skip()) {
  const char* folder = std::getenv(folder_variable);
  if (!folder) return;
  fault_at(folder, std::atoi(std::getenv(call_variable)), []() -> int { ::_exit(9); });
  (void)train_in(resume_cases()[0], folder);
  ::_exit(0);
}

TEST_CASE("a trainer that dies before any call of a save is gone on with to the bit") {
  const ResumeCase one = resume_cases()[0];
  const Trained wanted = train_uncut(one);
  int call = 1;
  for (;; ++call) {
    CAPTURE(call);
    const TemporaryFolder folder;
    const int status = child_that_dies(folder.path(), call);
    if (status == 0) break;  // it had no so many
    REQUIRE(status == 9);
    compare(train_in(one, folder.path()), wanted);
  }
  MESSAGE("died before each of " << call - 1 << " calls");
  CHECK(call > 60);
}

TEST_CASE("a call that fails costs no older checkpoint and no bit") {
  const ResumeCase one = resume_cases()[0];
  const Trained wanted = train_uncut(one);
  for (const int error : {ENOSPC, EIO, EFBIG, EDQUOT}) {
    for (int call = 1;; ++call) {
      CAPTURE(error);
      CAPTURE(call);
      const TemporaryFolder folder;
      const auto calls = fault_at(folder.path(), call, [error] { return error; });
      std::string said;
      try {
        (void)train_in(one, folder.path());
      } catch (const RunFailed& failed) {
        said = failed.what();
      }
      set_file_fault({});
      if (calls->load() < call) break;
      compare(train_in(one, folder.path()), wanted);
    }
  }
}

}  // namespace strata::test
