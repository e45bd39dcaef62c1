// SPDX-License-Identifier: Apache-2.0
// Who holds a lock, as the text in its file: enough to name the process, and for another one on the same machine to tell
// whether it has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strata {

struct LockHolder {
  int pid = 0;
  std::string host;
  std::string since;    // when it took the lock: UTC, 2026-12-01T05:01:25Z
  std::string machine;  // a hash that tells two machines of one host name apart, as far as /etc/machine-id does
  std::string boot;     // the machine's start: a process from before it has ended
  std::string started;  // the process's, in clock ticks since the boot: a number used again is another process

  // Whether the process has surely ended. One of another machine never has. Containers that share host name and machine
  // id but not their processes cannot tell, and count each other's processes as ended.
  bool gone() const;
};

LockHolder this_process();  // now

std::string lock_text(const LockHolder& holder);                    // six lines
std::optional<LockHolder> lock_holder(std::string_view lock_text);  // nothing unless the text is whole

}  // namespace strata
