// SPDX-License-Identifier: Apache-2.0
// The order of launches. It comes from the graph, which can run as it stands; what needs nothing that dies (constants
// spread out, random numbers of feeds) is moved down to just before its first reader, so that its result lives short.
#include <algorithm>

#include "compiler/pass.h"

namespace strata {

namespace {

bool reads(const DraftLaunch& launch, int slot) {
  return std::ranges::find(launch.launch.inputs, slot) != launch.launch.inputs.end();
}

// Only feeds and constants: nothing that is written during a run.
bool needs_nothing(const DraftLaunch& launch, const std::vector<Slot>& slots) {
  return std::ranges::all_of(launch.launch.inputs, [&](int slot) {
    if (slot < 0) return true;
    const Slot::Kind kind = slots[static_cast<std::size_t>(slot)].kind;
    return kind == Slot::Kind::feed || kind == Slot::Kind::constant;
  });
}

}  // namespace

void schedule(Draft& draft, bool reorder) {
  if (!reorder) return;
  auto& launches = draft.launches;
  for (std::size_t i = launches.size(); i-- > 0;) {
    if (launches[i].launch.collective || !launches[i].after.empty() || !needs_nothing(launches[i], draft.plan.slots))
      continue;
    std::size_t first = i + 1;
    while (first < launches.size() && std::ranges::none_of(launches[i].launch.outputs, [&](int slot) {
             return slot >= 0 && reads(launches[first], slot);
           }))
      ++first;
    // A result only read after the run keeps its place: it cannot live shorter.
    if (first == launches.size()) continue;
    std::rotate(launches.begin() + static_cast<std::ptrdiff_t>(i),
                launches.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                launches.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace strata
