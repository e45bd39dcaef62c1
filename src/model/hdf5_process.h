// SPDX-License-Identifier: Apache-2.0
// strata-guard as a process of ours: started, asked, given a deadline, and ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace strata {

class GuardProcess {
 public:
  // For a file that is open as `descriptor`. Error: the program is missing or cannot be started.
  GuardProcess(const std::string& path, int descriptor, std::uint64_t file_size, std::uint64_t wanted);
  ~GuardProcess();
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  void allow(std::uint64_t bytes);  // the deadline for what is received next: 2 s, and more for many bytes
  void send(std::uint32_t number);
  void receive(std::span<std::byte> into);  // Error, and the end of the process: nothing comes, or not in time
  void end();

 private:
  [[noreturn]] void failed(const std::string& what);

  std::string path_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace strata
