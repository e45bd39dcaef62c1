// SPDX-License-Identifier: Apache-2.0
// A run allocates nothing: everything it needs was made when its plan was prepared. oneDNN is the exception, and this is
// how far it goes: each call of a primitive keeps its arguments in a map of its own (some hundred bytes), and sgemm, which
// its primitive that takes our memory is slower than for most shapes, packs its operands in buffers from malloc. All of it
// is given back before the run ends.
#include <doctest/doctest.h>

#include <malloc.h>

#include "support/allocations.h"
#include "support/skip.h"
#include "support/small_models.h"

namespace strata::test {
namespace {

constexpr std::size_t bookkeeping_bytes = 4096;

// Whether oneDNN's sgemm runs in it: alone, with an epilogue, or step by step in a recurrence.
bool multiplies(const Plan& plan) {
  for (const PlannedLaunch& launch : plan.launches) {
    if (launch.kernel_name.find("sgemm") != std::string::npos || launch.op.starts_with("lstm")) return true;
  }
  return false;
}

std::size_t heap_in_use() {
#if defined(__GLIBC__)
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#else
  return 0;
#endif
}

// The plan's allocations in a run, after one that may settle what libraries make once a thread.
void check_run(Runner& runner, Compilation& compilation, const std::string& what) {
  REQUIRE(runner.executor().run(compilation.plans, compilation.feeds).status == Status::ok);
  start_counting_allocations();
  const RunResult result = runner.executor().run(compilation.plans, compilation.feeds);
  const Allocations made = stop_counting_allocations();
  REQUIRE(result.status == Status::ok);
  CHECK_MESSAGE(made.own.count == 0, what, ": ", made.own.count, " allocations, the first by", made.own.first);
  const std::size_t before = heap_in_use();
  for (int i = 0; i < 20; ++i) (void)runner.executor().run(compilation.plans, compilation.feeds);
  // What threads keep for their next small allocations counts as in use.
  const std::size_t after = heap_in_use();
  CHECK_MESSAGE(after <= before + bookkeeping_bytes, what, ": ", after - before, " bytes stay allocated");
  if (!multiplies(compilation.plans[0])) {
    CHECK_MESSAGE(made.library.largest <= bookkeeping_bytes, what, ": oneDNN allocates ", made.library.largest,
                  " bytes in a plan of\n", compilation.plans[0].text());
  }
}

TEST_CASE("the counter counts what this program and what a library allocate") {
  if (!allocations_are_counted()) return skip("a sanitizer has its own malloc");
  start_counting_allocations();
  const auto owned = std::make_unique<std::vector<int>>(100);
  std::string message = cat(std::string(100, 'x'), owned->size());
  void* aligned = std::aligned_alloc(64, 128);
  const Allocations made = stop_counting_allocations();
  std::free(aligned);
  CHECK(made.own.count >= 4);
  CHECK(made.own.largest >= 100 * sizeof(int));
  CHECK(made.library.count == 0);
}

TEST_CASE("training and evaluation of five kinds of models allocate nothing in a run") {
  if (!allocations_are_counted()) return skip("a sanitizer has its own malloc");
  for (const SmallModel& small : small_models()) {
    Model model = small.make();
    model.compile(small_settings());
    model.build();
    Model::Core& core = model.core();
    const Fed fed = feed_tensors(core, small.x, small.y, {});
    StepPlans& plans = core.train_plan(fed.types);
    REQUIRE(StepRunner(core).run(plans, fed.feeds, 0).status == Status::ok);
    check_run(core.ready(), plans.micro, small.name + ", training");
    Compilation& evaluation = core.evaluate_plan(fed.types);
    REQUIRE(core.run(evaluation, fed.feeds).status == Status::ok);
    check_run(core.ready(), evaluation, small.name + ", evaluation");
  }
}

TEST_CASE("convolutions, norms and pooling work in the plan's memory alone") {
  if (!allocations_are_counted()) return skip("a sanitizer has its own malloc");
  Sequential model({14, 14, 3}, {Conv2D{.filters = 16, .kernel_size = 3, .activation = "relu"}, BatchNormalization{},
                                 MaxPooling2D{}, Conv2D{.filters = 5, .kernel_size = 3}, GlobalAveragePooling2D{}});
  model.compile(small_settings());
  model.build();
  Model::Core& core = model.core();
  const Fed fed = feed_tensors(core, {numbers({32, 14, 14, 3}, 1)}, {classes(32, 5)}, {});
  StepPlans& plans = core.train_plan(fed.types);
  REQUIRE_FALSE(multiplies(plans.micro.plans[0]));
  REQUIRE(StepRunner(core).run(plans, fed.feeds, 0).status == Status::ok);
  check_run(core.ready(), plans.micro, "no products");
}

TEST_CASE("neither do the two plans of an accumulated step, nor replicas") {
  if (!allocations_are_counted()) return skip("a sanitizer has its own malloc");
  const SmallModel small = small_models()[0];
  Model model = small.make();
  CompileSettings settings = small_settings();
  settings.optimizer = Optimizer(Adam{}, {.gradient_accumulation_steps = 2});
  model.compile(settings);
  model.build();
  Model::Core& core = model.core();
  const Fed fed = feed_tensors(core, small.x, small.y, {});
  StepPlans& plans = core.train_plan(fed.types);
  REQUIRE_FALSE(plans.joined);
  for (int i = 0; i < 2; ++i) REQUIRE(StepRunner(core).run(plans, fed.feeds, 0).status == Status::ok);
  check_run(core.ready(), plans.micro, "a part of a step");
  check_run(core.ready(), plans.update, "the update");

  Model spread = small.make();
  settings = small_settings();
  settings.strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}});
  spread.compile(settings);
  spread.build();
  Model::Core& two = spread.core();
  const Fed rows = feed_tensors(two, small.x, small.y, {});
  StepPlans& replicated = two.train_plan(rows.types);
  REQUIRE(StepRunner(two).run(replicated, rows.feeds, 0).status == Status::ok);
  check_run(two.ready(), replicated.micro, "two replicas");
}

}  // namespace
}  // namespace strata::test
