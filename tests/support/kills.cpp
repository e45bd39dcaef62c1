// SPDX-License-Identifier: Apache-2.0
#include "support/kills.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "base/file.h"
#include "support/temporary.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace strata::test {
namespace {

constexpr const char* run_file = R"(version: 1
name: killed
seed: 4
model:
  inputs: {x: {shape: [16]}}
  layers:
    - Dense: {units: 900, activation: relu}
    - Dropout: {rate: 0.2}
    - Dense: {units: 900, activation: relu}
    - Dense: {units: 4}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
data: {train: {Synthetic: {rows: 400, shape: [16]}}, validation: {split: 0.2}}
fit: {batch_size: 8, epochs: 3, verbose: none}
checkpoint: {every: 1 step}
callbacks: [{ReduceLROnPlateau: {patience: 1, min_delta: 1}}]
)";

// Started in `folder`; what it says goes to a file there.
pid_t start(const std::string& folder, const std::string& said = "said.txt") {
  const std::string program = std::string(STRATA_BINARY_DIR) + "/strata";
  std::string command = "cd '" + folder + "' && exec '" + program + "' train run.yaml >" + said + " 2>&1";
  std::string shell = "/bin/sh", flag = "-c";
  char* arguments[] = {shell.data(), flag.data(), command.data(), nullptr};
  pid_t pid = 0;
  REQUIRE(posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environ) == 0);
  return pid;
}

// Its exit status, or -1 when it was still running after that time and was killed.
int wait_or_kill(pid_t pid, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(pid, SIGKILL);
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What a run leaves that is the same for equal runs: its last checkpoint (equal states are equal bytes), log, weights.
std::string left_in(const std::string& folder) {
  const std::string run = folder + "/runs/killed";
  return read_file(run + "/checkpoint-120.h5") + read_file(run + "/log.csv") + read_file(run + "/model.weights.h5");
}

bool half_written(const std::string& folder) {
  const std::string run = folder + "/runs/killed";
  if (!is_folder(run)) return false;
  for (const auto& name : list_dir(run))
    if (name.find(".h5.tmp.") != std::string::npos) return true;
  return false;
}

}  // namespace

namespace {

std::string left_by_a_lone_one() {
  const TemporaryFolder folder;
  write_file(folder / "run.yaml", run_file);
  REQUIRE(wait_or_kill(start(folder.path()), 300) == 0);
  return left_in(folder.path());
}

}  // namespace

void race(int times) {
  const std::string wanted = left_by_a_lone_one();
  for (int time = 0; time < times; ++time) {
    const TemporaryFolder folder;
    write_file(folder / "run.yaml", run_file);
    const pid_t first = start(folder.path(), "first.txt"), second = start(folder.path(), "second.txt");
    const int one = wait_or_kill(first, 300), other = wait_or_kill(second, 300);
    INFO(read_file(folder / "first.txt"), read_file(folder / "second.txt"));
    CHECK(one + other == 1);
    const std::string refused = read_file(folder / (one == 0 ? "second.txt" : "first.txt"));
    CHECK(refused.find("error: runs/killed: is in use by process " + std::to_string(one == 0 ? first : second)) == 0);
    CHECK((left_in(folder.path()) == wanted));
  }
}

Kills kill_and_go_on(int kills) {
  const std::string wanted = left_by_a_lone_one();
  std::mt19937 random(7);
  Kills done;
  while (done.kills < kills) {
    const TemporaryFolder folder;
    write_file(folder / "run.yaml", run_file);
    for (;;) {
      // After the start of the program, somewhere within some saves.
      const double seconds = std::uniform_real_distribution<>(0.1, 0.6)(random);
      const int status = wait_or_kill(start(folder.path()), done.kills < kills ? seconds : 300);
      if (status == 0) break;
      INFO(read_file(folder / "said.txt"));
      REQUIRE(status == -1);
      ++done.kills;
      done.in_saves += half_written(folder.path()) ? 1 : 0;
    }
    ++done.runs_ended;
    CHECK((left_in(folder.path()) == wanted));
  }
  return done;
}

}  // namespace strata::test
