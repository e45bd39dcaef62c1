// SPDX-License-Identifier: Apache-2.0
#include "base/lock_holder.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {
namespace {

constexpr std::string_view unknown = "-";

std::string word_in(const std::string& path) {
  try {
    const std::string text(trim(read_file(path, 4096)));
    return text.empty() ? std::string(unknown) : text;
  } catch (const Error&) {
    return std::string(unknown);
  }
}

struct ProcessState {
  bool ended = false;  // it waits for its parent to ask after it, and has no open files any more
  std::string started = std::string(unknown);
};

// From proc(5)'s stat: the third field on come after the command, which may hold blanks and brackets.
ProcessState process_state(int pid) {
  const std::string text = word_in(cat("/proc/", pid, "/stat"));
  const std::size_t bracket = text.rfind(") ");
  if (bracket == std::string::npos) return {};
  const std::vector<std::string> fields = split(std::string_view(text).substr(bracket + 2), ' ');
  constexpr std::size_t state = 0, threads = 17, started = 19;
  if (fields.size() <= started) return {};
  const bool is_over = fields[state] == "Z" || fields[state] == "X";
  return {is_over && (fields[threads] == "0" || fields[threads] == "1"), fields[started]};
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name.front() == '\0') return std::string(unknown);
  return name.data();
}

std::string utc_now() {
  const time_t now = ::time(nullptr);
  struct tm parts = {};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text = {};
  return {text.data(), ::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

LockHolder this_process() {
  LockHolder me;
  me.pid = ::getpid();
  me.host = host_name();
  me.since = utc_now();
  me.machine = cat(hash64(cat(word_in("/etc/machine-id"), ' ', me.host)));
  me.boot = word_in("/proc/sys/kernel/random/boot_id");
  me.started = process_state(me.pid).started;
  return me;
}

bool LockHolder::gone() const {
  const LockHolder me = this_process();
  if (machine != me.machine) return false;
  if (boot != me.boot) return true;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  const ProcessState now = process_state(pid);
  if (now.started == unknown || started == unknown) return false;  // it is there, and hidden
  return now.ended || now.started != started;
}

std::string lock_text(const LockHolder& holder) {
  return cat("pid ", holder.pid, "\nhost ", holder.host, "\nsince ", holder.since, "\nmachine ", holder.machine,
             "\nboot ", holder.boot, "\nstarted ", holder.started, "\n");
}

std::optional<LockHolder> lock_holder(std::string_view text) {
  LockHolder holder;
  std::string pid;
  const std::array<std::pair<std::string_view, std::string*>, 6> fields = {{{"pid ", &pid},
                                                                            {"host ", &holder.host},
                                                                            {"since ", &holder.since},
                                                                            {"machine ", &holder.machine},
                                                                            {"boot ", &holder.boot},
                                                                            {"started ", &holder.started}}};
  const std::vector<std::string> said = lines(text);
  if (!text.ends_with('\n') || said.size() != fields.size()) return std::nullopt;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [key, value] = fields[i];
    if (!said[i].starts_with(key) || said[i].size() == key.size()) return std::nullopt;
    *value = said[i].substr(key.size());
  }
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), holder.pid);
  if (error != std::errc() || end != pid.data() + pid.size() || holder.pid <= 0) return std::nullopt;
  return holder;
}

}  // namespace strata
