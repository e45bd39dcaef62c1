// SPDX-License-Identifier: Apache-2.0
// How the CPU's kernels are made of function objects: denormals are flushed while they run, and whatever a library
// throws becomes a status.
#pragma once

#include "backends/cpu/denormals.h"
#include "backends/kernel_table.h"

namespace strata::cpu {

// `function` is called as function(const Launch&) and may return a Status; returning nothing is success.
template <class F> std::shared_ptr<Kernel> make_kernel(F function) {
  struct Function final : Kernel {
    explicit Function(F f) : function(std::move(f)) {}
    Status run(const Launch& launch) noexcept override try {
      const FlushDenormals guard;
      if constexpr (std::is_void_v<decltype(function(launch))>) {
        function(launch);
        return Status::ok;
      } else {
        return function(launch);
      }
    } catch (...) {
      return Status::failed;
    }
    F function;
  };
  return std::make_shared<Function>(std::move(function));
}

// A choice with just a kernel; the table names it.
template <class F> Choice accept(F function, std::size_t workspace_bytes = 0) {
  Choice choice;
  choice.kernel = make_kernel(std::move(function));
  choice.workspace_bytes = workspace_bytes;
  return choice;
}

// Bytes as they are laid out in workspaces: multiples of a cache line.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace strata::cpu
