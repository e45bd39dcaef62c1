// SPDX-License-Identifier: Apache-2.0
// Gradients, graph to graph, in the same ops: so gradients of gradients work too.
#include <algorithm>

#include "strata/ops.h"

namespace strata {

namespace {

class Differentiation {
 public:
  explicit Differentiation(Graph& graph) : graph_(graph) {}

  // Which nodes lie between the wanted values and the loss: only those are differentiated. A wanted value itself is
  // passed through only where it depends on another.
  void mark(std::span<const Value> wrt, int last) {
    between_.assign(static_cast<std::size_t>(last) + 1, false);
    depends_ = between_;
    for (const Value& value : wrt)
      if (value.node <= last) between_[static_cast<std::size_t>(value.node)] = true;
    for (int n = 0; n <= last; ++n) {
      if (graph_[n].op->name == "stop_gradient") continue;
      for (const Ref& ref : graph_[n].inputs)
        if (ref && between_[static_cast<std::size_t>(ref.node)])
          between_[static_cast<std::size_t>(n)] = depends_[static_cast<std::size_t>(n)] = true;
    }
  }

  void add(Ref to, Value gradient) {
    Value& sum = gradients_[to];
    sum = sum ? strata::add(sum, gradient) : gradient;
  }
  Value at(Ref ref) const {
    const auto it = gradients_.find(ref);
    return it == gradients_.end() ? Value{} : it->second;
  }

  void run(int last) {
    for (int n = last; n >= 0; --n) {
      if (!depends_[static_cast<std::size_t>(n)]) continue;
      Values outputs, arriving;
      bool any = false;
      for (int o = 0; o < static_cast<int>(graph_[n].types.size()); ++o) {
        outputs.push_back({&graph_, n, o});
        arriving.push_back(at({n, o}));
        any = any || arriving.back();
      }
      if (any) differentiate(n, outputs, arriving);
    }
  }

 private:
  void differentiate(int n, const Values& outputs, const Values& arriving) {
    // Copied: the graph grows below.
    const OpDef& op = *graph_[n].op;
    const Attributes attributes = graph_[n].attributes;
    const Bodies bodies = graph_[n].bodies;
    const std::vector<Ref> refs = graph_[n].inputs;
    Values inputs;
    for (const Ref& ref : refs) inputs.push_back(graph_.value(ref));
    const Graph::Labelled label(graph_, graph_[n].scope);
    if (!op.vjp) {
      if (!op.decompose)
        throw Error(
            cat("op '", op.name, "' has no gradient: neither a rule of its own nor simpler ops to stand for it"));
      return through_decomposition(op, attributes, inputs, arriving);
    }
    const Values own = op.vjp({inputs, outputs, arriving, attributes, bodies});
    if (own.size() != inputs.size())
      throw Error(cat("op '", op.name, "' gives ", own.size(), " gradients for ", inputs.size(), " inputs"));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!own[i] || !refs[i] || !between_[static_cast<std::size_t>(refs[i].node)]) continue;
      if (own[i].type() != inputs[i].type())
        throw Error(cat("op '", op.name, "': input ", i, " is ", inputs[i].type(), ", but its gradient ",
                        own[i].type()));
      add(refs[i], own[i]);
    }
  }

  // The node's meaning in simpler ops is put beside it and differentiated in its stead.
  void through_decomposition(const OpDef& op, const Attributes& attributes, const Values& inputs,
                             const Values& arriving) {
    // The simpler ops start from stand-ins, so that only they are walked.
    Values stand_ins;
    for (const Value& input : inputs) stand_ins.push_back(input ? stand_in_for(input) : Value{});
    const Values results = op.decompose(stand_ins, attributes);
    Value loss;
    for (std::size_t o = 0; o < results.size() && o < arriving.size(); ++o) {
      if (!arriving[o] || !results[o]) continue;
      Value part = sum(multiply(results[o], arriving[o]));
      loss = loss ? strata::add(loss, part) : part;
    }
    if (!loss) return;
    Values wanted;
    for (const Value& stand_in : stand_ins)
      if (stand_in && is_floating(stand_in.dtype())) wanted.push_back(stand_in);
    const Values found = strata::gradients(loss, wanted);
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || !is_floating(inputs[i].dtype())) continue;
      const Value gradient = found[next++];
      if (gradient && between_[static_cast<std::size_t>(inputs[i].node)]) add(Graph::ref(inputs[i]), gradient);
    }
  }

  // A node of its own for the same value; simplified away later.
  static Value stand_in_for(Value input) { return is_floating(input.dtype()) ? input * 1.0 : input; }

  Graph& graph_;
  std::vector<bool> between_, depends_;
  std::map<Ref, Value> gradients_;
};

}  // namespace

Values gradients(Value loss, std::span<const Value> wrt, Value seed) {
  Graph& graph = *loss.graph;
  if (!seed && loss.shape().rank() != 0) throw Error(cat("gradients are of a scalar; the loss is ", loss.type()));
  if (seed && seed.shape() != loss.shape())
    throw Error(cat("the seed ", seed.type(), " does not fit the loss ", loss.type()));
  const int last = loss.node;
  Differentiation differentiation(graph);
  differentiation.mark(wrt, last);
  differentiation.add(Graph::ref(loss), seed ? seed : full(graph, 1, loss.shape(), loss.dtype()));
  differentiation.run(last);
  Values results;
  for (const Value& value : wrt) results.push_back(differentiation.at(Graph::ref(value)));
  return results;
}

}  // namespace strata
