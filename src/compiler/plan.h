// SPDX-License-Identifier: Apache-2.0
// A plan: the launches of one graph on one kind of device, and where each array lies. Immutable once compiled; run any
// number of times without allocating or deciding.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "strata/graph.h"
#include "strata/tensor.h"

namespace strata {

// One array's place. Arena slots share one block by lifetime; the others have memory of their own.
struct Slot {
  enum class Kind { arena, state, feed, constant, packed };
  Kind kind = Kind::arena;
  Type type;
  std::size_t bytes = 0;
  std::size_t offset = 0;   // within the arena
  std::string name;         // a state's path, a feed's name; otherwise the op that makes it
  std::string format;       // of an opaque or packed array
  int first = 0, last = 0;  // the launches during which it must hold (arena)
};

struct PlannedLaunch {
  std::string op, kernel_name, scope;  // what `plan` shows and blame names
  std::shared_ptr<Kernel> kernel;      // null for a collective and a copy
  std::vector<int> inputs, outputs;    // slots; -1 where not given or never read
  int workspace = -1;
  bool collective = false;  // all_reduce over the replicas
  bool copy = false;        // the input's bytes to the output
  bool on_change = false;   // a pack: only when the states have changed since the last run
  bool reference = false;
  std::vector<std::string> refusals;
  double flops = 0;  // of the op's definition
};

// After the last launch: `from` is copied to the state, unless `ok` says no.
struct Commit {
  int state = -1, from = -1;
  Advance advance = Advance::if_ok;
};

struct Plan {
  std::string name;    // "train 128", "evaluate 16"
  DeviceModel device;  // what the kernels were chosen for
  std::vector<Slot> slots;
  std::vector<PlannedLaunch> launches;
  std::vector<Commit> commits;                        // states whose next value could not be written in place
  std::map<std::string, int> feeds, states, outputs;  // names -> slots
  std::set<std::string> row_outputs;                  // of these a replica has its rows, of the others the whole
  std::vector<std::pair<int, Tensor>> constants;      // slots with their contents (host)
  int ok = -1;                                        // the bool that lets the step commit; -1: it always does
  std::size_t arena_bytes = 0;
  std::size_t max_live_bytes = 0;  // the least any placement could take
  double compile_seconds = 0;
  std::vector<std::pair<std::string, double>> pass_seconds;

  std::string signature() const;  // kernels, ISA, threads: equal signatures give equal bits
  std::string text() const;       // one launch a line, then the slots and totals
};

}  // namespace strata
