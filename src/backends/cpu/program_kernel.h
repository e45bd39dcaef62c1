// SPDX-License-Identifier: Apache-2.0
// A program over whole arrays, its tiles divided among the threads.
#pragma once

#include "backends/cpu/program.h"

namespace strata::cpu {

struct ProgramKernel {
  std::shared_ptr<const Program> program;
  std::int64_t size = 0;  // elements of each output
  int threads = 1;

  std::size_t workspace_bytes() const;
  void run(std::span<void* const> inputs, std::span<void* const> outputs, void* workspace) const;
};

}  // namespace strata::cpu
