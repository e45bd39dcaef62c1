// SPDX-License-Identifier: Apache-2.0
// The op that stands for a group of nodes. Its types, its reference and its expansion all come from its body.
#include "graph/fused.h"

#include <algorithm>

namespace strata {

Schema Fused::schema() {
  return Schema("Fused", "How a group of nodes is to be run.")
      .arg("pattern", &Fused::pattern, "What the body looks like.",
           one_of({"elementwise", "elementwise_many", "matmul", "conv2d", "reduce"}))
      .arg("members", &Fused::members, "How often the body is run, over different arrays.", at_least(1))
      .arg("shared", &Fused::shared, "How many of the inputs, the first ones, all members have in common.",
           at_least(0));
}

std::vector<int> body_inputs(const Graph& body) {
  std::vector<int> nodes;
  for (const auto& [name, node] : body.inputs()) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Graph with_input_types(const Graph& body, std::span<const Type> types) {
  const std::vector<int> nodes = body_inputs(body);
  STRATA_CHECK(nodes.size() == types.size(), "a body of ", nodes.size(), " inputs was given ", types.size());
  Graph graph;
  Values inputs;
  for (std::size_t i = 0; i < nodes.size(); ++i) inputs.push_back(graph.input(body[nodes[i]].label, types[i]));
  const Values outputs = inlined(graph, body, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.output(body.outputs()[i].name, outputs[i]);
  return graph;
}

namespace {

// One run of the body: which of the group's inputs it reads.
struct Member {
  std::vector<std::size_t> inputs;
};

std::vector<Member> members_of(const Fused& fused, std::size_t inputs) {
  const auto members = static_cast<std::size_t>(fused.members), shared = static_cast<std::size_t>(fused.shared);
  STRATA_CHECK(shared <= inputs && (inputs - shared) % members == 0, "a group of ", members, " members with ", shared,
               " shared inputs has ", inputs, " inputs");
  const std::size_t own = (inputs - shared) / members;
  std::vector<Member> all(members);
  for (std::size_t m = 0; m < members; ++m) {
    for (std::size_t i = 0; i < shared; ++i) all[m].inputs.push_back(i);
    for (std::size_t i = 0; i < own; ++i) all[m].inputs.push_back(shared + m * own + i);
  }
  return all;
}

Types output_types(const Graph& body) {
  Types types;
  for (const Graph::Output& output : body.outputs()) types.push_back(body.type(output.value));
  return types;
}

std::vector<Type> input_types(const Graph& body) {
  std::vector<Type> types;
  for (const int node : body_inputs(body)) types.push_back(body[node].types[0]);
  return types;
}

const Graph& body_of(const Bodies& bodies) {
  STRATA_CHECK(bodies.size() == 1, "a group has one body, not ", bodies.size());
  return *bodies[0];
}

Types infer_fused(const Inference& at) {
  const Graph& body = body_of(at.bodies);
  const std::vector<Type> wanted = input_types(body);
  Types types;
  for (const Member& member : members_of(at.attributes.as<Fused>(), at.inputs.size())) {
    std::vector<Type> given;
    for (const std::size_t i : member.inputs) given.push_back(at.inputs[i]);
    STRATA_CHECK(given.size() == wanted.size(), "a group's body has ", wanted.size(), " inputs and is given ",
                 given.size());
    const Types outputs = output_types(given == wanted ? body : with_input_types(body, given));
    types.insert(types.end(), outputs.begin(), outputs.end());
  }
  return types;
}

void reference_fused(const Reference& at) {
  const Graph& body = body_of(at.bodies);
  const std::vector<Type> wanted = input_types(body);
  std::size_t output = 0;
  for (const Member& member : members_of(at.attributes.as<Fused>(), at.inputs.size())) {
    std::vector<Type> given;
    for (const std::size_t i : member.inputs) given.push_back(at.input_types[i]);
    const Graph own = given == wanted ? body : with_input_types(body, given);
    std::map<std::string, Array> feeds;
    const std::vector<int> nodes = body_inputs(own);
    for (std::size_t i = 0; i < nodes.size(); ++i) feeds[own[nodes[i]].label] = *at.inputs[member.inputs[i]];
    const std::vector<std::vector<Array>> values = evaluate(own, feeds);
    for (const Graph::Output& result : own.outputs()) {
      at.outputs[output++] =
          values[static_cast<std::size_t>(result.value.node)][static_cast<std::size_t>(result.value.output)];
    }
  }
}

}  // namespace

Values unfused(Graph& graph, const Node& group, std::span<const Value> inputs) {
  const Graph& body = body_of(group.bodies);
  Values outputs;
  for (const Member& member : members_of(group.attributes.as<Fused>(), inputs.size())) {
    Values given;
    for (const std::size_t i : member.inputs) given.push_back(inputs[i]);
    const Values made = inlined(graph, body, given);
    outputs.insert(outputs.end(), made.begin(), made.end());
  }
  return outputs;
}

const OpDef fused_op = {
    .name = "fused",
    .doc = "A group of nodes that runs as one kernel; its body is a graph.",
    .attributes = []() -> const Schema& { return schema_of<Fused>(); },
    .read = &read_attributes<Fused>,
    .infer = infer_fused,
    .reference = reference_fused,
    .traits = {.internal = true},
};

void ops_fused(std::vector<const OpDef*>& list) { list.push_back(&fused_op); }

}  // namespace strata
