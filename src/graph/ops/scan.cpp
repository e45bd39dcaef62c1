// SPDX-License-Identifier: Apache-2.0
// Loops: a body run once a step over sequences, carrying values along. Its gradient is a loop the other way.
#include <algorithm>

#include "graph/fused.h"
#include "graph/rules.h"

namespace strata {

Schema Scan::schema() {
  return Schema("scan", "Which inputs are what.")
      .arg("carries", &Scan::carries, "How many inputs are carried.", at_least(0))
      .arg("sequences", &Scan::sequences, "How many are sequences.", at_least(0))
      .arg("reverse", &Scan::reverse, "From the last step to the first.");
}

namespace {

struct Parts {
  std::size_t carries, sequences, constants, yields;
  std::int64_t steps;
};

Parts parts_of(std::span<const Type> inputs, const Scan& scan, const Graph& body) {
  Parts parts{static_cast<std::size_t>(scan.carries), static_cast<std::size_t>(scan.sequences), 0, 0, 0};
  if (inputs.size() < parts.carries + parts.sequences || parts.sequences == 0)
    throw Error("scan needs its carries and at least one sequence");
  parts.constants = inputs.size() - parts.carries - parts.sequences;
  if (body.outputs().size() < parts.carries)
    throw Error(cat("scan's body gives ", body.outputs().size(), " outputs for ", parts.carries, " carries"));
  parts.yields = body.outputs().size() - parts.carries;
  if (inputs[parts.carries].shape.rank() == 0)
    throw Error(cat("scan needs sequences with steps along axis 0, got ", inputs[parts.carries]));
  parts.steps = inputs[parts.carries].shape[0];
  return parts;
}

Types infer(const Inference& in) {
  const Graph& body = *in.bodies[0];
  const Parts parts = parts_of(in.inputs, in.attributes.as<Scan>(), body);
  const auto nodes = body_inputs(body);
  if (nodes.size() != in.inputs.size())
    throw Error(cat("scan's body has ", nodes.size(), " inputs, ", in.inputs.size(), " are given"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Type wanted = in.inputs[i];
    if (i >= parts.carries && i < parts.carries + parts.sequences) {
      if (wanted.shape.rank() == 0 || wanted.shape[0] != parts.steps)
        throw Error(cat("scan's sequences need one length: ", in.inputs[parts.carries].shape, " and ", wanted.shape));
      wanted.shape = wanted.shape.without(0);
    }
    if (!(body[nodes[i]].types[0] == wanted))
      throw Error(cat("scan's body takes ", body[nodes[i]].types[0], " as input ", i, ", got ", wanted));
  }
  Types types;
  for (std::size_t o = 0; o < body.outputs().size(); ++o) {
    Type type = body.type(body.outputs()[o].value);
    if (o < parts.carries && !(type == in.inputs[o]))
      throw Error(cat("scan's carry ", o, " begins as ", in.inputs[o], " and becomes ", type));
    if (o >= parts.carries) type.shape = type.shape.prepend(parts.steps);
    types.push_back(type);
  }
  return types;
}

void reference(const Reference& r) {
  auto& scan = r.attributes.as<Scan>();
  const Graph& body = *r.bodies[0];
  const Parts parts = parts_of(r.input_types, scan, body);
  const auto nodes = body_inputs(body);
  std::map<std::string, Array> feeds;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (i < parts.carries || i >= parts.carries + parts.sequences) feeds[body[nodes[i]].label] = *r.inputs[i];
  for (std::int64_t s = 0; s < parts.steps; ++s) {
    const auto step = static_cast<std::size_t>(scan.reverse ? parts.steps - 1 - s : s);
    for (std::size_t i = parts.carries; i < parts.carries + parts.sequences; ++i) {
      Array part(body[nodes[i]].types[0].shape);
      std::copy_n(r.inputs[i]->data.begin() + static_cast<std::ptrdiff_t>(step * part.data.size()), part.data.size(),
                  part.data.begin());
      feeds[body[nodes[i]].label] = std::move(part);
    }
    const auto values = evaluate(body, feeds);
    for (std::size_t o = 0; o < body.outputs().size(); ++o) {
      const Ref ref = body.outputs()[o].value;
      const Array& value = values[static_cast<std::size_t>(ref.node)][static_cast<std::size_t>(ref.output)];
      if (o < parts.carries) feeds[body[nodes[o]].label] = value;
      else
        std::ranges::copy(value.data,
                          r.outputs[o].data.begin() + static_cast<std::ptrdiff_t>(step * value.data.size()));
    }
  }
  for (std::size_t o = 0; o < parts.carries; ++o) r.outputs[o] = feeds[body[nodes[o]].label];
}

// A body may be one of ours already, when a gradient is differentiated again.
std::string unused_name(const Graph& graph) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(graph.outputs(), [&](const Graph::Output& output) { return output.name == name; });
  };
  std::size_t number = graph.outputs().size();
  while (taken(cat("carry_", number))) ++number;
  return cat("carry_", number);
}

// The body again, which also yields the carries it was given: what the way back needs.
std::shared_ptr<const Graph> remembering(const Graph& body, const Parts& parts) {
  auto graph = std::make_shared<Graph>(body);
  for (std::size_t o = 0; o < parts.carries; ++o)
    graph->output(unused_name(*graph), {graph.get(), body_inputs(body)[o], 0});
  return graph;
}

bool differentiable(const Value& value) { return value && is_floating(value.dtype()); }

// Backward: carries are the gradients of the forward carries, then those of the constants so far; sequences are the
// carries before each step, the forward sequences and the gradients of the yields.
Values vjp(const Vjp& v) {
  auto& scan = v.attributes.as<Scan>();
  const Graph& body = *v.bodies[0];
  std::vector<Type> types;
  for (const Value& input : v.inputs) types.push_back(input.type());
  const Parts parts = parts_of(types, scan, body);
  Graph& graph = *v.inputs[0].graph;
  const auto inputs = v.inputs;
  const Values forward = strata::scan(graph, remembering(body, parts), inputs.first(parts.carries),
                                      inputs.subspan(parts.carries, parts.sequences),
                                      inputs.subspan(parts.carries + parts.sequences), scan.reverse);
  auto backward = std::make_shared<Graph>();
  Values starts, sequences, constants;
  Values carry_gradients(parts.carries), constant_gradients(parts.constants),
      yield_gradients(parts.yields);  // in the backward body
  auto enter = [&](const std::string& name, const Value& outer, bool sequence) {
    Type type = outer.type();
    if (sequence) type.shape = type.shape.without(0);
    return backward->input(name, type);
  };
  for (std::size_t i = 0; i < parts.carries; ++i) {
    if (!differentiable(inputs[i])) continue;
    Value start = v.gradients[i] ? v.gradients[i] : full(graph, 0, inputs[i].shape(), inputs[i].dtype());
    carry_gradients[i] = enter(cat("g", i), start, false);
    starts.push_back(start);
  }
  for (std::size_t i = 0; i < parts.constants; ++i) {
    const Value& constant = inputs[parts.carries + parts.sequences + i];
    if (!differentiable(constant)) continue;
    Value start = full(graph, 0, constant.shape(), constant.dtype());
    constant_gradients[i] = enter(cat("k", i), start, false);
    starts.push_back(start);
  }
  Values inner;
  for (std::size_t i = 0; i < parts.carries; ++i) {
    const Value& stored = forward[parts.carries + parts.yields + i];
    inner.push_back(enter(cat("c", i), stored, true));
    sequences.push_back(stored);
  }
  for (std::size_t i = 0; i < parts.sequences; ++i) {
    inner.push_back(enter(cat("x", i), inputs[parts.carries + i], true));
    sequences.push_back(inputs[parts.carries + i]);
  }
  for (std::size_t i = 0; i < parts.yields; ++i) {
    const Value& gradient = v.gradients[parts.carries + i];
    if (!gradient) continue;
    yield_gradients[i] = enter(cat("y", i), gradient, true);
    sequences.push_back(gradient);
  }
  for (std::size_t i = 0; i < parts.constants; ++i) {
    const Value& constant = inputs[parts.carries + parts.sequences + i];
    inner.push_back(enter(cat("w", i), constant, false));
    constants.push_back(constant);
  }
  const Values results = inlined(*backward, body, inner);
  Value loss;
  auto weigh = [&](const Value& result, const Value& gradient) {
    if (!gradient || !is_floating(result.dtype())) return;
    Value part = sum(result * gradient);
    loss = loss ? loss + part : part;
  };
  for (std::size_t o = 0; o < parts.carries; ++o) weigh(results[o], carry_gradients[o]);
  for (std::size_t o = 0; o < parts.yields; ++o) weigh(results[parts.carries + o], yield_gradients[o]);
  if (!loss) return Values(v.inputs.size());
  Values wanted;
  for (const Value& value : inner)
    if (differentiable(value)) wanted.push_back(value);
  const Values found = gradients(loss, wanted);
  std::size_t next = 0;
  Values of_inner(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (!differentiable(inner[i])) continue;
    of_inner[i] = found[next++];
    if (!of_inner[i]) of_inner[i] = full(*backward, 0, inner[i].shape(), inner[i].dtype());
  }
  int outputs = 0;
  for (std::size_t i = 0; i < parts.carries; ++i)
    if (carry_gradients[i]) backward->output(cat(outputs++), of_inner[i]);
  for (std::size_t i = 0; i < parts.constants; ++i)
    if (constant_gradients[i])
      backward->output(cat(outputs++), constant_gradients[i] + of_inner[parts.carries + parts.sequences + i]);
  for (std::size_t i = 0; i < parts.sequences; ++i)
    if (of_inner[parts.carries + i]) backward->output(cat(outputs++), of_inner[parts.carries + i]);
  const Values back = strata::scan(graph, backward, starts, sequences, constants, !scan.reverse);
  Values all(v.inputs.size());
  next = 0;
  for (std::size_t i = 0; i < parts.carries; ++i)
    if (carry_gradients[i]) all[i] = back[next++];
  for (std::size_t i = 0; i < parts.constants; ++i)
    if (constant_gradients[i]) all[parts.carries + parts.sequences + i] = back[next++];
  for (std::size_t i = 0; i < parts.sequences; ++i)
    if (of_inner[parts.carries + i]) all[parts.carries + i] = back[next++];
  return all;
}

// h' = tanh(x w + h u); the mean so far beside it.
Values example(std::span<const Value> x, bool reverse) {
  auto body = std::make_shared<Graph>();
  Value h = body->input("h", x[0].type()), step = body->input("x", {x[1].shape().without(0), x[1].dtype()});
  Value w = body->input("w", x[2].type()), u = body->input("u", x[3].type());
  Value next = tanh(matmul(step, w) + matmul(h, u));
  body->output("0", next);
  body->output("1", next * step);
  return scan(*x[0].graph, body, x.first(1), x.subspan(1, 1), x.subspan(2), reverse);
}

// A gated cell: c' = f c + i, h' = o relu(c'), of which only h of each step is given.
Values gated(std::span<const Value> x) {
  auto body = std::make_shared<Graph>();
  Value h = body->input("h", x[0].type()), c = body->input("c", x[1].type());
  Value step = body->input("x", {x[2].shape().without(0), x[2].dtype()}), u = body->input("u", x[3].type());
  Value z = step + matmul(h, u);
  const std::int64_t units = h.shape()[1];
  auto gate = [&](std::int64_t k) { return sigmoid(slice_axis(z, 1, k * units, (k + 1) * units)); };
  Value next = gate(1) * c + gate(0), shown = gate(2) * relu(next);
  body->output("0", shown);
  body->output("1", next);
  body->output("2", shown);
  return scan(*x[0].graph, body, x.first(2), x.subspan(2, 1), x.subspan(3), false);
}

constinit const OpDef scan_op{
    .name = "scan",
    .doc = "Runs its body once a step; see ops.h.",
    .attributes = &schema_of<Scan>,
    .read = &read_attributes<Scan>,
    .infer = infer,
    .vjp = vjp,
    .reference = reference,
    .examples = []() -> std::vector<OpExample> {
      using rules::floats;
      return {{"a recurrence",
               {floats({2, 3}), floats({4, 2, 3}), floats({3, 3}), floats({3, 3})},
               [](std::span<const Value> x) { return example(x, false); }},
              {"backwards",
               {floats({2, 3}), floats({3, 2, 3}), floats({3, 3}), floats({3, 3})},
               [](std::span<const Value> x) { return example(x, true); }},
              {"two carries", {floats({2, 3}, 0.1), floats({2, 3}, 0.1), floats({4, 2, 9}), floats({3, 9})}, gated}};
    }};

}  // namespace

Values scan(Graph& graph, std::shared_ptr<const Graph> body, std::span<const Value> carries,
            std::span<const Value> sequences, std::span<const Value> constants, bool reverse) {
  Values inputs(carries.begin(), carries.end());
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  return graph.add_all(
      scan_op, inputs,
      Scan{static_cast<std::int64_t>(carries.size()), static_cast<std::int64_t>(sequences.size()), reverse},
      {std::move(body)});
}

void ops_scan(std::vector<const OpDef*>& all) { all.push_back(&scan_op); }

}  // namespace strata
