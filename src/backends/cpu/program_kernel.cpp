// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program_kernel.h"

#include <algorithm>

#include "backends/cpu/machine.h"

namespace strata::cpu {

std::size_t ProgramKernel::workspace_bytes() const {
  return program->launch_bytes() + static_cast<std::size_t>(threads) * program->thread_bytes();
}

void ProgramKernel::run(std::span<void* const> inputs, std::span<void* const> outputs, void* workspace) const {
  if (size == 0) return;
  char* memory = static_cast<char*>(workspace);
  char* thread_memory = memory + program->launch_bytes();
  program->start(inputs, memory);
  const std::int64_t tile = program->tile(), work = size * (1 + program->weight() / 4);
  on_team(threads, work, [&](int thread, int team) {
    const Part part = part_of(size, thread, team, tile);
    if (part.begin == part.end) return;
    Program::Worker worker(*program, memory,
                           thread_memory + static_cast<std::size_t>(thread) * program->thread_bytes());
    worker.bind(inputs, outputs, part.end - part.begin);
    for (std::int64_t at = part.begin; at < part.end; at += tile) worker.run(at, std::min(tile, part.end - at));
  });
}

}  // namespace strata::cpu
