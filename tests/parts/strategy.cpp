// SPDX-License-Identifier: Apache-2.0
// Strategies as far as they declare: meshes, shardings, the one in scope.
#include "strata/strategy.h"

#include <doctest/doctest.h>

#include <thread>

#include "strata/strategies/default.h"
#include "strata/strategies/mirrored.h"
#include "support/message.h"

using namespace strata;
using strata::test::message_of;
using strategies::DefaultStrategy;
using strategies::MirroredStrategy;

namespace {

const Devices one_cpu{{"cpu", 0}}, two_gpus{{"cuda", 0}, {"cuda", 1}, {"cpu", 0}};

std::string mesh_text(const Strategy& strategy, const Devices& available) {
  const Mesh mesh = strategy->mesh(available);
  std::string text = cat(mesh.extent("data"), " of");
  for (const Device& device : mesh.devices) text += cat(" ", device);
  return text;
}

}  // namespace

TEST_CASE("a strategy takes the best devices there are, or those it is told") {
  CHECK(mesh_text(DefaultStrategy{}, one_cpu) == "1 of cpu:0");
  CHECK(mesh_text(DefaultStrategy{}, two_gpus) == "1 of cuda:0");
  CHECK(mesh_text(DefaultStrategy{.device = "cpu"}, two_gpus) == "1 of cpu:0");
  CHECK(mesh_text(MirroredStrategy{}, one_cpu) == "1 of cpu:0");
  CHECK(mesh_text(MirroredStrategy{}, two_gpus) == "2 of cuda:0 cuda:1");
  CHECK(mesh_text(MirroredStrategy{.devices = {"cpu:3"}}, one_cpu) == "3 of cpu:0 cpu:1 cpu:2");
  CHECK(mesh_text(MirroredStrategy{.devices = {"cpu"}}, two_gpus) == "1 of cpu:0");
  CHECK(mesh_text(MirroredStrategy{.devices = {"cuda:1", "cuda:0"}}, two_gpus) == "2 of cuda:1 cuda:0");
}

TEST_CASE("devices that are no replicas are refused") {
  auto said = [](std::vector<std::string> devices) {
    return message_of([&] { (void)MirroredStrategy{.devices = devices}.mesh(one_cpu); });
  };
  CHECK(said({"cpu:0"}) == "MirroredStrategy: devices 'cpu:0' would be no replicas; write cpu:2 for two");
  CHECK(said({"cpu:1", "cpu", "cpu:0"}) ==
        "MirroredStrategy: devices names cpu:0 twice; for replicas on one device write cpu:2 alone");
  CHECK(said({"cpu:x"}) == "'cpu:x' names no device; write a backend and a number, as in cpu:0 or cuda:1");
  CHECK(said({"cpu:1", ""}) == "'' names no device; write a backend and a number, as in cpu:0 or cuda:1");
}

TEST_CASE("an axis that a mesh has not is of extent 1; no axes mean replicated") {
  const Mesh mesh{{{"data", 2}, {"model", 3}}, Devices(6)};
  CHECK(mesh.extent("model") == 3);
  CHECK(mesh.extent("stage") == 1);
  CHECK(Sharding{}.replicated());
  CHECK(Sharding{{"", ""}}.replicated());
  CHECK_FALSE(Sharding{{"", "model"}}.replicated());
}

TEST_CASE("what a strategy does not say is data parallelism in one step") {
  const Strategy strategy = MirroredStrategy{};
  const Type type{{8, 4}, DType::float32};
  CHECK(strategy->state("dense/kernel", type).replicated());
  CHECK(strategy->feed("x", type).axes == std::vector<std::string>{"data"});
  CHECK(strategy->order() == Order::joined);
  CHECK(strategy->exchange().compression == "none");
}

TEST_CASE("a scope names the strategy for its block and thread; scopes nest") {
  CHECK(StrategyScope::current() == nullptr);
  {
    const auto outer = MirroredStrategy{.devices = {"cpu:2"}}.scope();
    CHECK((*StrategyScope::current()).name() == "MirroredStrategy");
    {
      const StrategyScope inner(DefaultStrategy{});
      CHECK((*StrategyScope::current()).name() == "DefaultStrategy");
    }
    CHECK((*StrategyScope::current()).name() == "MirroredStrategy");
    bool elsewhere = true;
    std::thread([&] { elsewhere = StrategyScope::current() != nullptr; }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK(StrategyScope::current() == nullptr);
}
