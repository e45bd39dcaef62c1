// SPDX-License-Identifier: Apache-2.0
// Where one replica is alone, what it exchanges is what it has. Several exchange through the communicator.
#include <cstring>

#include "backends/cpu/kernel.h"

namespace strata::cpu {
namespace {

Choice alone(const Problem& problem) {
  const std::size_t bytes = problem.outputs[0].bytes();
  Choice choice = accept([bytes](const Launch& l) {
    if (bytes > 0) std::memmove(l.outputs[0], l.inputs[0], bytes);
  });
  choice.in_place = {{0, 0}};
  return choice;
}

}  // namespace

void kernels_collective(KernelTable& table) { table.add("all_reduce", "one replica", alone); }

}  // namespace strata::cpu
