// SPDX-License-Identifier: Apache-2.0
// A plan's memory run on paper: every line of 64 bytes remembers which slot was written there last. What a launch reads
// must still be there.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/text.h"
#include "compiler/plan.h"

namespace strata::test {

// What goes wrong when the plan runs twice, or "". `same`: whether output `o` of launch `l` may be written over input `i`
// while that is read; `root`: the slot whose bytes a slot names; `kept`: slots that must hold after a run, beside outputs.
inline std::string memory_fault(const Plan& plan, const std::function<bool(int l, int o, int i)>& same,
                                const std::function<int(int)>& root, const std::vector<int>& kept = {}) {
  constexpr std::size_t line = 64;
  std::map<std::string, std::vector<int>> memory;  // by block: "arena" or a slot of its own; by line, the last writer
  const auto slot = [&](int s) -> const Slot& { return plan.slots[static_cast<std::size_t>(s)]; };
  struct Range {
    std::string block;
    std::size_t first, last;  // lines
    bool meets(const Range& other) const { return block == other.block && first < other.last && other.first < last; }
    bool operator==(const Range&) const = default;
  };
  const auto range = [&](int s) -> Range {
    const Slot& at = slot(s);
    const std::size_t lines = (at.bytes + line - 1) / line;
    if (at.kind == Slot::Kind::arena) return {"arena", at.offset / line, at.offset / line + lines};
    if (at.kind == Slot::Kind::state) return {"state " + at.name, 0, lines};
    return {cat("slot ", root(s)), 0, lines};
  };
  const auto write = [&](int s, int value) {
    const Range r = range(s);
    auto& lines = memory[r.block];
    if (lines.size() < r.last) lines.resize(r.last, -1);
    for (std::size_t i = r.first; i < r.last; ++i) lines[i] = value;
  };
  const auto holds = [&](int s, int value) {
    const Range r = range(s);
    auto& lines = memory[r.block];
    if (lines.size() < r.last) lines.resize(r.last, -1);
    for (std::size_t i = r.first; i < r.last; ++i)
      if (lines[i] != value) return false;
    return true;
  };

  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    const Slot& at = plan.slots[s];
    if (at.kind != Slot::Kind::arena) continue;
    if (at.offset % line) return cat("slot ", s, " begins at ", at.offset);
    if (at.offset + at.bytes > plan.arena_bytes) return cat("slot ", s, " ends behind the arena");
  }
  std::set<std::string> changed;
  for (const Commit& commit : plan.commits) changed.insert(slot(commit.state).name);
  const int junk = -2;
  for (int run = 0; run < 2; ++run) {
    for (const auto& [path, s] : plan.states) write(s, s);
    for (const auto& [name, s] : plan.feeds) write(s, s);
    for (const auto& [s, value] : plan.constants) write(s, s);
    for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
      const PlannedLaunch& launch = plan.launches[static_cast<std::size_t>(l)];
      for (const int s : launch.inputs)
        if (s >= 0 && !holds(s, root(s))) return cat("launch ", l, " (", launch.op, ") reads slot ", s, " too late");
      for (std::size_t o = 0; o < launch.outputs.size(); ++o) {
        const int out = launch.outputs[o];
        if (out < 0 || slot(out).bytes == 0) continue;
        for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
          const int in = launch.inputs[i];
          if (in < 0 || !range(in).meets(range(out))) continue;
          const bool at_one_place = range(in).block == range(out).block && range(in).first == range(out).first;
          if (!at_one_place || !same(l, static_cast<int>(o), static_cast<int>(i)))
            return cat("launch ", l, " (", launch.op, ") writes output ", o, " over input ", i);
        }
        for (std::size_t other = 0; other < o; ++other)
          if (launch.outputs[other] >= 0 && range(launch.outputs[other]).meets(range(out)))
            return cat("launch ", l, " (", launch.op, ") writes output ", o, " over output ", other);
        if (launch.workspace >= 0 && range(launch.workspace).meets(range(out)))
          return cat("launch ", l, " (", launch.op, ") works in its output ", o);
      }
      if (launch.workspace >= 0) {
        for (const int in : launch.inputs)
          if (in >= 0 && range(launch.workspace).meets(range(in)))
            return cat("launch ", l, " (", launch.op, ") works in its input, slot ", in);
        write(launch.workspace, junk);
      }
      for (const int out : launch.outputs)
        if (out >= 0) write(out, root(out));
    }
    for (const auto& [name, s] : plan.outputs)
      if (!holds(s, root(s))) return cat("output ", name, " is gone at the end");
    for (const int s : kept)
      if (!holds(s, root(s))) return cat("slot ", s, " is gone at the end");
    if (plan.ok >= 0 && !holds(plan.ok, root(plan.ok))) return "the guard is gone at the end";
    for (const Commit& commit : plan.commits)
      if (!holds(commit.from, root(commit.from)))
        return cat("the next ", slot(commit.state).name, " is gone at the end");
  }
  return "";
}

}  // namespace strata::test
