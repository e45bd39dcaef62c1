// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, alone or fused: each is a program over tiles, divided among the threads.
#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/program_kernel.h"
#include "graph/fused.h"

namespace strata::cpu {
namespace {

// An output may lie where an input of its own size does.
std::vector<std::pair<int, int>> shareable(std::span<const Program::Input> inputs, std::span<const Type> types,
                                           std::span<const Type> outputs) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool whole = inputs[i].broadcast.kind() == Broadcast::Kind::full && types[i].size() == outputs[o].size();
      if (whole && types[i].bytes() == outputs[o].bytes()) pairs.emplace_back(static_cast<int>(o), static_cast<int>(i));
    }
  }
  return pairs;
}

std::vector<DType> dtypes_of(std::span<const Type> types) {
  std::vector<DType> dtypes;
  for (const Type& type : types) dtypes.push_back(type.dtype);
  return dtypes;
}

Choice elementwise(const Problem& problem) {
  const Shape& shape = problem.outputs[0].shape;
  for (const Type& output : problem.outputs) {
    if (!(output.shape == shape)) return refuse(cat("outputs of several shapes: ", shape, " and ", output.shape));
  }
  std::vector<Program::Input> inputs;
  for (const Type& input : problem.inputs) inputs.push_back({input.dtype, Broadcast(input.shape, shape)});
  const std::vector<DType> outputs = dtypes_of(problem.outputs);
  Program::Source source;
  if (problem.node.op == &fused_op) source.body = problem.node.bodies[0].get();
  else source.node = &problem.node;
  source.inputs = inputs;
  source.outputs = outputs;
  std::string reason;
  auto program = Program::compile(source, problem.device.isa, reason);
  if (!program) return refuse(std::move(reason));
  const ProgramKernel kernel{program, shape.size(), problem.device.threads};
  Choice choice =
      accept([kernel](const Launch& launch) { kernel.run(launch.inputs, launch.outputs, launch.workspace); },
             kernel.workspace_bytes());
  choice.in_place = shareable(inputs, problem.inputs, problem.outputs);
  return choice;
}

// --- one program over many sets of arrays
// -----------------------------------------------------------------------------

struct ManyKernel {
  std::shared_ptr<const Program> program;
  std::vector<std::int64_t> first_tile, sizes;  // by member; first_tile has one more: the number of all tiles
  std::size_t shared, own_inputs, own_outputs;
  int threads;
  std::int64_t elements = 0;  // of all members

  void operator()(const Launch& launch) const {
    char* memory = static_cast<char*>(launch.workspace);
    char* thread_memory = memory + program->launch_bytes();
    program->start(launch.inputs.first(shared + own_inputs), memory);
    const std::int64_t tiles = first_tile.back(), work = elements * (1 + program->weight() / 4);
    on_team(threads, work, [&](int thread, int team) {
      const Part part = part_of(tiles, thread, team);
      char* own = thread_memory + static_cast<std::size_t>(thread) * thread_bytes();
      void** inputs = reinterpret_cast<void**>(own + program->thread_bytes());
      Program::Worker worker(*program, memory, own);
      for (std::size_t member = 0; member < sizes.size(); ++member) {
        const std::int64_t begin = std::max(part.begin, first_tile[member]),
                           end = std::min(part.end, first_tile[member + 1]);
        if (begin >= end) continue;
        const std::size_t from = shared + member * own_inputs;
        std::copy_n(launch.inputs.begin(), shared, inputs);
        std::copy_n(launch.inputs.begin() + static_cast<std::ptrdiff_t>(from), own_inputs, inputs + shared);
        worker.bind({inputs, shared + own_inputs}, launch.outputs.subspan(member * own_outputs, own_outputs),
                    sizes[member]);
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t at = (t - first_tile[member]) * program->tile();
          worker.run(at, std::min(program->tile(), sizes[member] - at));
        }
      }
    });
  }

  std::size_t thread_bytes() const { return program->thread_bytes() + aligned((shared + own_inputs) * sizeof(void*)); }
};

Choice elementwise_many(const Problem& problem) {
  const Fused& fused = problem.node.attributes.as<Fused>();
  const auto members = static_cast<std::size_t>(fused.members), shared = static_cast<std::size_t>(fused.shared);
  const std::size_t own_inputs = (problem.inputs.size() - shared) / members,
                    own_outputs = problem.outputs.size() / members;
  const Graph& body = *problem.node.bodies[0];
  const std::vector<DType> outputs = dtypes_of(problem.outputs.first(own_outputs));

  std::vector<Program::Input> inputs;
  for (std::size_t i = 0; i < shared; ++i) {
    if (problem.inputs[i].size() != 1) return refuse(cat("shared input ", i, " is no scalar: ", problem.inputs[i]));
    inputs.push_back({problem.inputs[i].dtype, Broadcast(Shape{}, Shape{2})});
  }
  // A member's own scalar is repeated as if along an axis: what all members share may be computed beforehand, it may
  // not.
  const Shape& first_shape = problem.outputs[0].shape;
  for (std::size_t i = shared; i < shared + own_inputs; ++i) {
    const bool whole = problem.inputs[i].shape == first_shape;
    inputs.push_back({problem.inputs[i].dtype, whole ? Broadcast(Shape{2}, Shape{2}) : Broadcast::repeated()});
  }
  ManyKernel kernel{nullptr, {0}, {}, shared, own_inputs, own_outputs, problem.device.threads, 0};
  std::vector<std::pair<int, int>> in_place;
  for (std::size_t member = 0; member < members; ++member) {
    const std::int64_t size = problem.outputs[member * own_outputs].size();
    kernel.sizes.push_back(size);
    kernel.elements += size;
    for (std::size_t i = 0; i < own_inputs; ++i) {
      const std::size_t number = shared + member * own_inputs + i;
      const Type& type = problem.inputs[number];
      const bool whole = inputs[shared + i].broadcast.kind() == Broadcast::Kind::full;
      if (type.size() != (whole ? size : 1))
        return refuse(cat("input ", number, " is ", type, " where ", size, " elements are made"));
      for (std::size_t o = 0; o < own_outputs && whole; ++o) {
        if (size_of(outputs[o]) != size_of(type.dtype)) continue;
        in_place.emplace_back(static_cast<int>(member * own_outputs + o), static_cast<int>(number));
      }
    }
  }
  Program::Source source;
  source.body = &body;
  source.inputs = inputs;
  source.outputs = outputs;
  std::string reason;
  kernel.program = Program::compile(source, problem.device.isa, reason);
  if (!kernel.program) return refuse(std::move(reason));
  for (const std::int64_t size : kernel.sizes) {
    kernel.first_tile.push_back(kernel.first_tile.back() +
                                (size + kernel.program->tile() - 1) / kernel.program->tile());
  }
  const std::size_t bytes =
      kernel.program->launch_bytes() + static_cast<std::size_t>(problem.device.threads) * kernel.thread_bytes();
  Choice choice = accept(std::move(kernel), bytes);
  choice.in_place = std::move(in_place);
  return choice;
}

}  // namespace

void kernels_elementwise(KernelTable& table) {
  for (const auto& [name, op] : ops()) {
    if (op->traits.elementwise) table.add(name, "program", elementwise);
  }
  table.add("fused:elementwise", "program", elementwise);
  table.add("fused:elementwise_many", "program", elementwise_many);
}

}  // namespace strata::cpu
