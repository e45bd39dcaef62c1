// SPDX-License-Identifier: Apache-2.0
// Where each array lies: next values in their state's memory where that is safe, results in their dying inputs' memory
// where the kernel allows, everything else in one arena by lifetime.
#include <algorithm>
#include <numeric>

#include "compiler/pass.h"

namespace strata {

namespace {

struct Block {
  int first = 0, last = 0;
  std::size_t bytes = 0, offset = 0;
};

// Best fit in the order given; the end of the highest block.
std::size_t fit(std::vector<Block>& blocks, const std::vector<std::size_t>& order) {
  std::vector<const Block*> placed;  // by offset
  std::size_t end = 0;
  for (const std::size_t index : order) {
    Block& block = blocks[index];
    std::size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (other->offset > at) {
        const std::size_t gap = other->offset - at;
        if (gap >= block.bytes && gap < best_gap) {
          best = at;
          best_gap = gap;
        }
      }
      at = std::max(at, other->offset + other->bytes);
    }
    block.offset = best == SIZE_MAX ? at : best;
    end = std::max(end, block.offset + block.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &block,
                                   [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  &block);
  }
  return end;
}

class Placement {
 public:
  Placement(Draft& draft, bool share) : draft_(draft), share_(share), count_(static_cast<int>(draft.launches.size())) {
    const std::size_t slots = draft.plan.slots.size();
    home_.resize(slots);
    std::iota(home_.begin(), home_.end(), 0);
    made_by_.assign(slots, -1);
    last_read_.assign(slots, -1);
    for (const auto& [view, from] : draft.views) home_[static_cast<std::size_t>(view)] = from;
    for (int l = 0; l < count_; ++l) {
      const PlannedLaunch& launch = at(l).launch;
      for (const int slot : launch.inputs)
        if (slot >= 0) last_read_[home(slot)] = l;
      for (const int slot : launch.outputs)
        if (slot >= 0) made_by_[home(slot)] = l;
    }
    // Read after the last launch.
    auto keep = [&](int slot) { last_read_[home(slot)] = count_; };
    for (const auto& [_, slot] : draft.plan.outputs) keep(slot);
    if (draft.plan.ok >= 0) keep(draft.plan.ok);
  }

  void run() {
    nexts();
    in_place();
    arena();
  }

 private:
  DraftLaunch& at(int launch) { return draft_.launches[static_cast<std::size_t>(launch)]; }
  std::size_t home(int slot) const {
    while (home_[static_cast<std::size_t>(slot)] != slot) slot = home_[static_cast<std::size_t>(slot)];
    return static_cast<std::size_t>(slot);
  }
  Slot& slot(std::size_t index) { return draft_.plan.slots[index]; }

  bool allows(const DraftLaunch& launch, int output, std::size_t input) const {
    return std::ranges::find(launch.in_place, std::pair(output, static_cast<int>(input))) != launch.in_place.end();
  }

  // A next value may be written straight into the state when nothing reads the old one afterwards, and its own kernel,
  // if it reads it, does so element by element.
  bool straight(const Commit& next) {
    const std::size_t from = home(next.from), state = home(next.state);
    if (!share_ || slot(from).kind != Slot::Kind::arena || draft_.made_in[from] >= 0 ||
        (next.advance == Advance::if_ok && draft_.plan.ok >= 0))
      return false;
    const int writer = made_by_[from];
    if (writer < 0 || last_read_[state] > writer || slot(from).bytes != slot(state).bytes) return false;
    // Outputs are copied after the run from the arena; a state would have changed by then only if a later plan ran.
    const DraftLaunch& launch = at(writer);
    if (launch.launch.collective || launch.launch.copy) return false;
    int output = -1;
    for (std::size_t o = 0; o < launch.launch.outputs.size(); ++o)
      if (launch.launch.outputs[o] >= 0 && home(launch.launch.outputs[o]) == from) output = static_cast<int>(o);
    for (std::size_t i = 0; i < launch.launch.inputs.size(); ++i)
      if (launch.launch.inputs[i] >= 0 && home(launch.launch.inputs[i]) == state && !allows(launch, output, i))
        return false;
    return true;
  }

  void nexts() {
    for (const Commit& next : draft_.nexts) {
      if (straight(next)) {
        draft_.made_in[home(next.from)] = next.state;
      } else {
        last_read_[home(next.from)] = count_;
        draft_.plan.commits.push_back(next);
      }
    }
  }

  void in_place() {
    if (!share_) return;
    for (int l = 0; l < count_; ++l) {
      DraftLaunch& launch = at(l);
      for (const auto& [output, input] : launch.in_place) {
        const int out = launch.launch.outputs[static_cast<std::size_t>(output)],
                  in = launch.launch.inputs[static_cast<std::size_t>(input)];
        if (out < 0 || in < 0) continue;
        const std::size_t to = home(out), from = home(in);
        if (to == from || slot(to).kind != Slot::Kind::arena || slot(from).kind != Slot::Kind::arena ||
            draft_.made_in[to] >= 0 || draft_.made_in[from] >= 0)
          continue;
        if (last_read_[from] != l || slot(from).bytes < slot(to).bytes || made_by_[to] != l) continue;
        // Another input, or another output, in the same memory would see it change.
        const auto also =
            std::ranges::count_if(launch.launch.inputs, [&](int other) { return other >= 0 && home(other) == from; });
        const auto taken =
            std::ranges::count_if(launch.launch.outputs, [&](int other) { return other >= 0 && home(other) == from; });
        if (also != 1 || taken != 0) continue;
        home_[to] = static_cast<int>(from);
        last_read_[from] = std::max(last_read_[from], last_read_[to]);
      }
    }
  }

  void arena() {
    std::vector<Block> blocks;
    std::vector<int> block_of(draft_.plan.slots.size(), -1);
    for (std::size_t s = 0; s < draft_.plan.slots.size(); ++s) {
      if (home(static_cast<int>(s)) != s || slot(s).kind != Slot::Kind::arena || draft_.made_in[s] >= 0) continue;
      const int first = share_ ? std::max(0, made_by_[s]) : 0, last = share_ ? std::max(first, last_read_[s]) : count_;
      block_of[s] = static_cast<int>(blocks.size());
      blocks.push_back({first, last, aligned(slot(s).bytes)});
    }
    std::vector<std::pair<int, int>> workspaces;  // launch, block
    for (int l = 0; l < count_; ++l)
      if (at(l).workspace_bytes) {
        workspaces.emplace_back(l, static_cast<int>(blocks.size()));
        blocks.push_back({share_ ? l : 0, share_ ? l : count_, aligned(at(l).workspace_bytes)});
      }
    std::vector<std::size_t> live(static_cast<std::size_t>(count_) + 1, 0);
    for (const Block& block : blocks)
      for (int l = block.first; l <= block.last && l <= count_; ++l) live[static_cast<std::size_t>(l)] += block.bytes;
    draft_.plan.max_live_bytes = live.empty() ? 0 : *std::ranges::max_element(live);
    auto size = [&](std::size_t i) { return static_cast<double>(blocks[i].bytes); };
    auto life = [&](std::size_t i) { return static_cast<double>(blocks[i].last - blocks[i].first + 1); };
    std::vector<Block> best;
    draft_.plan.arena_bytes = SIZE_MAX;
    const auto attempt = [&](const std::vector<std::size_t>& order) {
      const std::size_t end = fit(blocks, order);
      if (end >= draft_.plan.arena_bytes) return;
      draft_.plan.arena_bytes = end;
      best = blocks;
    };
    for (int how = 0; how < 3 && draft_.plan.arena_bytes > draft_.plan.max_live_bytes; ++how) {
      std::vector<std::size_t> order(blocks.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return how == 0   ? size(a) > size(b)
               : how == 1 ? size(a) * life(a) > size(b) * life(b)
                          : std::pair(life(a), size(a)) > std::pair(life(b), size(b));
      });
      attempt(order);
      // The block that lies highest came too late to find its place: it goes first.
      for (int more = 0; more < 12 && draft_.plan.arena_bytes > draft_.plan.max_live_bytes * 101 / 100; ++more) {
        const auto highest =
            std::ranges::max_element(order, {}, [&](std::size_t i) { return blocks[i].offset + blocks[i].bytes; });
        std::rotate(order.begin(), highest, highest + 1);
        attempt(order);
      }
    }
    if (blocks.empty()) draft_.plan.arena_bytes = 0;
    for (std::size_t s = 0; s < draft_.plan.slots.size(); ++s) {
      if (slot(s).kind != Slot::Kind::arena) continue;
      const std::size_t root = home(static_cast<int>(s));
      if (const int state = draft_.made_in[root]; state >= 0) {
        slot(s).kind = Slot::Kind::state;
        slot(s).name = slot(static_cast<std::size_t>(state)).name;
        continue;
      }
      if (slot(root).kind != Slot::Kind::arena) {
        slot(s).kind = slot(root).kind;
        slot(s).name = slot(root).name;
        continue;
      }
      const Block& block = best[static_cast<std::size_t>(block_of[root])];
      slot(s).offset = block.offset;
      slot(s).first = block.first;
      slot(s).last = block.last;
    }
    for (const auto& [launch, block] : workspaces) {
      Slot workspace;
      workspace.bytes = at(launch).workspace_bytes;
      workspace.offset = best[static_cast<std::size_t>(block)].offset;
      workspace.name = "workspace";
      workspace.type = {{static_cast<std::int64_t>(workspace.bytes)}, DType::uint8};
      workspace.first = workspace.last = launch;
      at(launch).launch.workspace = static_cast<int>(draft_.plan.slots.size());
      draft_.plan.slots.push_back(workspace);
    }
  }

  Draft& draft_;
  bool share_;
  int count_;
  std::vector<int> home_;  // by slot: whose bytes these are
  std::vector<int> made_by_, last_read_;
};

}  // namespace

void place(Draft& draft, bool share) {
  draft.made_in.resize(draft.plan.slots.size(), -1);
  Placement(draft, share).run();
  for (DraftLaunch& launch : draft.launches) draft.plan.launches.push_back(std::move(launch.launch));
}

}  // namespace strata
