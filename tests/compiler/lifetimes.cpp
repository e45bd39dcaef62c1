// SPDX-License-Identifier: Apache-2.0
// Random launches over random arrays: whatever the lifetimes, nothing that is still read is written over, and the arena
// is next to no larger than what lives at once.
#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/pass.h"
#include "support/arrays.h"
#include "support/plan_memory.h"

namespace strata::test {
namespace {

class RandomDraft {
 public:
  explicit RandomDraft(std::uint64_t seed) : numbers_(seed) {
    for (int i = 0; i < 8; ++i) numbers_.next();
  }

  Draft run(int launches) {
    for (int i = 0; i < 3; ++i) pool_.push_back(leaf(Slot::Kind::feed, cat("x", i)));
    for (int i = 0; i < 4; ++i) pool_.push_back(leaf(Slot::Kind::state, cat("w", i)));
    for (int l = 0; l < launches; ++l) launch();
    ends();
    draft_.made_in.assign(draft_.plan.slots.size(), -1);
    return std::move(draft_);
  }

 private:
  int pick(std::size_t below) { return static_cast<int>(numbers_.next() * static_cast<double>(below)); }
  bool chance(double share) { return numbers_.next() < share; }
  std::size_t bytes() { return chance(0.3) ? 256 : static_cast<std::size_t>(pick(3000)); }

  int slot(Slot::Kind kind, std::size_t bytes, std::string name) {
    Slot made;
    made.kind = kind;
    made.bytes = bytes;
    made.type = {{static_cast<std::int64_t>(bytes)}, DType::uint8};
    made.name = std::move(name);
    draft_.plan.slots.push_back(made);
    return static_cast<int>(draft_.plan.slots.size()) - 1;
  }
  int leaf(Slot::Kind kind, const std::string& name) {
    const int made = slot(kind, bytes(), name);
    (kind == Slot::Kind::state ? draft_.plan.states : draft_.plan.feeds)[name] = made;
    return made;
  }
  int recent() {  // more often a late one, as in a network
    const double back = numbers_.next() * numbers_.next();
    return pool_[pool_.size() - 1 - static_cast<std::size_t>(back * static_cast<double>(pool_.size()))];
  }

  void launch() {
    DraftLaunch made;
    made.launch.op = "op";
    for (int inputs = pick(4); inputs >= 0; --inputs) made.launch.inputs.push_back(chance(0.1) ? -1 : recent());
    made.launch.copy = false;
    made.launch.collective = chance(0.1);
    if (chance(0.3)) made.workspace_bytes = bytes();
    for (int outputs = pick(3); outputs >= 0; --outputs) {
      if (!made.launch.outputs.empty() && chance(0.2)) {
        made.launch.outputs.push_back(-1);
        continue;
      }
      const int like = made.launch.inputs[static_cast<std::size_t>(pick(made.launch.inputs.size()))];
      const bool same = like >= 0 && chance(0.6);
      const int out =
          slot(Slot::Kind::arena, same ? draft_.plan.slots[static_cast<std::size_t>(like)].bytes : bytes(), "op");
      const int output = static_cast<int>(made.launch.outputs.size());
      made.launch.outputs.push_back(out);
      for (std::size_t i = 0; i < made.launch.inputs.size(); ++i) {
        if (chance(0.5)) made.in_place.emplace_back(output, static_cast<int>(i));
      }
    }
    for (const int out : made.launch.outputs) {
      if (out >= 0) pool_.push_back(out);
    }
    draft_.launches.push_back(std::move(made));
  }

  void ends() {
    draft_.plan.ok = chance(0.3) ? pool_.back() : -1;
    if (draft_.plan.ok >= 0 && kind(draft_.plan.ok) != Slot::Kind::arena) draft_.plan.ok = -1;
    for (const auto& [path, state] : draft_.plan.states) {
      if (chance(0.2)) continue;
      for (int tries = 0; tries < 20; ++tries) {
        const int from = recent();
        if (kind(from) != Slot::Kind::arena) continue;
        if (size(from) != size(state)) continue;
        draft_.nexts.push_back({state, from, chance(0.2) ? Advance::if_ok : Advance::always});
        break;
      }
    }
    for (int outputs = 0; outputs < 3; ++outputs) {
      const int from = recent();
      if (kind(from) != Slot::Kind::arena) continue;
      int named = from;
      if (chance(0.4)) {
        named = slot(Slot::Kind::arena, size(from), "view");
        draft_.views.emplace_back(named, from);
      }
      draft_.plan.outputs[cat("y", outputs)] = named;
    }
  }
  Slot::Kind kind(int s) const { return draft_.plan.slots[static_cast<std::size_t>(s)].kind; }
  std::size_t size(int s) const { return draft_.plan.slots[static_cast<std::size_t>(s)].bytes; }

  Numbers numbers_;
  Draft draft_;
  std::vector<int> pool_;
};

struct Placed {
  Plan plan;
  std::string fault;
  int straight = 0, shared = 0;  // next values in their state, results in an input
};

Placed place_draft(Draft draft, bool share) {
  std::vector<std::vector<std::pair<int, int>>> in_place;
  for (const DraftLaunch& launch : draft.launches) in_place.push_back(launch.in_place);
  std::map<int, int> roots(draft.views.begin(), draft.views.end());
  const auto nexts = draft.nexts;
  place(draft, share);
  std::vector<int> kept;
  for (const Commit& next : nexts) kept.push_back(next.from);
  Placed placed;
  placed.plan = std::move(draft.plan);
  placed.fault = memory_fault(
      placed.plan,
      [&](int l, int o, int i) {
        const auto& pairs = in_place[static_cast<std::size_t>(l)];
        return std::ranges::find(pairs, std::pair(o, i)) != pairs.end();
      },
      [&](int s) { return roots.count(s) ? roots.at(s) : s; }, kept);
  for (const Commit& next : nexts) {
    const Slot& from = placed.plan.slots[static_cast<std::size_t>(next.from)];
    const bool committed = std::ranges::any_of(placed.plan.commits, [&](const Commit& commit) {
      return commit.state == next.state && commit.from == next.from && commit.advance == next.advance;
    });
    const bool straight =
        from.kind == Slot::Kind::state && from.name == placed.plan.slots[static_cast<std::size_t>(next.state)].name;
    if (committed == straight) placed.fault = "a next value is nowhere";
    placed.straight += straight;
    if (straight && next.advance == Advance::if_ok && placed.plan.ok >= 0) placed.fault = "written although not ok";
  }
  for (const PlannedLaunch& launch : placed.plan.launches) {
    const auto& slots = placed.plan.slots;
    for (const int out : launch.outputs) {
      for (const int in : launch.inputs) {
        if (out < 0 || in < 0) continue;
        const Slot &a = slots[static_cast<std::size_t>(out)], &b = slots[static_cast<std::size_t>(in)];
        placed.shared += a.kind == Slot::Kind::arena && b.kind == a.kind && a.bytes && a.offset == b.offset;
      }
    }
  }
  return placed;
}

TEST_CASE("whatever the lifetimes, no array is written over while it is read, and lines do not straddle") {
  int straight = 0, shared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const int launches = static_cast<int>(3 + seed % 40);
    const Placed placed = place_draft(RandomDraft(seed).run(launches), true);
    CHECK_MESSAGE(placed.fault.empty(), "seed ", seed, ": ", placed.fault);
    CHECK(placed.plan.arena_bytes >= placed.plan.max_live_bytes);
    straight += placed.straight;
    shared += placed.shared;
    const Placed alone = place_draft(RandomDraft(seed).run(launches), false);
    CHECK_MESSAGE(alone.fault.empty(), "seed ", seed, ", nothing shared: ", alone.fault);
    CHECK(alone.straight + alone.shared == 0);
    CHECK(alone.plan.arena_bytes >= placed.plan.arena_bytes);
  }
  CHECK(straight > 200);
  CHECK(shared > 2000);
}

// Arrays of a training step: activations from their layer forward to the same layer backward, a few short ones between.
Draft training_step(std::uint64_t seed, int layers) {
  Numbers numbers(seed);
  for (int i = 0; i < 8; ++i) numbers.next();
  Draft draft;
  const auto slot = [&](double most) {
    Slot made;
    made.bytes = static_cast<std::size_t>(std::exp(numbers.next() * std::log(most)));
    made.type = {{static_cast<std::int64_t>(made.bytes)}, DType::uint8};
    draft.plan.slots.push_back(made);
    return static_cast<int>(draft.plan.slots.size()) - 1;
  };
  const auto launch = [&](std::vector<int> inputs, std::vector<int> outputs) {
    DraftLaunch made;
    made.launch.inputs = std::move(inputs);
    made.launch.outputs = std::move(outputs);
    if (numbers.next() < 0.4) made.workspace_bytes = static_cast<std::size_t>(1 + numbers.next() * 1e5);
    draft.launches.push_back(std::move(made));
  };
  std::vector<int> kept{slot(1e6)};
  launch({}, {kept[0]});
  for (int layer = 0; layer < layers; ++layer) {
    const int before = slot(1e6), after = slot(1e6);
    launch({kept.back()}, {before});
    launch({before}, {after});
    kept.push_back(after);
  }
  int gradient = slot(1e6);
  launch({kept.back()}, {gradient});
  for (std::size_t layer = kept.size(); layer-- > 1;) {
    const int next = slot(1e6), of_weight = slot(1e5);
    launch({gradient, kept[layer]}, {of_weight});
    launch({gradient, kept[layer - 1]}, {next});
    draft.plan.outputs[cat("gradient", layer)] = of_weight;
    gradient = next;
  }
  draft.made_in.assign(draft.plan.slots.size(), -1);
  return draft;
}

TEST_CASE(
    "with sizes of six orders of magnitude an arena is within 0.5 % of what lives at once on average, 8 % at most") {
  double sum = 0, most = 0;
  const int count = 200;
  for (int seed = 0; seed < count; ++seed) {
    const Placed placed = place_draft(training_step(static_cast<std::uint64_t>(seed), 5 + seed % 60), true);
    CHECK_MESSAGE(placed.fault.empty(), "seed ", seed, ": ", placed.fault);
    const double over =
        static_cast<double>(placed.plan.arena_bytes) / static_cast<double>(placed.plan.max_live_bytes) - 1;
    sum += over;
    most = std::max(most, over);
  }
  MESSAGE("over the bound: ", sum / count * 100, " % on average, ", most * 100, " % at most");
  CHECK(most <= 0.08);
  CHECK(sum / count <= 0.005);
}

TEST_CASE("no launches need no arena") {
  Draft draft;
  place(draft, true);
  CHECK(draft.plan.arena_bytes == 0);
  CHECK(draft.plan.max_live_bytes == 0);
}

}  // namespace
}  // namespace strata::test
