// SPDX-License-Identifier: Apache-2.0
// Constants: their bytes are made when the kernel is chosen.
#include <cstring>

#include "backends/cpu/kernel.h"
#include "strata/ops.h"
#include "strata/tensor.h"

namespace strata::cpu {
namespace {

Choice full(const Problem& problem) {
  const Type& type = problem.outputs[0];
  const double value = problem.node.attributes.as<Full>().value;
  const Tensor one = Tensor::from_doubles({Shape{}, type.dtype}, {&value, 1});
  const std::size_t width = size_of(type.dtype), bytes = type.bytes();
  return accept([one, width, bytes](const Launch& l) {
    char* to = static_cast<char*>(l.outputs[0]);
    if (bytes == 0) return;
    std::memcpy(to, one.address(), width);
    for (std::size_t done = width; done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
  });
}

Choice literal(const Problem& problem) {
  const Tensor values = Tensor::from_doubles(problem.outputs[0], problem.node.attributes.as<Literal>().values);
  return accept([values](const Launch& l) { std::memcpy(l.outputs[0], values.address(), values.bytes()); });
}

}  // namespace

void kernels_leaves(KernelTable& table) {
  table.add("full", "fill", full);
  table.add("literal", "copy", literal);
}

}  // namespace strata::cpu
