// SPDX-License-Identifier: Apache-2.0
// From symbols to calls in order, with names.
#include "model/topology.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace strata {

Symbol input(const Shape& shape, const std::string& name, DType dtype) {
  auto node = std::make_shared<SymbolNode>();
  node->name = name;
  node->type = {shape, dtype};
  return {node, 0};
}

Symbol operator|(const Symbol& x, Layer layer) { return Symbols{x} | std::move(layer); }

Symbol operator|(const Symbols& x, Layer layer) {
  auto node = std::make_shared<SymbolNode>();
  node->layer = std::move(layer);
  node->from = x;
  return {node, 0};
}

Symbol output_of(const Symbol& x, int output) { return {x.node, output}; }

namespace {

// Walks back from the outputs; a node's calls come after those it needs.
class Builder {
 public:
  explicit Builder(Topology& topology) : topology_(topology) {}

  void input(const std::string& name, const Symbol& symbol) {
    if (!symbol.node || symbol.node->layer)
      throw Error(cat("model '", topology_.name, "': its input '", name, "' is not an input() but a layer's output"));
    if (places_.count(symbol.node.get()))
      throw Error(cat("model '", topology_.name, "': input '", name, "' is listed twice"));
    std::string chosen = !name.empty() ? name : symbol.node->name;
    if (chosen.empty()) chosen = topology_.inputs.empty() ? "input" : cat("input_", topology_.inputs.size());
    places_[symbol.node.get()] = -static_cast<int>(topology_.inputs.size()) - 1;
    topology_.inputs.push_back({chosen, symbol.node->type});
  }

  Topology::Edge edge(const Symbol& symbol) {
    if (!symbol.node)
      throw Error(cat("model '", topology_.name, "': a layer is called on a Symbol that was never made"));
    return {visit(*symbol.node), symbol.output};
  }

 private:
  int visit(const SymbolNode& node) {
    if (auto it = places_.find(&node); it != places_.end()) return it->second;
    if (!node.layer)
      throw Error(cat("model '", topology_.name, "': an output depends on input '", node.name,
                      "', which is not among the model's inputs"));
    if (!open_.insert(&node).second) throw Error(cat("model '", topology_.name, "': its layers form a circle"));
    Topology::Call call{*node.layer, {}, {}};
    for (auto& from : node.from) call.from.push_back(edge(from));
    open_.erase(&node);
    topology_.calls.push_back(std::move(call));
    return places_[&node] = static_cast<int>(topology_.calls.size()) - 1;
  }

  Topology& topology_;
  std::map<const SymbolNode*, int> places_;
  std::set<const SymbolNode*> open_;
};

// User's names as they are, others from the class, numbered within the model.
void name_calls(Topology& topology) {
  std::map<std::string, const void*> taken;
  for (auto& input : topology.inputs) {
    if (input.name.find('/') != std::string::npos)
      throw Error(cat("input '", input.name, "': a name cannot contain '/'"));
    if (!taken.emplace(input.name, &input).second)
      throw Error(cat("two inputs are named '", input.name, "'; give each its own name"));
  }
  std::map<const void*, std::string> named;
  for (auto& call : topology.calls) {
    auto& given = call.layer.common().name;
    if (given.empty()) continue;
    if (given.find('/') != std::string::npos)
      throw Error(cat("layer '", given, "' (", call.layer.name(), "): a name cannot contain '/', it separates paths"));
    auto [it, fresh] = taken.emplace(given, call.layer.identity());
    if (!fresh && it->second != call.layer.identity())
      throw Error(
          cat("two layers are named '", given, "' (the second is a ", call.layer.name(), "); give each its own name"));
    named[call.layer.identity()] = given;
  }
  std::map<std::string, int> counters;
  for (auto& call : topology.calls) {
    auto& name = named[call.layer.identity()];
    const std::string stem = name.empty() ? snake_case(call.layer.name()) : "";
    while (name.empty()) {
      const int count = counters[stem]++;
      std::string candidate = count ? cat(stem, "_", count) : stem;
      if (taken.emplace(candidate, call.layer.identity()).second) name = std::move(candidate);
    }
    call.name = name;
  }
}

}  // namespace

std::shared_ptr<const Topology> make_topology(const std::vector<std::pair<std::string, Symbol>>& inputs,
                                              const std::vector<std::pair<std::string, Symbol>>& outputs,
                                              std::string name, bool sequential) {
  auto topology = std::make_shared<Topology>();
  topology->name = name.empty() ? (sequential ? "sequential" : "functional") : std::move(name);
  topology->sequential = sequential;
  if (outputs.empty()) throw Error(cat("model '", topology->name, "' has no outputs"));
  Builder builder(*topology);
  for (auto& [input_name, symbol] : inputs) builder.input(input_name, symbol);
  for (auto& [_, symbol] : outputs) topology->outputs.push_back(builder.edge(symbol));
  name_calls(*topology);
  std::set<std::string> taken;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto& edge = topology->outputs[i];
    std::string chosen = outputs[i].first;
    if (chosen.empty())
      chosen = edge.call < 0 ? topology->inputs[static_cast<std::size_t>(-edge.call - 1)].name
                             : topology->calls[static_cast<std::size_t>(edge.call)].name;
    for (int k = 1; !taken.insert(chosen).second; ++k) chosen = cat(chosen, "_", k);
    topology->output_names.push_back(chosen);
  }
  return topology;
}

std::vector<Topology::Listed> Topology::keras_order() const {
  std::vector<Listed> listed;
  std::set<const void*> seen;
  if (sequential) {
    for (auto& call : calls)
      if (seen.insert(call.layer.identity()).second) listed.push_back({&call, -1});
    return listed;
  }
  // An operation (an input or a layer) has the depth of its deepest node; operations of equal depth stand in the order
  // in which a walk from the outputs first meets them.
  std::vector<int> depth(calls.size(), 0);
  std::map<const void*, int> operation_depth;
  std::map<int, int> input_depth;
  std::vector<const void*> order;
  std::map<const void*, const Call*> first_call;
  auto input_key = [&](int input) { return static_cast<const void*>(&inputs[static_cast<std::size_t>(input)]); };
  std::function<void(const Edge&)> walk = [&](const Edge& edge) {
    const void* key =
        edge.call < 0 ? input_key(-edge.call - 1) : calls[static_cast<std::size_t>(edge.call)].layer.identity();
    const void* node = edge.call < 0 ? key : static_cast<const void*>(&calls[static_cast<std::size_t>(edge.call)]);
    if (std::find(order.begin(), order.end(), key) == order.end()) order.push_back(key);
    if (!seen.insert(node).second || edge.call < 0) return;
    for (auto& from : calls[static_cast<std::size_t>(edge.call)].from) walk(from);
  };
  for (auto& edge : outputs) walk(edge);
  for (int i = static_cast<int>(calls.size()) - 1; i >= 0; --i) {
    auto& call = calls[static_cast<std::size_t>(i)];
    first_call[call.layer.identity()] = &call;
    auto& of_layer = operation_depth[call.layer.identity()];
    of_layer = std::max(of_layer, depth[static_cast<std::size_t>(i)]);
    for (auto& from : call.from) {
      const int needed = depth[static_cast<std::size_t>(i)] + 1;
      if (from.call < 0) {
        auto& of_input = input_depth[-from.call - 1];
        of_input = std::max(of_input, needed);
      } else {
        auto& of_call = depth[static_cast<std::size_t>(from.call)];
        of_call = std::max(of_call, needed);
      }
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operation_depth[input_key(static_cast<int>(i))] =
        input_depth.count(static_cast<int>(i)) ? input_depth[static_cast<int>(i)] : 0;
  std::stable_sort(order.begin(), order.end(),
                   [&](const void* a, const void* b) { return operation_depth[a] > operation_depth[b]; });
  for (const void* key : order) {
    if (auto it = first_call.find(key); it != first_call.end()) listed.push_back({it->second, -1});
    else
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (input_key(static_cast<int>(i)) == key) listed.push_back({nullptr, static_cast<int>(i)});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!input_depth.count(static_cast<int>(i)) &&
        std::find(order.begin(), order.end(), input_key(static_cast<int>(i))) == order.end())
      listed.push_back({nullptr, static_cast<int>(i)});
  return listed;
}

void collect_layers(const Layer& layer, std::set<const void*>& found) {
  found.insert(layer.identity());
  if (const Nested* nested = layer.get_if<Nested>())
    for (auto& call : nested->topology->calls) collect_layers(call.layer, found);
}

std::pair<Layer, std::string> layer_named(const Topology& topology, const std::string& name) {
  const Topology* within = &topology;
  std::string rest = name;
  while (true) {
    const auto slash = rest.find('/');
    const std::string first = rest.substr(0, slash);
    const Layer* layer = nullptr;
    std::vector<std::string> known;
    for (auto& call : within->calls) {
      if (call.name == first) layer = &call.layer;
      if (std::find(known.begin(), known.end(), call.name) == known.end()) known.push_back(call.name);
    }
    if (!layer)
      throw Error(cat("there is no layer '", first, "'", within == &topology ? "" : cat(" in '", within->name, "'"),
                      did_you_mean(first, known)));
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    const Nested* nested = layer->get_if<Nested>();
    if (rest.empty() || !nested) return {*layer, rest};
    within = nested->topology.get();
  }
}

namespace {

using Clones = std::map<const void*, Layer>;

std::shared_ptr<const Topology> cloned(const Topology& topology, Clones& clones) {
  auto copy = std::make_shared<Topology>(topology);
  for (auto& call : copy->calls) {
    auto& clone = clones[call.layer.identity()];
    if (clone.empty()) {
      const Nested* nested = call.layer.get_if<Nested>();
      clone = nested ? Layer(Nested{cloned(*nested->topology, clones)}, call.layer.common()) : call.layer.clone();
    }
    call.layer = clone;
  }
  return copy;
}

}  // namespace

void Nested::unshare() {
  Clones clones;
  topology = cloned(*topology, clones);
}

Schema Nested::schema() {
  return Schema("Functional", "A model used as a layer of another: its weights are shared with it.")
      .masking(Schema::Masking::uses)
      .keeps_dtype();
}

Values Nested::call(Scope& scope, std::span<const Value> inputs) const {
  return trace_topology(scope, *topology, inputs);
}

Values trace_topology(Scope& scope, const Topology& topology, std::span<const Value> inputs) {
  if (inputs.size() != topology.inputs.size())
    throw Error(cat("model '", topology.name, "' takes ", topology.inputs.size(), " inputs, got ", inputs.size()));
  std::vector<Values> results;
  results.reserve(topology.calls.size());
  auto at = [&](const Topology::Edge& edge) {
    if (edge.call < 0) return inputs[static_cast<std::size_t>(-edge.call - 1)];
    auto& outputs = results[static_cast<std::size_t>(edge.call)];
    if (edge.output >= static_cast<int>(outputs.size()))
      throw Error(cat(topology.calls[static_cast<std::size_t>(edge.call)].name, " has ", outputs.size(),
                      " outputs; output ", edge.output, " is asked for"));
    return outputs[static_cast<std::size_t>(edge.output)];
  };
  for (auto& call : topology.calls) {
    Values from;
    for (auto& edge : call.from) from.push_back(at(edge));
    results.push_back(call_layer(scope, call.layer, from, call.name));
  }
  Values outputs;
  for (auto& edge : topology.outputs) outputs.push_back(at(edge));
  return outputs;
}

}  // namespace strata
