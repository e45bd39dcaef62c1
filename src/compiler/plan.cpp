// SPDX-License-Identifier: Apache-2.0
// Plans as text, and what tells one from another.
#include "compiler/plan.h"

#include <cstdio>

#include "base/text.h"

namespace strata {

std::string Plan::signature() const {
  std::string text = cat(device.backend, " ", device.isa, " threads ", device.threads, "\n");
  for (const PlannedLaunch& launch : launches) text += cat(launch.op, " ", launch.kernel_name, "\n");
  char digest[32];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(hash64(text)));
  return cat(device.backend, "/", device.isa, "/", device.threads, "/", digest);
}

namespace {

std::string place(const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::arena: return cat("@", slot.offset);
    case Slot::Kind::state: return slot.name;
    case Slot::Kind::feed: return "<" + slot.name + ">";
    case Slot::Kind::constant: return "constant";
    case Slot::Kind::packed: return cat("packed ", slot.name);
  }
  return "";
}

std::string slot_text(const Plan& plan, int slot) {
  if (slot < 0) return "_";
  const Slot& s = plan.slots[static_cast<std::size_t>(slot)];
  return cat(place(s), " ", s.type);
}

}  // namespace

std::string Plan::text() const {
  std::string out =
      cat("plan ", name, " on ", device.backend, " (", device.isa, ", ", counted(device.threads, "thread"),
          "): ", launches.size(), " launches", ", arena ", bytes_text(arena_bytes), " (least ",
          bytes_text(max_live_bytes), "), compiled in ", duration_text(compile_seconds), "\n");
  double flops = 0;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const PlannedLaunch& launch = launches[l];
    out += cat("  ", l, "  ", launch.scope.empty() ? "" : launch.scope + ": ", launch.op, " [", launch.kernel_name,
               launch.reference ? ", slow reference" : "", "] (");
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) out += (i ? ", " : "") + slot_text(*this, launch.inputs[i]);
    out += ") -> ";
    for (std::size_t i = 0; i < launch.outputs.size(); ++i)
      out += (i ? ", " : "") + slot_text(*this, launch.outputs[i]);
    if (launch.workspace >= 0)
      out += cat("  workspace ", bytes_text(slots[static_cast<std::size_t>(launch.workspace)].bytes));
    if (launch.on_change) out += "  when changed";
    out += "\n";
    flops += launch.flops;
  }
  for (const Commit& commit : commits)
    out += cat("  commit ", slots[static_cast<std::size_t>(commit.state)].name, " <- ", slot_text(*this, commit.from),
               commit.advance == Advance::always ? "" : " if ok", "\n");
  out += cat("  ", flops / 1e6, " MFLOP, signature ", signature(), "\n");
  return out;
}

}  // namespace strata
