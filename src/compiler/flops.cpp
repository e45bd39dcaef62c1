// SPDX-License-Identifier: Apache-2.0
// Floating-point operations by an op's definition: multiply and add count as two. What `plan` shows; no kernel is chosen
// by it.
#include "compiler/pass.h"
#include "graph/fused.h"
#include "strata/ops.h"

namespace strata {

namespace {

double size(const Type& type) { return static_cast<double>(type.size()); }

double of_body(const Graph& body) {
  double total = 0;
  for (int node = 0; node < body.size(); ++node) {
    std::vector<Type> inputs;
    for (const Ref input : body[node].inputs) inputs.push_back(input ? body.type(input) : Type{});
    total += flops_of(body[node], inputs);
  }
  return total;
}

}  // namespace

double flops_of(const Node& node, std::span<const Type> inputs) {
  const std::string_view op = node.op->name;
  if (inputs.empty()) return 0;
  if (op == "matmul") {
    const Shape& a = inputs[0].shape;
    return 2 * size(node.types[0]) * static_cast<double>(a[node.attributes.as<Matmul>().transpose_a ? -2 : -1]);
  }
  // Each of a convolution's three products goes once over (output elements) x (kernel height, width, inputs a group).
  if (op == "conv2d") return 2 * size(node.types[0]) * size(inputs[1]) / static_cast<double>(inputs[1].shape[-1]);
  if (op == "conv2d_input_gradient")
    return 2 * size(inputs[0]) * size(inputs[1]) / static_cast<double>(inputs[1].shape[-1]);
  if (op == "conv2d_kernel_gradient") {
    return 2 * size(inputs[1]) * size(node.types[0]) / static_cast<double>(node.types[0].shape[-1]);
  }
  if (op == fused_op.name) {
    // One member's program, by the size of all.
    const Graph& body = *node.bodies[0];
    double all = 0, one = 0;
    for (const Type& type : node.types) all += size(type);
    for (const Graph::Output& output : body.outputs()) one += size(body.type(output.value));
    return one > 0 ? of_body(body) * all / one : 0;
  }
  if (!node.bodies.empty())
    return of_body(*node.bodies[0]) *
           static_cast<double>(std::max<std::int64_t>(1, inputs.back().shape.rank() ? inputs.back().shape[0] : 1));
  if (node.op->traits.elementwise) return size(node.types[0]);
  double most = 0;
  for (const Type& type : inputs) most = std::max(most, type ? size(type) : 0);
  return node.op->traits.reads_shape_only ? 0 : most;
}

}  // namespace strata
