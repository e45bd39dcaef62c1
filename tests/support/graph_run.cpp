// SPDX-License-Identifier: Apache-2.0
#include "support/graph_run.h"

#include "runtime/executor.h"
#include "strata/ops.h"
#include "support/arrays.h"

namespace strata::test {

Step oracle_step(const Graph& graph, const Arrays& values) {
  const std::vector<std::vector<Array>> all = evaluate(graph, values);
  const auto at = [&](Ref ref) {
    return all[static_cast<std::size_t>(ref.node)][static_cast<std::size_t>(ref.output)];
  };
  Step step;
  step.committed = !graph.ok() || at(graph.ok()).data[0] != 0;
  for (const auto& [path, node] : graph.states()) step.states[path] = values.at(path);
  for (const Graph::Next& next : graph.nexts()) {
    if (step.committed || next.advance == Advance::always) step.states[graph[next.state].label] = at(next.value);
  }
  for (const Graph::Output& output : graph.outputs()) step.outputs[output.name] = at(output.value);
  return step;
}

struct CompiledGraph::Parts {
  Plan plan;
  Store store;
  std::unique_ptr<Executor> executor;
  std::map<std::string, Type> inputs;
};

CompiledGraph::CompiledGraph(const Graph& graph, Backend& backend, const Arrays& values, const CompileOptions& options)
    : parts_(std::make_unique<Parts>()) {
  const Device device = backend.devices()[0];
  for (const auto& [path, node] : graph.states()) {
    parts_->store.add(path, Tensor::from_doubles(graph[node].types[0], values.at(path).data), true);
  }
  for (const auto& [name, node] : graph.inputs()) parts_->inputs[name] = graph[node].types[0];
  parts_->store.place(backend, {device});
  parts_->plan = compile_graph(graph, backend, device, options);
  parts_->executor = std::make_unique<Executor>(backend, std::vector<Device>{device}, parts_->store);
  parts_->executor->prepare(parts_->plan);
}

CompiledGraph::~CompiledGraph() = default;

const Plan& CompiledGraph::plan() const { return parts_->plan; }

Step CompiledGraph::step(const Arrays& values) {
  std::map<std::string, Tensor> feeds;
  for (const auto& [name, type] : parts_->inputs) feeds[name] = Tensor::from_doubles(type, values.at(name).data);
  const RunResult result = parts_->executor->run(parts_->plan, {&feeds, 1});
  if (result.status != Status::ok) {
    throw RunFailed(cat("launch ", result.launch, " failed:\n", parts_->plan.text()));
  }
  feeds.clear();  // outputs are the plan's own, whatever becomes of the feeds
  Step step;
  step.committed = result.committed;
  for (const auto& [name, slot] : parts_->plan.outputs) {
    const Tensor value = parts_->executor->output(parts_->plan, name);
    step.outputs[name] = Array(value.shape(), value.to_doubles());
  }
  for (const auto& [path, variable] : parts_->store.variables()) {
    step.states[path] = Array(variable->type.shape, parts_->store.read(path).to_doubles());
  }
  return step;
}

std::pair<double, std::string> difference(const Step& a, const Step& b) {
  if (a.committed != b.committed) return {HUGE_VAL, "whether it commits"};
  std::pair<double, std::string> most{0, ""};
  const auto compare = [&](const Arrays& x, const Arrays& y, const std::string& kind) {
    if (x.size() != y.size()) most = {HUGE_VAL, cat("the number of ", kind, "s")};
    for (const auto& [name, array] : x) {
      const auto other = y.find(name);
      const double by = other == y.end() ? HUGE_VAL : difference(array, other->second);
      if (by > most.first) most = {by, cat(kind, " ", name)};
    }
  };
  compare(a.outputs, b.outputs, "output");
  compare(a.states, b.states, "state");
  return most;
}

namespace {

class Builder {
 public:
  Builder(std::uint64_t seed, Arrays& values) : numbers_(seed), values_(values) {
    for (int i = 0; i < 8; ++i) numbers_.next();
    for (const auto& [name, op] : ops()) {
      if (!op->examples || op->traits.internal) continue;
      for (const OpExample& example : op->examples()) examples_.push_back(example);
    }
  }

  Graph run() {
    for (int i = 0; i < 3; ++i) pool_.push_back(leaf({{pick(3) + 1, 4}, DType::float64}, -1, 1));
    for (int steps = 3 + pick(8); steps > 0; --steps) {
      if (pick(3) == 0) apply();
      else chain();
    }
    ends();
    return std::move(graph_);
  }

 private:
  int pick(int below) { return static_cast<int>(numbers_.next() * below); }
  template <class T> const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }
  bool chance(double share) { return numbers_.next() < share; }

  Value leaf(const Type& type, double low, double high) {
    const bool state = chance(0.5);
    const std::string name = cat(state ? "s" : "x", leaves_++);
    values_[name] = drawn({type, low, high}, 1000 + static_cast<std::uint64_t>(pick(1000000)));
    const Value value = state ? graph_.state(name, type) : graph_.input(name, type);
    if (state) states_.push_back(value);
    return value;
  }

  // A value of this type within [low, high): from the pool where one is large enough.
  Value shaped(const Type& type, double low, double high) {
    if (type.dtype == DType::float64 && chance(0.7)) {
      for (int tries = 0; tries < 4; ++tries) {
        Value x = one_of(pool_);
        if (x.type().size() < type.size() || x.dtype() != DType::float64 || type.size() == 0) continue;
        if (!(x.shape() == type.shape)) {
          x = reshape(x, {x.type().size()});
          if (x.type().size() > type.size()) x = slice(x, {0}, {type.size()});
          x = reshape(x, type.shape);
        }
        // From any number into the range.
        return (tanh(x) + 1.0) * ((high - low) * 0.499) + low;
      }
    }
    return leaf(type, low, high);
  }

  void apply() {
    const OpExample& example = one_of(examples_);
    std::int64_t elements = 0;
    for (const OpExample::Input& input : example.inputs) elements += input.type.size();
    if (elements > 2000) return;
    Values inputs;
    for (const OpExample::Input& input : example.inputs) {
      Type type = input.type;
      if (type.dtype == DType::float32) type.dtype = DType::float64;
      inputs.push_back(shaped(type, input.low, input.high));
    }
    const Values outputs = trial(example, inputs);
    for (const Value& value : outputs) {
      if (value && value.dtype() == DType::float64 && value.type().size() > 0 && value.type().size() < 3000)
        pool_.push_back(value);
      if (value && value.dtype() == DType::boolean && value.shape().rank() == 0) flags_.push_back(value);
    }
  }

  // Nothing when the op does not take doubles, or makes floats of fewer bits of them.
  Values trial(const OpExample& example, const Values& inputs) {
    Graph alone;
    Values own;
    for (const Value& value : inputs) own.push_back(alone.input(cat("x", own.size()), value.type()));
    try {
      for (const Value& value : example.build(own)) {
        if (value && is_floating(value.dtype()) && value.dtype() != DType::float64) return {};
      }
    } catch (const Error&) {
      return {};
    }
    for (int node = 0; node < alone.size(); ++node) {
      for (const Type& type : alone[node].types) {
        if (is_floating(type.dtype) && type.dtype != DType::float64) return {};
      }
    }
    return example.build(inputs);
  }

  // An elementwise step over a value and, half of the time, another that broadcasts to it.
  void chain() {
    const Value x = one_of(pool_);
    Value y;
    for (int tries = 0; tries < 6 && !y; ++tries) {
      const Value other = one_of(pool_);
      if (other.shape() == x.shape() || other.shape().rank() == 0) y = other;
    }
    Value result;
    switch (pick(y ? 14 : 8)) {
      case 0: result = relu(x); break;
      case 1: result = tanh(x); break;
      case 2: result = x * 1.0 + 0.0; break;
      case 3: result = select(greater(x, full_like(x, 0.125)), x, negate(x)); break;
      case 4: result = reshape(reshape(x, {x.type().size()}), x.shape()); break;
      case 5: result = sum(square(x)); break;
      case 6: result = x.shape().rank() > 1 ? reduce_sum(x * 0.5, {0}) : exp(negate(absolute(x))); break;
      case 7: result = cast(less(x, full_like(x, 0.25)), DType::float64) * 2.0; break;
      case 8: result = x + y; break;
      case 9: result = x * sigmoid(y); break;
      case 10: result = maximum(x, y); break;
      case 11: result = x - y; break;
      case 12: result = x / (absolute(y) + 1.5); break;
      default: result = broadcast_to(reshape(sum(y), Shape{}), x.shape()) * x; break;
    }
    pool_.push_back(result);
  }

  void ends() {
    if (chance(0.5)) {
      const Value x = sum(one_of(pool_));
      graph_.guard(chance(0.5) ? is_finite(x) : less(x, full_like(x, -1e300)));
    }
    Values changed;
    for (const Value& state : states_) {
      if (chance(0.3)) continue;
      Value next;
      if (state.dtype() != DType::float64) {
        if (chance(0.5)) continue;
        next = state;
      } else if (pick(5) == 0) {
        for (const Value& other : states_) {
          if (!(other == state) && other.type() == state.type()) next = other;  // two may be exchanged
        }
      }
      if (!next && state.dtype() == DType::float64) {
        for (const Value& value : pool_) {
          if (value.type() == state.type() && chance(0.5)) next = chance(0.5) ? state * 0.9 + value * 0.1 : value;
        }
      }
      if (!next && state.dtype() == DType::float64) next = state + tanh(sum(one_of(pool_)));
      if (next) graph_.next(state, next, chance(0.3) ? Advance::always : Advance::if_ok);
    }
    for (int outputs = 1 + pick(4); outputs > 0; --outputs) graph_.output(cat("out", outputs), one_of(pool_));
    if (!states_.empty() && chance(0.5)) {
      const Value state = one_of(states_);
      graph_.output("state", state);
      graph_.output("flat", reshape(state, {state.type().size()}));
    }
    for (const Value& flag : flags_) graph_.output(cat("flag", flag.node), flag);
  }

  Numbers numbers_;
  Arrays& values_;
  Graph graph_;
  std::vector<OpExample> examples_;
  Values pool_, states_, flags_;
  int leaves_ = 0;
};

}  // namespace

Graph random_graph(std::uint64_t seed, Arrays& values) { return Builder(seed, values).run(); }

}  // namespace strata::test
