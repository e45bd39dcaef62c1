// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/epilogue.h"

#include <algorithm>
#include <array>

#include "graph/fused.h"

namespace strata::cpu {
namespace {

constexpr std::size_t most_inputs = 8;

}  // namespace

std::shared_ptr<const Epilogue> Epilogue::of(const Problem& group, std::string_view first_op, std::string& reason) {
  auto made = std::make_shared<Epilogue>();
  made->body_ = group.node.bodies[0];
  const Graph& body = *made->body_;
  const std::vector<int> inputs = body_inputs(body);
  const auto input_number = [&](int node) {
    return static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), node) - inputs.begin());
  };
  int first = 0;
  while (first < body.size() && body[first].op->name != first_op) ++first;
  if (first == body.size() || group.outputs.size() != 1 || inputs.size() > most_inputs) {
    reason = cat("the group is no ", first_op, " with one result");
    return nullptr;
  }
  made->first_ = &body[first];
  for (const Ref input : body[first].inputs) {
    const std::size_t number = input ? input_number(input.node) : inputs.size();
    if (number == inputs.size()) {
      reason = cat("the ", first_op, " reads what the group makes");
      return nullptr;
    }
    made->first_inputs_.push_back(number);
  }

  // The rest of the body, over the first op's result.
  Graph rest;
  std::vector<Value> of_node(static_cast<std::size_t>(body.size()));
  of_node[static_cast<std::size_t>(first)] = rest.input("result", made->first_type());
  std::vector<Program::Input> kinds{
      {made->first_type().dtype, Broadcast(made->first_type().shape, made->first_type().shape)}};
  const Shape& shape = group.outputs[0].shape;
  for (int n = 0; n < body.size(); ++n) {
    if (n == first) continue;
    const Node& node = body[n];
    const std::size_t number = input_number(n);
    if (number < inputs.size()) {
      const bool read = std::any_of(&body[0], &body[0] + body.size(), [&](const Node& reader) {
        return &reader != made->first_ &&
               std::find(reader.inputs.begin(), reader.inputs.end(), Ref{n, 0}) != reader.inputs.end();
      });
      if (!read) continue;
      of_node[static_cast<std::size_t>(n)] = rest.input(cat("x", number), node.types[0]);
      kinds.push_back({node.types[0].dtype, Broadcast(node.types[0].shape, shape)});
      made->rest_inputs_.push_back(number);
      continue;
    }
    Values operands;
    for (const Ref input : node.inputs) operands.push_back(of_node[static_cast<std::size_t>(input.node)]);
    of_node[static_cast<std::size_t>(n)] = rest.add(*node.op, operands, node.attributes, node.bodies);
    int bias = -1;
    for (const Ref input : node.inputs) {
      if (input_number(input.node) < inputs.size() && body.type(input).shape == Shape{shape[-1]})
        bias = static_cast<int>(input_number(input.node));
    }
    if (node.op->name == "add" && bias >= 0 && made->bias_ < 0 && made->activation_.empty()) {
      made->bias_ = bias;
    } else if (operands.size() == 1 && made->activation_.empty()) {
      made->activation_ = node.op->name;
    } else {
      made->simple_ = false;
    }
  }
  const Ref result = body.outputs()[0].value;
  rest.output("y", of_node[static_cast<std::size_t>(result.node)]);

  const std::array<DType, 1> outputs{group.outputs[0].dtype};
  Program::Source source;
  source.body = &rest;
  source.inputs = kinds;
  source.outputs = outputs;
  made->kernel_.program = Program::compile(source, group.device.isa, reason);
  made->kernel_.size = shape.size();
  made->kernel_.threads = group.device.threads;
  if (!made->kernel_.program) return nullptr;
  return made;
}

Node Epilogue::first_alone() const {
  Node node = *first_;
  node.inputs.clear();
  return node;
}

void Epilogue::run(std::span<void* const> inputs, void* result, void* workspace) const {
  std::array<void*, most_inputs + 1> given{result};
  for (std::size_t i = 0; i < rest_inputs_.size(); ++i) given[i + 1] = inputs[rest_inputs_[i]];
  const std::array<void*, 1> outputs{result};
  kernel_.run(std::span(given).first(rest_inputs_.size() + 1), outputs, workspace);
}

}  // namespace strata::cpu
