// SPDX-License-Identifier: Apache-2.0
// Less to run with the same bits: constants folded, operations that change nothing dropped, equal ones merged, unread ones
// removed. A rule that would change a float's bits, the sign of a zero included, has no place here.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compiler/pass.h"
#include "compiler/rewrite.h"
#include "strata/ops.h"

namespace strata {

namespace {

// One node about to be added, over simplified inputs.
struct Candidate {
  Graph& graph;
  const OpDef& op;
  Values inputs;
  const Attributes& attributes;
  const Type& type;

  bool is(std::string_view name) const { return op.name == name; }
  // The node that made an input, when it is of that op.
  const Node* maker(std::size_t input, std::string_view name) const {
    const Node& node = graph[inputs[input].node];
    return node.op->name == name ? &node : nullptr;
  }
  std::optional<double> constant_at(std::size_t input) const { return constant(graph, Graph::ref(inputs[input])); }
  Value input_of(const Node& node, std::size_t input) const { return graph.value(node.inputs[input]); }
};

// Whether every value of `from` is a value of `to`.
bool holds_exactly(DType to, DType from) {
  if (to == from) return true;
  switch (from) {
    case DType::boolean: return true;
    case DType::uint8:
      return to == DType::float32 || to == DType::float16 || to == DType::bfloat16 || to == DType::float64 ||
             to == DType::int32 || to == DType::int64;
    case DType::int32: return to == DType::int64 || to == DType::float64;
    case DType::float16:
    case DType::bfloat16: return to == DType::float32 || to == DType::float64;
    case DType::float32: return to == DType::float64;
    default: return false;
  }
}

// A scalar constant out of scalar constants; no value when the result is no number a graph can hold exactly.
Value fold(const Candidate& at) {
  if (!at.op.traits.elementwise || at.inputs.empty()) return {};
  std::vector<Array> scalars;
  std::vector<Type> types;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const std::optional<double> value = at.inputs[i] ? at.constant_at(i) : std::nullopt;
    if (!value) return {};
    scalars.push_back(Array({}, {round_to(at.inputs[i].dtype(), *value)}));  // as the array would hold it
    types.push_back({{}, at.inputs[i].dtype()});
  }
  std::vector<const Array*> pointers;
  for (const Array& scalar : scalars) pointers.push_back(&scalar);
  std::vector<Array> result{Array(Shape{})};
  const Type type{{}, at.type.dtype};
  at.op.reference({pointers, result, types, {&type, 1}, at.attributes, {}});
  const double value = round_to(type.dtype, result[0].data[0]);
  if (!std::isfinite(value) || (std::signbit(value) && value == 0)) return {};
  if (is_integer(type.dtype) && std::abs(value) > 9e15) return {};
  return full(at.graph, value, at.type.shape, type.dtype);
}

// Input i, when it has the type of the result already.
Value same(const Candidate& at, std::size_t i) { return at.inputs[i].type() == at.type ? at.inputs[i] : Value{}; }

bool is_constant(const Candidate& at, std::size_t i, double value) {
  const std::optional<double> found = at.constant_at(i);
  return found && *found == value && std::signbit(*found) == std::signbit(value);
}

Value neutral_operand(const Candidate& at) {
  const auto commutative = [&](double value) {
    for (std::size_t i : {0, 1}) {
      if (is_constant(at, i, value) && same(at, 1 - i)) return at.inputs[1 - i];
    }
    return Value{};
  };
  const bool floats = is_floating(at.type.dtype);
  if (at.is("multiply") || at.is("logical_and")) return commutative(1);
  if (at.is("add")) return commutative(floats ? -0.0 : 0.0);  // -0 + 0 is 0: only -0 changes no float
  if (at.is("logical_or")) return commutative(0);
  if (at.is("subtract")) return is_constant(at, 1, 0) ? same(at, 0) : Value{};
  if (at.is("divide") || at.is("power")) return is_constant(at, 1, 1) ? same(at, 0) : Value{};
  if (at.is("maximum") || at.is("minimum")) return at.inputs[0] == at.inputs[1] ? at.inputs[0] : Value{};
  if (at.is("select")) {
    if (at.inputs[1] == at.inputs[2]) return same(at, 1);
    if (const auto condition = at.constant_at(0)) return same(at, *condition != 0 ? 1 : 2);
  }
  return {};
}

Value undone(const Candidate& at) {
  if (at.is("negate") || at.is("logical_not")) {
    if (const Node* inner = at.maker(0, at.op.name)) return at.input_of(*inner, 0);
  }
  if (at.is("cast")) {
    if (at.inputs[0].type() == at.type) return at.inputs[0];
    if (const Node* inner = at.maker(0, "cast")) {
      const Value source = at.input_of(*inner, 0);
      if (holds_exactly(inner->types[0].dtype, source.dtype())) {
        return source.type() == at.type ? source : cast(source, at.type.dtype);
      }
    }
  }
  if (at.is("transpose")) {
    std::vector<std::int64_t> axes = at.attributes.as<Permutation>().axes;
    Value source = at.inputs[0];
    const Node* inner = at.maker(0, "transpose");
    if (inner) {
      for (std::int64_t& axis : axes) axis = inner->attributes.as<Permutation>().axes[static_cast<std::size_t>(axis)];
      source = at.input_of(*inner, 0);
    }
    bool still = true;
    for (std::size_t i = 0; i < axes.size(); ++i) still &= axes[i] == static_cast<std::int64_t>(i);
    if (still) return source;
    if (inner) return transpose(source, axes);
  }
  return {};
}

// Ops that only give an array another shape.
Value reshaped(const Candidate& at) {
  if (at.is("stop_gradient")) return at.inputs[0];  // the gradients have been taken
  if (at.is("broadcast_to") || at.is("sum_to") || at.op.traits.reads_shape_only) {
    if (at.inputs[0].type() == at.type) return at.inputs[0];
  }
  if (at.op.traits.reads_shape_only && at.graph[at.inputs[0].node].op == &at.op) {
    const Value source = at.input_of(at.graph[at.inputs[0].node], 0);
    return source.type() == at.type ? source : at.graph.add(at.op, {source}, at.attributes);
  }
  if (at.is("broadcast_to") || at.op.traits.reads_shape_only) {
    const Node& maker = at.graph[at.inputs[0].node];
    if (maker.op->name == "full") return full(at.graph, *at.constant_at(0), at.type.shape, at.type.dtype);
  }
  if (at.is("broadcast_to")) {
    if (const Node* inner = at.maker(0, "broadcast_to")) return broadcast_to(at.input_of(*inner, 0), at.type.shape);
  }
  return {};
}

// Elementwise ops broadcast by themselves: arrays that only repeat others need not exist.
void shrink_inputs(Candidate& at) {
  if (!at.op.traits.elementwise || at.inputs.size() < 2) return;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    Value& input = at.inputs[i];
    if (!input) continue;
    const Node& maker = at.graph[input.node];
    const bool repeats = maker.op->name == "broadcast_to",
               uniform = maker.op->name == "full" && input.shape().rank() > 0;
    if (!repeats && !uniform) continue;
    const Shape smaller = repeats ? at.graph.type(maker.inputs[0]).shape : Shape{};
    Shape all = smaller;
    for (std::size_t j = 0; j < at.inputs.size(); ++j) {
      if (j != i && at.inputs[j]) all = broadcast(all, at.inputs[j].shape());
    }
    if (!(all == at.type.shape)) continue;
    input = repeats ? at.input_of(maker, 0) : full(at.graph, *at.constant_at(i), {}, input.dtype());
  }
}

Value simpler(const Candidate& at) {
  for (const Value& input : at.inputs) {
    if (!input) return {};
  }
  if (at.inputs.empty()) {
    if (at.is("literal") && at.type.size() == 1) {
      const double value = at.attributes.as<Literal>().values[0];
      if (std::isfinite(value) && !(value == 0 && std::signbit(value)))
        return full(at.graph, value, at.type.shape, at.type.dtype);
    }
    return {};
  }
  for (const auto rule : {fold, neutral_operand, undone, reshaped}) {
    if (const Value value = rule(at)) return value;
  }
  return {};
}

// Two nodes with equal keys compute the same.
std::string key_of(const OpDef& op, const Values& inputs, const Attributes& attributes, const Bodies& bodies) {
  std::string key;
  const auto append = [&](const auto& bits) { key.append(reinterpret_cast<const char*>(&bits), sizeof bits); };
  append(&op);
  for (const Value& input : inputs) append(input.node), append(input.output);
  for (const auto& body : bodies) append(body.get());
  if (!attributes.empty()) key += to_text(attributes.write());
  return key;
}

}  // namespace

Graph simplify(const Graph& graph, Target&) {
  const std::vector<bool> need = needed(graph);
  Rewrite rewrite(graph);
  Graph& to = rewrite.graph();
  std::unordered_map<std::string, int> known;
  int checked = 0;  // nodes of the new graph that `known` has seen
  for (int node = 0; node < graph.size(); ++node) {
    if (!need[static_cast<std::size_t>(node)]) continue;
    if (is_leaf(graph, node)) {
      rewrite.copy(node);
      continue;
    }
    const Node& old = graph[node];
    const Graph::Labelled labelled(to, old.scope);
    Candidate at{to, *old.op, rewrite.inputs(node), old.attributes, old.types[0]};
    if (old.types.size() == 1 && !old.op->traits.collective) {
      shrink_inputs(at);
      if (const Value value = simpler(at)) {
        rewrite.replace(node, {value});
        continue;
      }
    }
    for (; checked < to.size(); ++checked) {
      const Node& made = to[checked];
      if (is_leaf(to, checked)) continue;
      Values inputs;
      for (const Ref input : made.inputs) inputs.push_back(to.value(input));
      known.emplace(key_of(*made.op, inputs, made.attributes, made.bodies), checked);
    }
    const auto found = known.find(key_of(*old.op, at.inputs, old.attributes, old.bodies));
    if (found == known.end()) {
      rewrite.replace(node, to.add_all(*old.op, at.inputs, old.attributes, old.bodies));
    } else {
      Values outputs;
      for (int output = 0; output < static_cast<int>(old.types.size()); ++output) {
        outputs.push_back(to.value({found->second, output}));
      }
      rewrite.replace(node, outputs);
    }
  }
  return without_dead(rewrite.finish());
}

}  // namespace strata
