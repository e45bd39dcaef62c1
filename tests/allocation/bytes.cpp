// SPDX-License-Identifier: Apache-2.0
// What a plan says it needs is what its device is asked for, to the byte; and the plans of real models run within it.
#include <doctest/doctest.h>

#include "support/plan_memory.h"
#include "support/small_models.h"

namespace strata::test {
namespace {

// The CPU under another name, whose allocations are known.
class CountedBackend final : public Backend {
 public:
  std::string_view name() const override { return "counted"; }
  std::vector<Device> devices() const override { return {{"counted", 0}}; }
  DeviceModel model(const Device&) const override { return cpu().model(on_cpu); }
  Choice choose(const Problem& problem) const override { return cpu().choose(problem); }
  std::shared_ptr<Buffer> allocate(const Device&, std::size_t bytes, std::string_view purpose) override {
    const auto buffer = std::make_shared<HeldBuffer>(cpu().allocate(on_cpu, bytes, purpose));
    buffers_.emplace_back(purpose, buffer);
    return buffer;
  }
  std::unique_ptr<Stream> stream(const Device&) override { return cpu().stream(on_cpu); }
  void copy_in(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    cpu().copy_in(to, from, bytes, stream);
  }
  void copy_out(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    cpu().copy_out(to, from, bytes, stream);
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    cpu().copy(to, from, bytes, stream);
  }
  std::unique_ptr<Communicator> connect(std::span<const Device>) override { return cpu().connect({}); }
  std::size_t free_bytes(const Device&) const override { return cpu().free_bytes(on_cpu); }

  // Bytes held at present, by what they are for: "arena", "fixed" (constants, packs) or "states".
  std::map<std::string, std::size_t> held() const {
    std::map<std::string, std::size_t> all;
    for (const auto& [purpose, weak] : buffers_) {
      const auto buffer = weak.lock();
      if (!buffer) continue;
      const bool fixed = purpose.starts_with("a constant") || purpose.starts_with("a packed");
      all[purpose == "activations and workspace" ? "arena" : fixed ? "fixed" : "states"] += buffer->bytes;
    }
    return all;
  }

 private:
  struct HeldBuffer final : Buffer {
    explicit HeldBuffer(const std::shared_ptr<Buffer>& inner)
        : Buffer({"counted", 0}, inner->address, inner->bytes, inner->host), inner(inner) {}
    std::shared_ptr<Buffer> inner;
  };
  static Backend& cpu() { return backend("cpu"); }
  inline static const Device on_cpu{"cpu", 0};
  std::vector<std::pair<std::string, std::weak_ptr<Buffer>>> buffers_;
};

CountedBackend& counted() {
  static CountedBackend& known = [&]() -> CountedBackend& {
    add_backend(std::make_unique<CountedBackend>());
    return dynamic_cast<CountedBackend&>(backend("counted"));
  }();
  return known;
}

std::size_t fixed_bytes(const Plan& plan) {
  std::size_t bytes = 0;
  for (const Slot& slot : plan.slots) {
    if (slot.kind == Slot::Kind::constant || slot.kind == Slot::Kind::packed) bytes += slot.bytes;
  }
  return bytes;
}
std::size_t state_bytes(const Plan& plan) {
  std::size_t bytes = 0;
  for (const auto& [path, slot] : plan.states) bytes += plan.slots[static_cast<std::size_t>(slot)].bytes;
  return bytes;
}

// Whether launches leave alone what others still read; kernels may write over inputs that lie where an output does.
std::string fault_of(const Plan& plan) {
  std::vector<int> written(plan.slots.size(), 0), kept;
  for (const PlannedLaunch& launch : plan.launches) {
    for (const int slot : launch.outputs) {
      if (slot < 0) continue;
      written[static_cast<std::size_t>(slot)] = 1;
      if (plan.slots[static_cast<std::size_t>(slot)].kind == Slot::Kind::state) kept.push_back(slot);
    }
  }
  const auto root = [&](int view) {  // a slot that no launch writes names another's bytes
    const Slot& slot = plan.slots[static_cast<std::size_t>(view)];
    if (slot.kind != Slot::Kind::arena || written[static_cast<std::size_t>(view)]) return view;
    int found = view;
    for (std::size_t s = 0; s < plan.slots.size(); ++s) {
      const Slot& other = plan.slots[s];
      if (written[s] && other.kind == slot.kind && other.offset == slot.offset && other.last == slot.last)
        found = static_cast<int>(s);
    }
    return found;
  };
  return memory_fault(
      plan, [](int, int, int) { return true; }, root, kept);
}

TEST_CASE("the arena, constants, packs and states of a plan are what its device holds, to the byte") {
  for (const SmallModel& small : small_models()) {
    for (const bool evaluation : {false, true}) {
      const std::string what = small.name + (evaluation ? ", evaluation" : ", training");
      CHECK_MESSAGE(counted().held().empty(), "before ", what);
      Model model = small.make();
      CompileSettings settings = small_settings();
      settings.strategy = Strategy(DefaultStrategy{.device = "counted:0"});
      model.compile(settings);
      model.build();
      Model::Core& core = model.core();
      const Fed fed = feed_tensors(core, small.x, small.y, {});
      Compilation& compilation = evaluation ? core.evaluate_plan(fed.types) : core.train_plan(fed.types).micro;
      const Plan& plan = compilation.plans[0];
      const auto check_held = [&](const std::string& when) {
        auto held = counted().held();
        CHECK_MESSAGE(held["arena"] == plan.arena_bytes, what, when);
        CHECK_MESSAGE(held["fixed"] == fixed_bytes(plan), what, when);
        CHECK_MESSAGE(held["states"] == core.store.bytes(), what, when);
        CHECK_MESSAGE(core.ready().executor().allocated_bytes() == held["arena"] + held["fixed"], what, when);
      };
      check_held(" before a run");
      if (!evaluation) CHECK_MESSAGE(core.store.bytes() == state_bytes(plan), what);
      REQUIRE(core.run(compilation, fed.feeds).status == Status::ok);
      check_held(" after a run");
    }
  }
}

TEST_CASE("several plans share one arena, as large as the largest asks") {
  const SmallModel small = small_models()[0];
  Model model = small.make();
  CompileSettings settings = small_settings();
  settings.strategy = Strategy(DefaultStrategy{.device = "counted:0"});
  model.compile(settings);
  model.build();
  std::size_t most = 0, fixed = 0;
  for (const std::int64_t rows : {8, 32, 16}) {
    const Fed fed = feed_tensors(model.core(), {small.x[0].rows(0, rows)}, {small.y[0].rows(0, rows)}, {});
    const Plan& plan = model.core().train_plan(fed.types).micro.plans[0];
    most = std::max(most, plan.arena_bytes);
    fixed += fixed_bytes(plan);
    CHECK(counted().held()["arena"] == most);
    CHECK(counted().held()["fixed"] == fixed);
  }
}

TEST_CASE("in the plans of five kinds of models nothing is written over too early, within 1 % of what lives at once") {
  for (const SmallModel& small : small_models()) {
    for (const std::int64_t replicas : {1, 2}) {
      Model model = small.make();
      CompileSettings settings = small_settings();
      if (replicas > 1) settings.strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}});
      model.compile(settings);
      model.build();
      Model::Core& core = model.core();
      const Fed fed = feed_tensors(core, small.x, small.y, {});
      for (const Compilation* compilation : {&core.train_plan(fed.types).micro, &core.evaluate_plan(fed.types)}) {
        for (const Plan& plan : compilation->plans) {
          CHECK_MESSAGE(fault_of(plan) == "", small.name, ", ", plan.name, "\n", plan.text());
          CHECK_MESSAGE(plan.arena_bytes >= plan.max_live_bytes, small.name, ", ", plan.name);
          CHECK_MESSAGE(static_cast<double>(plan.arena_bytes) <= static_cast<double>(plan.max_live_bytes) * 1.01,
                        small.name, ", ", plan.name, ": ", plan.arena_bytes, " for ", plan.max_live_bytes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::test
