// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: memory, replicas, exchanges; the table of kernels; references as kernels.
#include "backends/backend.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "backends/cpu/denormals.h"
#include "backends/kernel_table.h"
#include "strata/ops.h"
#include "support/kernel_run.h"

namespace strata::test {
namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the CPU is there, with virtual replicas") {
  Backend& cpu = backend("cpu");
  CHECK(cpu.devices() == std::vector<Device>{{"cpu", 0}});
  CHECK(cpu.model({"cpu", 15}).threads >= 1);
  CHECK(message_of([&] {
          (void)cpu.model({"cpu", 16});
        }) == "device 'cpu:16': the CPU backend has cpu:0 and virtual replicas of it up to cpu:15");
  CHECK(message_of([] {
          (void)backend("tpu");
        }).starts_with("device 'tpu': there is no such backend here; there is cpu"));
}

TEST_CASE("memory is aligned, zeroed, and refused with the need and what is free") {
  Backend& cpu = backend("cpu");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100000}}) {
    const auto buffer = cpu.allocate({"cpu", 3}, bytes, "a test");
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->address) % 64 == 0);
    CHECK(buffer->bytes == bytes);
    CHECK(buffer->host);
    const auto* contents = static_cast<const unsigned char*>(buffer->address);
    CHECK(std::all_of(contents, contents + bytes, [](unsigned char byte) { return byte == 0; }));
  }
  const std::string message = message_of([&] {
    (void)cpu.allocate({"cpu", 0}, std::size_t{1} << 50, "the arena of 'train 128'");
  });
  CHECK(message.starts_with("cpu:0: the arena of 'train 128' needs 1048576.0 GiB (1125899906842624 bytes), but "));
  CHECK(message.ends_with(" GiB are free; a smaller batch_size needs less"));
  CHECK(message_of([&] { (void)cpu.allocate({}, std::numeric_limits<std::size_t>::max(), "everything"); }) != "");
  CHECK(cpu.free_bytes({}) > 0);
}

TEST_CASE("replicas add up in their order, for every dtype") {
  Backend& cpu = backend("cpu");
  std::vector<Device> devices;
  for (int i = 0; i < 3; ++i) devices.push_back({"cpu", i});
  const auto communicator = cpu.connect(devices);
  for (const DType dtype :
       {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64, DType::uint8}) {
    const Type type{{20001}, dtype};
    std::vector<Tensor> given;
    std::vector<void*> in, out;
    std::vector<double> expected(20001);
    for (std::uint64_t replica = 0; replica < 3; ++replica) {
      given.push_back(draw(type, 0, 50, replica));
      const std::vector<double> values = given.back().to_doubles();
      for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
      in.push_back(given.back().address());
    }
    const Tensor other(type), last(type);
    out = {other.address(), in[1], last.address()};  // the second in place
    CHECK(communicator->all_reduce(in, out, type) == Status::ok);
    CHECK(difference(other, expected, usual_tolerance(dtype)) == "");
    CHECK(other.to_doubles() == given[1].to_doubles());
    CHECK(other.to_doubles() == last.to_doubles());
  }
  CHECK(communicator->all_reduce(std::vector<void*>(2), std::vector<void*>(2), {{1}, DType::float32}) ==
        Status::failed);
}

TEST_CASE("denormals are flushed while a guard lives, and the caller's thread gets its ways back") {
  volatile double tiny = 1e-310;
  CHECK(tiny * 0.5 != 0);
  {
    const cpu::FlushDenormals guard;
    CHECK(tiny * 0.5 == 0);
  }
  CHECK(tiny * 0.5 != 0);
}

TEST_CASE("a table offers the first that accepts, then the next, and keeps the reasons of the others") {
  Graph graph;
  Value x = graph.input("x", {{2}, DType::float32});
  const Value y = relu(x);
  const Node& node = graph[y.node];
  const std::vector<std::string> formats(1);
  const DeviceModel device;
  KernelTable table;
  const auto named = [](const std::string& name) {
    Choice choice;
    choice.kernel = kernel_of([](const Launch&) noexcept { return Status::ok; });
    choice.name = name;
    return choice;
  };
  table.add("relu", "wide", [](const Problem&) { return refuse("needs 16 elements"); });
  table.add("relu", "plain", [&](const Problem&) { return named(""); });
  table.add("relu", "odd", [](const Problem&) { return refuse("needs an odd size"); });
  table.add("relu", "last", [&](const Problem&) { return named("by hand"); });
  const auto choose = [&](int candidate) {
    return table.choose({node, node.types, node.types, formats, device, candidate});
  };
  CHECK(choose(0).name == "plain");
  CHECK(choose(0).refusals == std::vector<std::string>{"wide: needs 16 elements"});
  CHECK(choose(1).name == "by hand");
  CHECK(choose(1).refusals.size() == 2);
  CHECK(!choose(2).kernel);
  CHECK(KernelTable().choose({node, node.types, node.types, formats, device, 0}).refusals ==
        std::vector<std::string>{"relu: the backend has no kernel"});
}

// A user's op, which no table knows.
const OpDef doubled_op{.name = "doubled",
                       .doc = "2 x.",
                       .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
                       .reference =
                           [](const Reference& r) {
                             for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
                               r.outputs[0].data[i] = 2 * r.inputs[0]->data[i];
                           }};

TEST_CASE("an op without a kernel runs by its reference, on every dtype") {
  for (const DType dtype :
       {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64, DType::uint8}) {
    std::vector<std::string> used;
    const Case test = make_case({{{{3, 4}, dtype}, 0, 9}}, [](std::span<const Value> x) -> Values {
      return {x[0].graph->add(doubled_op, {x[0]})};
    });
    CHECK(check_kernels(test, backend("cpu"), &used) == "");
    CHECK(used == std::vector<std::string>{"reference"});
  }
}

TEST_CASE("a reference does not read what another kernel wrote") {
  Graph graph;
  Value x = graph.input("x", {{1, 4, 4, 2}, DType::float32});
  const Values found = gradients(sum(max_pool2d(x, {2, 2, 0, 0})), std::span<const Value>(&x, 1));
  const Node& node = graph[found[0].node];
  Types types;
  for (const Ref input : node.inputs) types.push_back(graph.type(input));
  const std::vector<std::string> formats{"", "something else"};
  const Choice choice = reference_choice({node, types, node.types, formats, DeviceModel(), 0});
  CHECK(!choice.kernel);
  CHECK(choice.refusals ==
        std::vector<std::string>{"reference: input 1 has the format 'something else' of another kernel"});
}

}  // namespace
}  // namespace strata::test
