// SPDX-License-Identifier: Apache-2.0
// Trace -> Step: forward, losses, gradients, loss scale, metrics, optimizer.
#include "model/step.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace strata {

std::string input_feed(const Topology& topology, std::size_t input) { return topology.inputs[input].name; }
std::string target_feed(const Topology& topology, std::size_t output) {
  return "target/" + topology.output_names[output];
}
std::string weight_feed(const Topology& topology, std::size_t output) {
  return "weight/" + topology.output_names[output];
}
std::string count_feed(const Topology& topology, std::size_t output) {
  return "count/" + topology.output_names[output];
}
std::string metric_state(const std::string& metric, std::size_t statistic) {
  return cat("metric/", metric, "/", statistic);
}

bool frozen(const std::string& path, std::span<const std::string> freeze) {
  for (auto& name : freeze)
    if (path.compare(0, name.size(), name) == 0 && (path.size() == name.size() || path[name.size()] == '/'))
      return true;
  return false;
}

namespace {

constexpr double initial_loss_scale = 32768, loss_scale_floor = 1;
constexpr std::int64_t loss_scale_growth_steps = 2000;

// One graph under construction, with the parts every kind of graph has.
class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, Trace& trace, const Topology& topology, const Precision& precision,
               const BatchTypes& types, bool training)
      : graph(graph),
        trace(trace),
        topology(topology),
        types(types),
        root(prepared(trace, graph, precision, types, training), "", precision) {}

  static Trace& prepared(Trace& trace, Graph& graph, const Precision& precision, const BatchTypes& types,
                         bool training) {
    trace.graph = &graph;
    trace.training = training;
    trace.rows = types.rows;
    trace.precision = precision;
    return trace;
  }

  void forward() {
    Values inputs;
    for (std::size_t i = 0; i < topology.inputs.size(); ++i) {
      Value x = graph.input(input_feed(topology, i), types.inputs[i]);
      const DType wanted = topology.inputs[i].type.dtype;
      inputs.push_back(x.dtype() == wanted ? x : cast(x, wanted));
    }
    outputs = trace_topology(root, topology, inputs);
  }

  Value target(std::size_t output) {
    if (!types.targets[output]) return {};
    Value y = graph.input(target_feed(topology, output), types.targets[output]);
    return is_integer(y.dtype()) && y.dtype() != DType::int32 ? cast(y, DType::int32) : y;
  }
  Value sample_weight(std::size_t output) {
    return types.weights[output] ? graph.input(weight_feed(topology, output), types.weights[output]) : Value{};
  }

  // The state holds its sum with `addend` next; reset between epochs by the host.
  void accumulate(const std::string& path, Value addend, Advance advance = Advance::always) {
    Value total = root.state(path, addend.type(), "zeros");
    graph.next(total, total + addend, advance);
  }

  // Losses of all outputs, the total (with penalties), and metrics' statistics into their states.
  Value losses(Compiled& compiled) {
    const DType dtype = trace.precision.variable == DType::float64 ? DType::float64 : DType::float32;
    Value total = full(graph, 0, {}, dtype);
    std::size_t counted = 0;
    for (auto& loss : compiled.losses) counted += loss ? 1 : 0;
    std::vector<std::pair<std::string, Value>> separate;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Value y = target(i), w = sample_weight(i);
      if (compiled.losses[i]) {
        const Graph::Labelled label(graph, "loss/" + topology.output_names[i]);
        Reduced reduced = reduce_loss(root, *compiled.losses[i], outputs[i], y, w, root.mask(outputs[i]));
        Value denominator = reduced.denominator;
        if (types.step_rows && reduced.count)
          denominator = graph.input(count_feed(topology, i), {{}, denominator.dtype()});
        Value value = cast(reduced.numerator / denominator, dtype);
        if (compiled.loss_weights[i] != 1) value = value * compiled.loss_weights[i];
        total = total + value;
        if (counted > 1) separate.emplace_back(topology.output_names[i] + "_loss", value);
      }
      for (auto& bound : compiled.metrics) {
        if (bound.output != i) continue;
        const Graph::Labelled label(graph, "metric/" + bound.name);
        Value weight = bound.weighted ? w : Value{};
        if (Value mask = root.mask(outputs[i])) {
          Value counts = cast(mask, DType::float32);
          weight = weight ? weight * counts : counts;
        }
        Values statistics = bound.metric->statistics(root, outputs[i], y, weight);
        bound.statistics.clear();
        for (std::size_t k = 0; k < statistics.size(); ++k) {
          bound.statistics.push_back(statistics[k].type());
          accumulate(metric_state(bound.name, k), stop_gradient(statistics[k]));
        }
      }
    }
    const std::int64_t step_rows = types.step_rows ? types.step_rows : types.rows;
    const double share = static_cast<double>(types.rows) / static_cast<double>(std::max<std::int64_t>(1, step_rows));
    Value extra = weight_penalties(compiled, dtype);
    for (Value penalty : trace.penalties) extra = extra + cast(penalty, dtype);
    total = total + (types.step_rows ? extra * share : extra);
    // An epoch's loss is the mean of batch losses weighted by rows, as Keras counts.
    auto track = [&](const std::string& name, Value value) {
      accumulate(metric_state(name, 0), cast(stop_gradient(value), DType::float32) * static_cast<double>(step_rows));
      accumulate(metric_state(name, 1), full(graph, static_cast<double>(types.rows)));
    };
    track("loss", total);
    for (auto& [name, value] : separate) track(name, value);
    return total;
  }

  Value weight_penalties(const Compiled& compiled, DType dtype) {
    Value sum = full(graph, 0, {}, dtype);
    for (auto& path : trace.order) {
      auto& declaration = trace.states.at(path);
      if (!declaration.regularizer || !learns(declaration, compiled)) continue;
      const Graph::Labelled label(graph, path);
      sum = sum + cast((*declaration.regularizer)->of(graph.state(path, declaration.type)), dtype);
    }
    return sum;
  }

  // Frozen layers have no trainable weights in this trace; a weight may also be frozen by its own path.
  static bool learns(const StateDeclaration& declaration, const Compiled& compiled) {
    return declaration.trainable && !frozen(declaration.path, compiled.freeze);
  }

  std::vector<Trained> trainable(const Compiled& compiled) {
    std::vector<Trained> weights;
    for (auto& path : trace.order) {
      auto& declaration = trace.states.at(path);
      if (!learns(declaration, compiled)) continue;
      Trained trained;
      trained.weight = graph.state(path, declaration.type);
      trained.path = path;
      trained.constraint = declaration.constraint;
      weights.push_back(trained);
    }
    return weights;
  }

  Graph& graph;
  Trace& trace;
  const Topology& topology;
  const BatchTypes& types;
  Scope root;
  Values outputs;
};

// Keras's dynamic loss scale: doubled after 2000 finite steps in a row, halved (and the step skipped) otherwise; with a
// floor of 1, which Keras lacks.
struct LossScale {
  Value scale, counter;
  explicit LossScale(Scope& root)
      : scale(root.state("optimizer/loss_scale", {{}, DType::float32}, initializers_constant(initial_loss_scale))),
        counter(root.state("optimizer/loss_scale_counter", {{}, DType::int64}, "zeros")) {}

  static Initializer initializers_constant(double value) {
    return parts<Initializer>().make("Constant", Config(Config::Map{{"value", Config(value)}}));
  }

  void advance(Scope& root, Value finite) const {
    Graph& graph = root.graph();
    Value last =
        greater_equal(counter, full(graph, static_cast<double>(loss_scale_growth_steps - 1), {}, DType::int64));
    Value grown = select(last, scale * 2.0, scale);
    Value shrunk = maximum(scale * 0.5, full(graph, loss_scale_floor));
    Value none = full(graph, 0, {}, DType::int64);
    root.next(scale, select(finite, grown, shrunk), Advance::always);
    root.next(counter, select(logical_and(finite, logical_not(last)), counter + 1.0, none), Advance::always);
    Value skipped = root.state(names::skipped, {{}, DType::int64}, "zeros");
    root.next(skipped, skipped + cast(logical_not(finite), DType::int64), Advance::always);
  }
};

Value all_finite(Graph& graph, std::span<const Trained> weights) {
  Value finite;
  for (auto& trained : weights) {
    if (!trained.gradient) continue;
    Value here = reduce_all(is_finite(trained.gradient));
    finite = finite ? logical_and(finite, here) : here;
  }
  return finite ? finite : equal(full(graph, 0), full(graph, 0));
}

// What tells cheaply whether a step's numbers are finite: the loss, and of each layer the smallest gradient. Whatever is
// wrong in what flows back to a layer is wrong in its bias's gradient too, which is a sum of it.
Value numbers_hold(Value loss, std::span<const Trained> weights) {
  Value holds = is_finite(loss);
  std::map<std::string, const Trained*> smallest;
  for (auto& trained : weights) {
    if (!trained.gradient) continue;
    const auto slash = trained.path.rfind('/');
    auto& least = smallest[slash == std::string::npos ? "" : trained.path.substr(0, slash)];
    if (!least || trained.gradient.type().size() < least->gradient.type().size()) least = &trained;
  }
  for (auto& [_, trained] : smallest) holds = logical_and(holds, reduce_all(is_finite(trained->gradient)));
  return holds;
}

// The update of all weights from their gradients, in `root`'s graph.
void update(Scope& root, const Compiled& compiled, std::vector<Trained> weights, const LossScale* scale) {
  if (scale) {
    Value finite = all_finite(root.graph(), weights);
    // Steps are passed over while a smaller scale may help. At the floor it is not the scale's fault.
    root.check(logical_or(finite, greater(scale->scale, full(root.graph(), loss_scale_floor))), not_finite);
    for (auto& trained : weights)
      if (trained.gradient) trained.gradient = trained.gradient / cast(scale->scale, trained.gradient.dtype());
    root.graph().guard(finite);
    scale->advance(root, finite);
  }
  apply_optimizer(root, compiled.optimizer, weights);
}

}  // namespace

Built build_train(const Topology& topology, Compiled& compiled, const BatchTypes& types) {
  Built built;
  const bool accumulates = compiled.accumulation > 1 || types.step_rows;
  built.step.joined = !accumulates;
  built.trace.frozen = compiled.frozen;
  GraphBuilder micro(built.step.micro, built.trace, topology, compiled.precision, types, true);
  micro.forward();
  Value total = micro.losses(compiled);
  std::vector<Trained> weights = micro.trainable(compiled);
  std::optional<LossScale> scale;
  if (compiled.loss_scaling) scale = LossScale(micro.root);
  Values wrt;
  for (auto& trained : weights) wrt.push_back(trained.weight);
  // Keras averages the gradients of an accumulation window; the parts of one batch add up to its loss.
  Value seed = full(built.step.micro, 1 / static_cast<double>(compiled.accumulation), {}, total.dtype());
  if (scale) seed = seed * cast(scale->scale, total.dtype());
  Values gradient = gradients(total, wrt, seed);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i].gradient = gradient[i] ? cast(gradient[i], weights[i].weight.dtype()) : Value{};
  built.step.micro.output("loss", cast(total, DType::float32));
  built.loss = Graph::ref(total);
  for (auto& trained : weights)
    if (trained.gradient) built.gradients.emplace_back(trained.path, Graph::ref(trained.gradient));
  if (!scale) micro.root.check(numbers_hold(total, weights), not_finite);
  if (!accumulates) {
    update(micro.root, compiled, weights, scale ? &*scale : nullptr);
  } else {
    Graph& graph = built.step.update;
    Trace& trace = built.update_trace;
    GraphBuilder::prepared(trace, graph, compiled.precision, types, true);
    Scope root(trace, "", compiled.precision);
    std::vector<Trained> updated;
    for (auto& trained : weights) {
      if (!trained.gradient) continue;
      const std::string path = "sum/" + trained.path;
      micro.accumulate(path, trained.gradient, Advance::if_ok);
      Value sum = root.state(path, trained.gradient.type(), "zeros");
      Trained next = trained;
      next.weight = graph.state(trained.path, trained.weight.type());
      next.gradient = sum;
      updated.push_back(next);
      graph.next(sum, full(graph, 0, sum.shape(), sum.dtype()), Advance::always);
    }
    std::optional<LossScale> update_scale;
    if (scale) update_scale = LossScale(root);
    update(root, compiled, updated, update_scale ? &*update_scale : nullptr);
  }
  return built;
}

Built build_counts(const Topology& topology, const Compiled& compiled, const BatchTypes& types) {
  Built built;
  built.trace.frozen = compiled.frozen;
  GraphBuilder builder(built.step.micro, built.trace, topology, compiled.precision, types, true);
  builder.forward();
  for (std::size_t i = 0; i < builder.outputs.size(); ++i) {
    if (!compiled.losses[i]) continue;
    Reduced reduced = reduce_loss(builder.root, *compiled.losses[i], builder.outputs[i], builder.target(i),
                                  builder.sample_weight(i), builder.root.mask(builder.outputs[i]));
    if (reduced.count) built.step.micro.output(count_feed(topology, i), reduced.count);
  }
  return built;
}

Built build_evaluate(const Topology& topology, Compiled& compiled, const BatchTypes& types) {
  Built built;
  built.trace.frozen = compiled.frozen;
  GraphBuilder builder(built.step.micro, built.trace, topology, compiled.precision, types, false);
  builder.forward();
  Value total = builder.losses(compiled);
  built.step.micro.output("loss", cast(total, DType::float32));
  return built;
}

Built build_predict(const Topology& topology, const Precision& precision, const BatchTypes& types) {
  Built built;
  GraphBuilder builder(built.step.micro, built.trace, topology, precision, types, false);
  builder.forward();
  for (std::size_t i = 0; i < builder.outputs.size(); ++i)
    built.step.micro.output(
        topology.output_names[i],
        cast(builder.outputs[i], is_floating(builder.outputs[i].dtype()) && builder.outputs[i].dtype() != DType::float64
                                     ? DType::float32
                                     : builder.outputs[i].dtype()));
  return built;
}

}  // namespace strata
