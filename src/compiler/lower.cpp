// SPDX-License-Identifier: Apache-2.0
// From nodes to launches: a kernel for each node, a slot for each array. What only renames an array is no launch.
#include <algorithm>

#include "compiler/pass.h"
#include "compiler/rewrite.h"
#include "graph/fused.h"
#include "strata/ops.h"

namespace strata {

Choice Target::choose(const Node& node, std::span<const Type> inputs, std::span<const std::string> formats,
                      int candidate) const {
  return backend.choose({node, inputs, node.types, formats, model, candidate});
}

namespace {

constexpr std::size_t constant_limit_bytes =
    1 << 20;  // larger uniform arrays are filled by a launch when they are needed

class Lowering {
 public:
  Lowering(const Graph& graph, Target& target) : graph_(graph), uses_(graph), target_(target) {
    for (int node = 0; node < graph.size(); ++node) {
      roots_.emplace_back();
      for (int output = 0; output < static_cast<int>(graph[node].types.size()); ++output) {
        roots_.back().push_back(renames(node) ? root(graph[node].inputs[0]) : Ref{node, output});
      }
      slots_.emplace_back(graph[node].types.size(), -1);
    }
    for (int node = 0; node < graph.size(); ++node) {
      for (const Ref input : graph[node].inputs) {
        if (input && !renames(node)) read_.insert(root(input));
      }
    }
    for (const Graph::Output& output : graph.outputs()) read_.insert(root(output.value));
    for (const Graph::Next& next : graph.nexts()) read_.insert(root(next.value));
    if (graph.ok()) read_.insert(root(graph.ok()));
  }

  // Nodes that no kernel takes.
  const std::vector<std::pair<int, Choice>>& refused() const { return refused_; }

  Draft run() {
    for (int node = 0; node < graph_.size(); ++node) {
      if (renames(node)) continue;
      if (is_leaf(graph_, node)) leaf(node);
      else if (is_constant(node)) hold(node);
      else launch(node);
    }
    if (!refused_.empty()) return {};
    ends();
    draft_.made_in.assign(draft_.plan.slots.size(), -1);
    return std::move(draft_);
  }

 private:
  // The value is its input's bytes under another type.
  bool renames(int node) const {
    const Node& n = graph_[node];
    if (n.inputs.size() != 1 || n.types.size() != 1 || !n.inputs[0]) return false;
    const bool same = graph_.type(n.inputs[0]) == n.types[0];
    return n.op->traits.reads_shape_only || (n.op->name == "stop_gradient") || (n.op->name == "cast" && same) ||
           (n.op->traits.collective && target_.options.replicas == 1 && same);
  }
  Ref root(Ref value) const {
    return roots_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
  int& slot(Ref value) {
    return slots_[static_cast<std::size_t>(root(value).node)][static_cast<std::size_t>(root(value).output)];
  }

  bool is_constant(int node) const {
    const Node& n = graph_[node];
    return n.op->name == "literal" || (n.op->name == "full" && n.types[0].bytes() <= constant_limit_bytes);
  }

  int add_slot(Slot::Kind kind, const Type& type, std::size_t bytes, std::string name, std::string format = {}) {
    Slot added;
    added.kind = kind;
    added.type = type;
    added.bytes = bytes;
    added.name = std::move(name);
    added.format = std::move(format);
    draft_.plan.slots.push_back(std::move(added));
    return static_cast<int>(draft_.plan.slots.size()) - 1;
  }
  const Slot& slot_at(int index) const { return draft_.plan.slots[static_cast<std::size_t>(index)]; }

  void leaf(int node) {
    const Node& n = graph_[node];
    const bool state = is_state(graph_, node);
    const int made = add_slot(state ? Slot::Kind::state : Slot::Kind::feed, n.types[0], n.types[0].bytes(), n.label);
    slot({node, 0}) = made;
    (state ? draft_.plan.states : draft_.plan.feeds)[n.label] = made;
  }

  void hold(int node) {
    if (!read_.count({node, 0})) return;
    const Node& n = graph_[node];
    const int made = add_slot(Slot::Kind::constant, n.types[0], n.types[0].bytes(), std::string(n.op->name));
    std::vector<double> values;
    if (n.op->name == "full") values.assign(static_cast<std::size_t>(n.types[0].size()), n.attributes.as<Full>().value);
    else values = n.attributes.as<Literal>().values;
    draft_.plan.constants.emplace_back(made, Tensor::from_doubles(n.types[0], values));
    slot({node, 0}) = made;
  }

  std::vector<Type> input_types(const Node& node) const {
    std::vector<Type> types;
    for (const Ref input : node.inputs) types.push_back(input ? graph_.type(input) : Type{});
    return types;
  }

  // The formats of a node's opaque inputs; those of `producer` as `choice` would make them.
  std::vector<std::string> formats(const Node& node, int producer = -1, const Choice* choice = nullptr) {
    std::vector<std::string> all;
    for (const Ref input : node.inputs) {
      std::string format;
      if (input && graph_.type(input).dtype == DType::opaque) {
        if (input.node == producer) format = choice->opaque[static_cast<std::size_t>(input.output)].second;
        else if (slot(input) >= 0) format = slot_at(slot(input)).format;
      }
      all.push_back(std::move(format));
    }
    return all;
  }

  // The first candidate whose opaque outputs all their readers accept.
  Choice choose(int node) {
    const Node& n = graph_[node];
    if (!n.bodies.empty()) {
      const auto known = target_.chosen.find(n.bodies[0].get());
      if (known != target_.chosen.end()) return known->second;
    }
    const std::vector<Type> types = input_types(n);
    std::vector<std::string> refusals;
    for (int candidate = 0;; ++candidate) {
      Choice choice = target_.choose(n, types, formats(n), candidate);
      choice.opaque.resize(n.types.size());
      bool accepted = true;
      for (int output = 0; output < static_cast<int>(n.types.size()) && accepted && choice.kernel; ++output) {
        if (n.types[static_cast<std::size_t>(output)].dtype != DType::opaque) continue;
        for (const int reader : uses_.readers({node, output})) {
          const Node& r = graph_[reader];
          const Choice answer = target_.choose(r, input_types(r), formats(r, node, &choice));
          if (answer.kernel) continue;
          refusals.push_back(cat(choice.name, ": ", r.op->name, " cannot read its ",
                                 choice.opaque[static_cast<std::size_t>(output)].second));
          accepted = false;
          break;
        }
      }
      if (!accepted) continue;
      choice.refusals.insert(choice.refusals.begin(), refusals.begin(), refusals.end());
      return choice;
    }
  }

  void launch(int node) {
    const Node& n = graph_[node];
    DraftLaunch made;
    PlannedLaunch& launch = made.launch;
    launch.op = n.op == &fused_op ? n.attributes.as<Fused>().pattern : std::string(n.op->name);
    launch.scope = n.scope;
    const std::vector<Type> types = input_types(n);
    launch.flops = flops_of(n, types);
    Choice choice;
    if (n.op->traits.collective) {
      launch.collective = true;
      launch.kernel_name = "communicator";
      choice.opaque.resize(n.types.size());
    } else {
      choice = choose(node);
      if (!choice.kernel) {
        refused_.emplace_back(node, std::move(choice));
        return;
      }
      launch.kernel = choice.kernel;
      launch.kernel_name = choice.name;
      launch.reference = choice.reference;
      launch.refusals = choice.refusals;
    }
    if (!refused_.empty()) return;  // the answer is no already; only the refusals still count
    for (const Ref input : n.inputs) launch.inputs.push_back(input ? slot(input) : -1);
    for (const Pack& pack : choice.packs) {
      int& packed = launch.inputs[static_cast<std::size_t>(pack.input)];
      packed = packed_slot(packed, pack, n.scope);
    }
    for (int output = 0; output < static_cast<int>(n.types.size()); ++output) {
      const Type& type = n.types[static_cast<std::size_t>(output)];
      const auto& [bytes, format] = choice.opaque[static_cast<std::size_t>(output)];
      int& place = slot({node, output});
      if (output == 0 || read_.count({node, output})) {  // kernels may count on their first output
        place =
            add_slot(Slot::Kind::arena, type, type.dtype == DType::opaque ? bytes : type.bytes(), launch.op, format);
      }
      launch.outputs.push_back(place);
    }
    made.in_place = choice.in_place;
    made.workspace_bytes = choice.workspace_bytes;
    draft_.launches.push_back(std::move(made));
  }

  // What lasts longer than a run is packed when it has changed; anything else each time.
  int packed_slot(int plain, const Pack& pack, const std::string& scope) {
    int& known = packed_[{plain, pack.format}];
    if (known > 0) return known - 1;
    const Slot source = slot_at(plain);
    const bool lasts = source.kind == Slot::Kind::state || source.kind == Slot::Kind::constant;
    const int made =
        add_slot(lasts ? Slot::Kind::packed : Slot::Kind::arena, {source.type.shape, DType::opaque}, pack.bytes,
                 lasts && source.kind == Slot::Kind::constant ? cat("constant ", plain) : source.name, pack.format);
    known = made + 1;
    DraftLaunch added;
    added.launch.op = "pack";
    added.launch.scope = scope;
    added.launch.kernel = pack.kernel;
    added.launch.kernel_name = pack.format;
    added.launch.inputs = {plain};
    added.launch.outputs = {made};
    added.launch.on_change = lasts;
    draft_.launches.push_back(std::move(added));
    return made;
  }

  int copied(int from, const Type& type) {
    const int made = add_slot(Slot::Kind::arena, type, slot_at(from).bytes, "copy");
    DraftLaunch added;
    added.launch.op = "copy";
    added.launch.kernel_name = "copy";
    added.launch.copy = true;
    added.launch.inputs = {from};
    added.launch.outputs = {made};
    draft_.launches.push_back(std::move(added));
    return made;
  }

  // Outputs are read after the run, when a state has changed and a feed may be gone; next values are copied when all
  // launches are done, so the one that is another state's present value is set aside first.
  void ends() {
    std::set<int> changed;
    for (const Graph::Next& next : graph_.nexts()) changed.insert(slot({next.state, 0}));
    const auto lasting = [&](int index) {
      const Slot::Kind kind = slot_at(index).kind;
      return kind != Slot::Kind::feed && !(kind == Slot::Kind::state && changed.count(index));
    };
    for (const Graph::Output& output : graph_.outputs()) {
      int from = slot(output.value);
      const Type& type = graph_.type(output.value);
      if (!lasting(from) || (slot_at(from).kind != Slot::Kind::arena && !(slot_at(from).type == type))) {
        from = copied(from, type);
      } else if (!(slot_at(from).type == type)) {
        from = view(from, type);
      }
      draft_.plan.outputs[output.name] = from;
    }
    for (const Graph::Next& next : graph_.nexts()) {
      const int state = slot({next.state, 0});
      int from = slot(next.value);
      if (from == state) continue;
      if (slot_at(from).kind == Slot::Kind::state && changed.count(from)) from = copied(from, slot_at(from).type);
      draft_.nexts.push_back({state, from, graph_.ok() ? next.advance : Advance::always});
    }
    if (graph_.ok()) {
      const int from = slot(graph_.ok());
      draft_.plan.ok = lasting(from) ? from : copied(from, slot_at(from).type);
    }
  }

  // Another type for an arena slot's bytes.
  int view(int from, const Type& type) {
    const int made = add_slot(Slot::Kind::arena, type, slot_at(from).bytes, slot_at(from).name);
    draft_.views.emplace_back(made, from);
    return made;
  }

  const Graph& graph_;
  const Uses uses_;
  Target& target_;
  std::vector<std::vector<Ref>> roots_;  // by node and output: the value whose bytes these are
  std::vector<std::vector<int>> slots_;
  std::set<Ref> read_;                                 // roots that anything reads
  std::map<std::pair<int, std::string>, int> packed_;  // one more than the slot
  std::vector<std::pair<int, Choice>> refused_;
  Draft draft_;
};

[[noreturn]] void raise_refused(const Graph& graph, const Target& target, int node, const Choice& choice) {
  const Node& n = graph[node];
  std::string types;
  for (const Ref input : n.inputs) types += cat(types.empty() ? "" : ", ", input ? to_text(graph.type(input)) : "none");
  std::string message = cat(n.scope, n.scope.empty() ? "" : ": ", n.op->name, ": ", to_text(target.device),
                            " has no kernel for (", types, ")");
  for (const std::string& refusal : choice.refusals) message += cat("\n    ", refusal);
  throw Error(message + "\n  use another device, or another dtype for this layer");
}

// The graph with these nodes written out in simpler ops.
Graph taken_apart(const Graph& graph, const std::vector<std::pair<int, Choice>>& refused, const Target& target) {
  Rewrite rewrite(graph);
  std::map<int, const Choice*> apart;
  for (const auto& [node, choice] : refused) apart[node] = &choice;
  for (int node = 0; node < graph.size(); ++node) {
    const auto found = apart.find(node);
    if (found == apart.end()) {
      rewrite.copy(node);
      continue;
    }
    const Node& n = graph[node];
    const Graph::Labelled labelled(rewrite.graph(), n.scope);
    if (n.op == &fused_op) rewrite.replace(node, unfused(rewrite.graph(), n, rewrite.inputs(node)));
    else if (n.op->decompose) rewrite.replace(node, n.op->decompose(rewrite.inputs(node), n.attributes));
    else raise_refused(graph, target, node, *found->second);
  }
  return without_dead(rewrite.finish());
}

}  // namespace

Draft lower(const Graph& given, Target& target) {
  Graph graph = given;
  while (true) {
    Lowering lowering(graph, target);
    Draft draft = lowering.run();
    if (lowering.refused().empty()) return draft;
    graph = taken_apart(graph, lowering.refused(), target);
  }
}

}  // namespace strata
