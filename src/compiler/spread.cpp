// SPDX-License-Identifier: Apache-2.0
// Layouts carried through a graph, node by node.
#include "compiler/spread.h"

#include <algorithm>
#include <map>

#include "strata/ops.h"
#include "strata/scope.h"

namespace strata {

namespace {

using Kind = Layout::Kind;

// A whole value's part on this replica.
struct Placed {
  Value local;
  Layout layout;
  Type whole;
};

class Spreader {
 public:
  Spreader(Graph& to, const ReplicaRows& rows, bool collectives) : to_(to), rows_(rows), collectives_(collectives) {}

  bool refused = false;  // a collective would be needed where none may be

  // Walks `from`; its inputs and states must be placed already.
  void walk(const Graph& from, std::map<Ref, Placed>& placed) {
    for (int node = 0; node < from.size(); ++node) {
      if (placed.count({node, 0})) continue;
      const Graph::Labelled label(to_, from[node].scope);
      std::vector<Placed> inputs;
      for (const Ref& ref : from[node].inputs) inputs.push_back(ref ? placed.at(ref) : Placed{});
      const auto outputs = emit(from[node], inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) placed[{node, static_cast<int>(i)}] = outputs[i];
    }
  }

  Value convert(const Placed& from, const Layout& wanted) {
    if (!from.local || from.layout == wanted) return from.local;
    if (from.layout.kind == Kind::whole && wanted.kind == Kind::split) return cut(from.local, wanted.axis);
    if (from.layout.kind == Kind::whole) return rows_.first ? from.local : from.local * 0.0;
    if (!collectives_) {
      refused = true;
      return full(to_, 0, from.whole.shape, from.whole.dtype);
    }
    auto& whole = gathered_[from.local];
    if (!whole) whole = from.layout.kind == Kind::terms ? all_reduce(from.local) : gather_rows(from);
    return wanted.kind == Kind::whole ? whole : convert({whole, {}, from.whole}, wanted);
  }

 private:
  std::int64_t extent(std::int64_t whole, std::int64_t row) const { return whole / rows_.batch * row; }

  Value cut(Value whole, int axis) {
    const Shape& shape = whole.shape();
    return slice_axis(whole, axis, extent(shape[axis], rows_.begin), extent(shape[axis], rows_.end));
  }

  // Every replica's rows at their place among zeros, added up.
  Value gather_rows(const Placed& from) {
    const bool counts = !is_floating(from.whole.dtype);
    Value local = counts ? cast(from.local, DType::float64) : from.local;
    std::vector<std::int64_t> low(static_cast<std::size_t>(from.whole.shape.rank()), 0), high = low;
    const std::int64_t total = from.whole.shape[from.layout.axis];
    low[static_cast<std::size_t>(from.layout.axis)] = extent(total, rows_.begin);
    high[static_cast<std::size_t>(from.layout.axis)] = total - extent(total, rows_.end);
    Value whole = all_reduce(pad(local, low, high));
    return counts ? (from.whole.dtype == DType::boolean ? not_equal(whole, full_like(whole, 0))
                                                        : cast(whole, from.whole.dtype))
                  : whole;
  }

  std::vector<Placed> emit(const Node& node, const std::vector<Placed>& inputs) {
    const bool all_whole = std::ranges::all_of(inputs, [](const Placed& p) { return p.layout.kind == Kind::whole; });
    if (node.op->traits.collective && all_whole) return {inputs[0]};  // already the sum over all rows
    if (!node.bodies.empty() && !all_whole)
      if (auto done = emit_scan(node, inputs); !done.empty()) return done;
    if (node.bodies.empty() && (!all_whole || node.op->traits.random)) {
      std::vector<Type> types;
      for (const Placed& input : inputs) types.push_back(input.local ? input.whole : Type{});
      Shard shard{types,           node.types,  node.attributes,        {}, std::vector<Layout>(node.types.size()),
                  node.attributes, rows_.batch, rows_.end - rows_.begin};
      for (const Placed& input : inputs) shard.in.push_back(input.layout);
      const bool elementwise = node.op->traits.elementwise;
      const bool accepted = node.op->shard ? node.op->shard(shard) : elementwise && align(shard);
      if (accepted) return add(node, inputs, shard);
      if (node.op->decompose) return decomposed(node, inputs);
    }
    Values locals;
    for (const Placed& input : inputs) locals.push_back(convert(input, {}));
    return placed(to_.add_all(*node.op, locals, node.attributes, node.bodies), node.types,
                  std::vector<Layout>(node.types.size()));
  }

  // An elementwise op without a rule of its own: the split axis of any input, aligned from the right.
  static bool align(Shard& shard) {
    for (Layout& layout : shard.in)
      if (layout.kind == Kind::terms) layout = {};
    const Shape& out = shard.outputs[0].shape;
    int axis = -1;
    for (std::size_t i = 0; i < shard.in.size(); ++i)
      if (shard.in[i].kind == Kind::split)
        axis = std::max(axis, shard.in[i].axis + out.rank() - shard.inputs[i].shape.rank());
    for (std::size_t i = 0; i < shard.in.size() && axis >= 0; ++i) {
      const int own = axis - (out.rank() - shard.inputs[i].shape.rank());
      shard.in[i] =
          own >= 0 && shard.inputs[i].shape[own] == out[axis] && out[axis] != 1 ? Layout{Kind::split, own} : Layout{};
    }
    if (axis >= 0) std::ranges::fill(shard.out, Layout{Kind::split, axis});
    return true;
  }

  std::vector<Placed> add(const Node& node, const std::vector<Placed>& inputs, const Shard& shard) {
    Values locals;
    for (std::size_t i = 0; i < inputs.size(); ++i) locals.push_back(convert(inputs[i], shard.in[i]));
    // Numbers that are the same on all replicas start at row 0 on each.
    if (node.op->traits.random && shard.out[0].kind == Kind::whole && locals.size() > 2)
      locals[2] = full(to_, 0, {}, DType::int64);
    return placed(to_.add_all(*node.op, locals, shard.local, node.bodies), node.types, shard.out);
  }

  std::vector<Placed> placed(const Values& locals, const std::vector<Type>& wholes,
                             const std::vector<Layout>& layouts) const {
    std::vector<Placed> result;
    for (std::size_t i = 0; i < locals.size(); ++i) {
      const Shape wanted =
          layouts[i].kind == Kind::split && wholes[i].dtype != DType::opaque
              ? wholes[i].shape.with(layouts[i].axis, extent(wholes[i].shape[layouts[i].axis], rows_.end - rows_.begin))
              : locals[i].shape();
      STRATA_CHECK(locals[i].shape() == wanted, (*locals[i].graph)[locals[i].node].op->name, ": its part is ",
                   locals[i].type(), ", not ", wanted);
      result.push_back({locals[i], layouts[i], wholes[i]});
    }
    return result;
  }

  // What the node means in simpler ops, over whole types, spread in its turn.
  std::vector<Placed> decomposed(const Node& node, const std::vector<Placed>& inputs) {
    Graph simpler;
    Values whole;
    std::map<Ref, Placed> known;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      whole.push_back(inputs[i].local ? simpler.input(cat(i), inputs[i].whole) : Value{});
      if (whole.back()) known[Graph::ref(whole.back())] = inputs[i];
    }
    const Values results = node.op->decompose(whole, node.attributes);
    walk(simpler, known);
    std::vector<Placed> outputs;
    for (const Value& result : results) outputs.push_back(result ? known.at(Graph::ref(result)) : Placed{});
    return outputs;
  }

  // The loop over the replica's rows. Carries may turn out split, or be terms (gradients that add up); when the body would
  // need a collective the loop runs whole on every replica.
  std::vector<Placed> emit_scan(const Node& node, const std::vector<Placed>& inputs) {
    const auto& scan_attributes = node.attributes.as<Scan>();
    const auto carries = static_cast<std::size_t>(scan_attributes.carries),
               sequences = static_cast<std::size_t>(scan_attributes.sequences);
    std::vector<Layout> layouts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Layout layout = inputs[i].layout;
      if (i >= carries && i < carries + sequences) {
        if (layout.kind == Kind::split && layout.axis == 0) return {};
        if (layout.kind == Kind::split) --layout.axis;
      }
      if (i >= carries && layout.kind == Kind::terms) layout = {};
      layouts.push_back(layout);
    }
    const Graph& body = *node.bodies[0];
    for (int attempt = 0; attempt < 4; ++attempt) {
      auto local = std::make_shared<Graph>();
      Spreader inner(*local, rows_, false);
      std::map<Ref, Placed> known;
      std::size_t input = 0;
      for (int n = 0; n < body.size(); ++n) {
        auto it = std::ranges::find_if(body.inputs(), [&](const auto& entry) { return entry.second == n; });
        if (it == body.inputs().end()) continue;
        const Type& whole = body[n].types[0];
        Type part = whole;
        if (layouts[input].kind == Kind::split)
          part.shape =
              part.shape.with(layouts[input].axis, extent(part.shape[layouts[input].axis], rows_.end - rows_.begin));
        known[{n, 0}] = {local->input(it->first, part), layouts[input], whole};
        ++input;
      }
      inner.walk(body, known);
      bool settled = !inner.refused;
      std::vector<Layout> yields;
      for (std::size_t o = 0; o < body.outputs().size(); ++o) {
        const Placed& result = known.at(body.outputs()[o].value);
        if (o >= carries) {
          yields.push_back(result.layout);
          local->output(cat(o), result.local);
          continue;
        }
        if (result.layout == layouts[o]) {
          local->output(cat(o), result.local);
        } else if (result.layout.kind != Kind::whole && layouts[o].kind == Kind::whole) {
          layouts[o] = result.layout;
          settled = false;
        } else {
          local->output(cat(o), inner.convert(result, layouts[o]));
          settled = settled && !inner.refused;
        }
      }
      if (inner.refused) return {};
      if (!settled) continue;
      Values locals;
      std::vector<Layout> outs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        Layout wanted = layouts[i];
        if (i >= carries && i < carries + sequences && wanted.kind == Kind::split) ++wanted.axis;
        locals.push_back(convert(inputs[i], wanted));
      }
      for (std::size_t o = 0; o < carries; ++o) outs.push_back(layouts[o]);
      for (Layout& layout : yields) {
        if (layout.kind == Kind::split) ++layout.axis;
        outs.push_back(layout);
      }
      return placed(to_.add_all(*node.op, locals, node.attributes, {local}), node.types, outs);
    }
    return {};
  }

  Graph& to_;
  const ReplicaRows& rows_;
  bool collectives_;
  std::map<Value, Value> gathered_;
};

}  // namespace

Spread spread(const Graph& whole, const ReplicaRows& rows) {
  Graph local;
  Spreader spreader(local, rows, true);
  std::map<Ref, Placed> placed;
  for (const auto& [name, node] : whole.inputs()) {
    Type type = whole[node].types[0];
    const bool split =
        name != names::first_row && rows.batch > 0 && type.shape.rank() > 0 && type.shape[0] == rows.batch;
    if (split) type.shape = type.shape.with(0, rows.end - rows.begin);
    placed[{node, 0}] = {local.input(name, type), split ? Layout{Kind::split, 0} : Layout{}, whole[node].types[0]};
  }
  for (const auto& [path, node] : whole.states())
    placed[{node, 0}] = {local.state(path, whole[node].types[0]), {}, whole[node].types[0]};
  spreader.walk(whole, placed);
  for (const auto& next : whole.nexts())
    local.next(placed.at({next.state, 0}).local, spreader.convert(placed.at(next.value), {}), next.advance);
  std::set<std::string> row_outputs;
  for (const auto& output : whole.outputs()) {
    const Placed& value = placed.at(output.value);
    const bool rows_first = value.layout.kind == Kind::split && value.layout.axis == 0;
    if (rows_first) row_outputs.insert(output.name);
    local.output(output.name, rows_first ? value.local : spreader.convert(value, {}));
  }
  if (whole.ok()) local.guard(spreader.convert(placed.at(whole.ok()), {}));
  return {std::move(local), std::move(row_outputs)};
}

}  // namespace strata
