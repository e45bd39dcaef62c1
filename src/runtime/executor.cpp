// SPDX-License-Identifier: Apache-2.0
// Running plans. Everything is bound to addresses when a plan is prepared; a run walks tables.
#include "runtime/executor.h"

#include <algorithm>

namespace strata {

struct Executor::Bound {
  const Plan* plan = nullptr;
  std::size_t replica = 0;
  std::vector<std::shared_ptr<Buffer>> owned;       // constants, packs, feeds that must be copied
  std::vector<void*> fixed;                         // by slot: its address, null for feeds and the arena
  std::vector<void*> addresses;                     // by slot
  std::vector<std::vector<void*>> inputs, outputs;  // by launch
  std::vector<void*> workspaces;
  // Feeds in the order of the plan's map: {slot, {launch, input}…}.
  struct Feed {
    std::string name;
    int slot = -1;
    void* copy = nullptr;  // device memory of its own, when the host's cannot be used
    std::vector<std::pair<int, std::size_t>> readers;
  };
  std::vector<Feed> feeds;
  std::uint64_t version = 0;  // of the store when packs were made
  bool changes_states = false;
};

Executor::Executor(Backend& backend, std::vector<Device> devices, Store& store)
    : backend_(backend), devices_(std::move(devices)), store_(store) {
  arenas_.resize(devices_.size());
  for (const Device& device : devices_) streams_.push_back(backend_.stream(device));
  if (devices_.size() > 1) communicator_ = backend_.connect(devices_);
  running_.resize(devices_.size());
  position_.resize(devices_.size());
  exchange_in_.resize(devices_.size());
  exchange_out_.resize(devices_.size());
}

Executor::~Executor() = default;

void Executor::reserve(std::size_t bytes) {
  if (bytes <= arena_bytes_) return;
  for (auto& arena : arenas_) arena.reset();
  for (std::size_t r = 0; r < devices_.size(); ++r)
    arenas_[r] = backend_.allocate(devices_[r], bytes, "activations and workspace");
  arena_bytes_ = bytes;
  for (auto& [_, known] : bound_) bind(*known);
}

void Executor::bind(Bound& bound) {
  const Plan& plan = *bound.plan;
  bound.addresses = bound.fixed;
  auto* arena = arenas_[bound.replica] ? static_cast<char*>(arenas_[bound.replica]->address) : nullptr;
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    if (plan.slots[s].kind == Slot::Kind::arena) bound.addresses[s] = arena + plan.slots[s].offset;
    if (plan.slots[s].kind == Slot::Kind::state)
      bound.addresses[s] = store_.address(plan.slots[s].name, static_cast<int>(bound.replica));
  }
  auto at = [&](int slot) { return slot < 0 ? nullptr : bound.addresses[static_cast<std::size_t>(slot)]; };
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const PlannedLaunch& launch = plan.launches[l];
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) bound.inputs[l][i] = at(launch.inputs[i]);
    for (std::size_t o = 0; o < launch.outputs.size(); ++o) bound.outputs[l][o] = at(launch.outputs[o]);
    bound.workspaces[l] = at(launch.workspace);
  }
}

Executor::Bound& Executor::bound(const Plan& plan, std::size_t replica) {
  auto& known = bound_[{&plan, replica}];
  if (known) return *known;
  known = std::make_unique<Bound>();
  Bound& made = *known;
  made.plan = &plan;
  made.replica = replica;
  made.fixed.assign(plan.slots.size(), nullptr);
  const Device& device = devices_[replica];
  const bool host = backend_.model(device).host_memory;
  auto own = [&](std::size_t slot, const std::string& purpose) {
    made.owned.push_back(backend_.allocate(device, plan.slots[slot].bytes, purpose));
    return made.fixed[slot] = made.owned.back()->address;
  };
  for (const auto& [slot, value] : plan.constants)
    backend_.copy_in(own(static_cast<std::size_t>(slot), "a constant"), value.host_data(), value.bytes(),
                     *streams_[replica]);
  for (std::size_t s = 0; s < plan.slots.size(); ++s)
    if (plan.slots[s].kind == Slot::Kind::packed) own(s, "a packed " + plan.slots[s].name);
  for (const auto& [name, slot] : plan.feeds) {
    Bound::Feed feed{name, slot, nullptr, {}};
    if (!host) feed.copy = own(static_cast<std::size_t>(slot), "feed " + name);
    made.feeds.push_back(std::move(feed));
  }
  made.inputs.resize(plan.launches.size());
  made.outputs.resize(plan.launches.size());
  made.workspaces.resize(plan.launches.size());
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    made.inputs[l].resize(plan.launches[l].inputs.size());
    made.outputs[l].resize(plan.launches[l].outputs.size());
    for (std::size_t i = 0; i < plan.launches[l].inputs.size(); ++i)
      for (auto& feed : made.feeds)
        if (feed.slot == plan.launches[l].inputs[i]) feed.readers.emplace_back(static_cast<int>(l), i);
    for (const int slot : plan.launches[l].outputs)
      if (slot >= 0 && plan.slots[static_cast<std::size_t>(slot)].kind == Slot::Kind::state) made.changes_states = true;
  }
  made.changes_states = made.changes_states || !plan.commits.empty();
  streams_[replica]->synchronize();
  return made;
}

void Executor::prepare(const Plan& plan) {
  for (std::size_t r = 0; r < devices_.size(); ++r) (void)bound(plan, r);
  reserve(plan.arena_bytes);
  for (std::size_t r = 0; r < devices_.size(); ++r) bind(bound(plan, r));
}

void Executor::prepare(std::span<const Plan> plans) {
  STRATA_CHECK(plans.size() == devices_.size(), plans.size(), " plans for ", devices_.size(), " replicas");
  std::size_t most = 0;
  for (std::size_t r = 0; r < plans.size(); ++r) {
    (void)bound(plans[r], r);
    most = std::max(most, plans[r].arena_bytes);
  }
  reserve(most);
  for (std::size_t r = 0; r < plans.size(); ++r) bind(bound(plans[r], r));
}

void Executor::forget(std::span<const Plan> plans) noexcept {
  for (const Plan& plan : plans) std::erase_if(bound_, [&](const auto& entry) { return entry.first.first == &plan; });
}

Status Executor::launch(const Plan& plan, Bound& bound, int index, bool changed, Stream& stream) noexcept {
  const auto l = static_cast<std::size_t>(index);
  const PlannedLaunch& launch = plan.launches[l];
  if (launch.on_change && !changed) return Status::ok;
  if (launch.copy) {
    backend_.copy(bound.outputs[l][0], bound.inputs[l][0],
                  plan.slots[static_cast<std::size_t>(launch.outputs[0])].bytes, stream);
    return Status::ok;
  }
  return launch.kernel->run({bound.inputs[l], bound.outputs[l], bound.workspaces[l], &stream});
}

RunResult Executor::run(const Plan& plan, std::span<const std::map<std::string, Tensor>> feeds) {
  STRATA_CHECK(devices_.size() == 1, "one plan for ", devices_.size(), " replicas");
  return run(std::span<const Plan>(&plan, 1), feeds);
}

RunResult Executor::run(std::span<const Plan> plans, std::span<const std::map<std::string, Tensor>> feeds) {
  const std::size_t replicas = devices_.size();
  STRATA_CHECK(plans.size() == replicas && feeds.size() == replicas, plans.size(), " plans and ", feeds.size(),
               " feeds for ", replicas, " replicas");
  RunResult result;
  bool changes = false;
  for (std::size_t r = 0; r < replicas; ++r) {
    const auto found = bound_.find({&plans[r], r});
    STRATA_CHECK(found != bound_.end(), "plan ", plans[r].name, " was not prepared");
    Bound& bound = *found->second;
    running_[r] = &bound;
    position_[r] = 0;
    changes = changes || bound.changes_states;
    auto given = feeds[r].begin();
    for (auto& feed : bound.feeds) {  // both in order of name
      while (given != feeds[r].end() && given->first != feed.name) ++given;
      STRATA_CHECK(given != feeds[r].end(), "feed ", feed.name, " of plan ", plans[r].name, " is not given");
      const Tensor& value = given->second;
      STRATA_CHECK(value.type() == plans[r].slots[static_cast<std::size_t>(feed.slot)].type, "feed ", feed.name, " is ",
                   value.type());
      void* address = const_cast<void*>(value.type().bytes() ? value.host_data() : value.address());
      if (feed.copy) {
        backend_.copy_in(feed.copy, address, value.bytes(), *streams_[r]);
        continue;
      }
      bound.addresses[static_cast<std::size_t>(feed.slot)] = address;
      for (const auto& [launch, input] : feed.readers) bound.inputs[static_cast<std::size_t>(launch)][input] = address;
    }
  }
  // Each replica runs to its next collective; then all exchange.
  while (true) {
    bool exchanging = false;
    for (std::size_t r = 0; r < replicas; ++r) {
      const Plan& plan = plans[r];
      const bool changed = running_[r]->version != store_.version();
      int& at = position_[r];
      for (; at < static_cast<int>(plan.launches.size()); ++at) {
        if (plan.launches[static_cast<std::size_t>(at)].collective) {
          exchanging = true;
          break;
        }
        if (launch(plan, *running_[r], at, changed, *streams_[r]) != Status::ok) return {Status::failed, false, at};
      }
    }
    if (!exchanging) break;
    const auto first = static_cast<std::size_t>(position_[0]);
    STRATA_CHECK(first < plans[0].launches.size(), "replica 0 has no exchange where another has one");
    const Type& type = plans[0].slots[static_cast<std::size_t>(plans[0].launches[first].inputs[0])].type;
    for (std::size_t r = 0; r < replicas; ++r) {
      streams_[r]->synchronize();
      const auto at = static_cast<std::size_t>(position_[r]);
      STRATA_CHECK(at < plans[r].launches.size() && plans[r].launches[at].collective, "replica ", static_cast<int>(r),
                   " has no exchange where replica 0 has one");
      const Type& own = plans[r].slots[static_cast<std::size_t>(plans[r].launches[at].inputs[0])].type;
      STRATA_CHECK(own == type, "replica ", static_cast<int>(r), " exchanges ", own, " where replica 0 does ", type);
      exchange_in_[r] = running_[r]->inputs[at][0];
      exchange_out_[r] = running_[r]->outputs[at][0];
    }
    if (communicator_->all_reduce(exchange_in_, exchange_out_, type) != Status::ok)
      return {Status::failed, false, position_[0]};
    for (std::size_t r = 0; r < replicas; ++r) ++position_[r];
  }
  if (plans[0].ok >= 0) {
    bool ok = true;
    backend_.copy_out(&ok, running_[0]->addresses[static_cast<std::size_t>(plans[0].ok)], 1, *streams_[0]);
    result.committed = ok;
  }
  for (std::size_t r = 0; r < replicas; ++r) {
    for (const Commit& commit : plans[r].commits) {
      if (commit.advance == Advance::if_ok && !result.committed) continue;
      backend_.copy(running_[r]->addresses[static_cast<std::size_t>(commit.state)],
                    running_[r]->addresses[static_cast<std::size_t>(commit.from)],
                    plans[r].slots[static_cast<std::size_t>(commit.state)].bytes, *streams_[r]);
    }
    streams_[r]->synchronize();
  }
  for (std::size_t r = 0; r < replicas; ++r) running_[r]->version = store_.version();
  if (changes) store_.changed();
  return result;
}

Tensor Executor::output(const Plan& plan, const std::string& name, int replica) const {
  const auto slot = plan.outputs.find(name);
  if (slot == plan.outputs.end()) throw Error(cat("plan ", plan.name, " has no output '", name, "'"));
  const auto found = bound_.find({&plan, static_cast<std::size_t>(replica)});
  STRATA_CHECK(found != bound_.end(), "plan ", plan.name, " was not prepared");
  const Slot& place = plan.slots[static_cast<std::size_t>(slot->second)];
  Tensor value(place.type);
  if (value.bytes())
    backend_.copy_out(value.host_data(), found->second->addresses[static_cast<std::size_t>(slot->second)],
                      value.bytes(), *streams_[static_cast<std::size_t>(replica)]);
  return value;
}

std::size_t Executor::allocated_bytes() const {
  std::size_t total = arena_bytes_;
  for (const auto& [key, known] : bound_) {
    if (key.second != 0) continue;
    for (const auto& buffer : known->owned) total += buffer->bytes;
  }
  return total;
}

}  // namespace strata
