// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/through_float.h"

#include <algorithm>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "graph/fused.h"

namespace strata::cpu {
namespace {

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

Types as_float(std::span<const Type> types) {
  Types wide(types.begin(), types.end());
  for (Type& type : wide) {
    if (is_half(type.dtype)) type.dtype = DType::float32;
  }
  return wide;
}

// An array that is converted: its place in the workspace, and how.
struct Converted {
  std::size_t number, offset;
  std::int64_t count;
  Loop loop;
};

void convert(const Converted& array, const void* from, std::int64_t from_width, void* to, std::int64_t to_width) {
  constexpr std::int64_t tile = 4096;
  parallel_for((array.count + tile - 1) / tile, array.count, [&](std::int64_t number) {
    const std::int64_t at = number * tile;
    array.loop(static_cast<const char*>(from) + at * from_width, nullptr, nullptr,
               static_cast<char*>(to) + at * to_width, std::min(tile, array.count - at));
  });
}

struct ThroughFloat {
  std::shared_ptr<Kernel> inner;
  std::vector<Converted> widened, narrowed;
  std::size_t pointers_offset, inner_offset;

  Status operator()(const Launch& launch) const {
    char* memory = static_cast<char*>(launch.workspace);
    void** inputs = reinterpret_cast<void**>(memory + pointers_offset);
    void** outputs = inputs + launch.inputs.size();
    std::copy(launch.inputs.begin(), launch.inputs.end(), inputs);
    std::copy(launch.outputs.begin(), launch.outputs.end(), outputs);
    for (const Converted& array : widened) {
      if (!inputs[array.number]) continue;
      convert(array, inputs[array.number], 2, memory + array.offset, 4);
      inputs[array.number] = memory + array.offset;
    }
    for (const Converted& array : narrowed) {
      if (outputs[array.number]) outputs[array.number] = memory + array.offset;
    }
    const Status status = inner->run(
        {{inputs, launch.inputs.size()}, {outputs, launch.outputs.size()}, memory + inner_offset, launch.stream});
    for (const Converted& array : narrowed) {
      if (launch.outputs[array.number]) convert(array, memory + array.offset, 4, launch.outputs[array.number], 2);
    }
    return status;
  }
};

}  // namespace

KernelTable::Candidate through_float(KernelTable::Candidate candidate) {
  return [candidate = std::move(candidate)](const Problem& problem) {
    const auto half = [](const Type& type) { return is_half(type.dtype); };
    if (std::none_of(problem.inputs.begin(), problem.inputs.end(), half) &&
        std::none_of(problem.outputs.begin(), problem.outputs.end(), half)) {
      return refuse("there is no 16-bit float here");
    }
    const Types inputs = as_float(problem.inputs), outputs = as_float(problem.outputs);
    Node node = problem.node;
    node.types = outputs;
    if (node.op == &fused_op) {
      try {
        const Graph body = with_input_types(*node.bodies[0], inputs);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const Type& made = body.type(body.outputs()[i].value);
          if (!(made == outputs[i])) return refuse(cat("the group makes ", made, " of float32"));
        }
        node.bodies = {std::make_shared<const Graph>(body)};
      } catch (const Error& error) {  // a constant of the narrow dtype, say
        return refuse(cat("the group is not the same in float32: ", error.what()));
      }
    }
    Choice choice = candidate({node, inputs, outputs, problem.formats, problem.device, 0});
    if (!choice.kernel) return choice;

    const ElementwiseLoops& loops = loops_for(problem.device.isa).elementwise;
    std::size_t bytes = 0;
    const auto take = [&](std::size_t size) {
      const std::size_t offset = bytes;
      bytes += aligned(size);
      return offset;
    };
    ThroughFloat kernel{choice.kernel, {}, {}, 0, 0};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type& type = problem.inputs[i];
      if (half(type)) kernel.widened.push_back({i, take(inputs[i].bytes()), type.size(), loops.load(type.dtype)});
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Type& type = problem.outputs[i];
      if (half(type)) kernel.narrowed.push_back({i, take(outputs[i].bytes()), type.size(), loops.store(type.dtype)});
    }
    kernel.pointers_offset = take((inputs.size() + outputs.size()) * sizeof(void*));
    kernel.inner_offset = take(choice.workspace_bytes);
    choice.kernel = make_kernel(std::move(kernel));
    choice.workspace_bytes = bytes;
    choice.in_place.clear();
    if (!choice.name.empty()) choice.name += " through float32";
    return choice;
  };
}

void add_both(KernelTable& table, std::string_view op, std::string_view name, const KernelTable::Candidate& candidate) {
  table.add(op, name, candidate);
  table.add(op, cat(name, " through float32"), through_float(candidate));
}

}  // namespace strata::cpu
