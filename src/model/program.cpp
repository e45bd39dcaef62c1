// SPDX-License-Identifier: Apache-2.0
// Custom loops: any traced function over models, compiled like fit's own step.
#include "model/core.h"

namespace strata {

struct Program::Core {
  std::vector<Model> models;
  std::map<std::string, Type> inputs;
  Program::Trace trace;
  Precision precision;
  Model::Core states;  // a store of its own, sharing the models' variables
  std::unique_ptr<Compilation> compilation;
};

Program::Program(std::vector<Model> models, std::map<std::string, Type> inputs, Trace trace, std::string precision)
    : core_(std::make_shared<Core>()) {
  core_->models = std::move(models);
  core_->inputs = std::move(inputs);
  core_->trace = std::move(trace);
  core_->precision = precision_named(precision);
  for (auto& model : core_->models) model.build();
  core_->states.topology =
      core_->models.empty() ? std::make_shared<const Topology>() : core_->models[0].core().topology;
}

std::map<std::string, Tensor> Program::run(const std::map<std::string, Tensor>& inputs) {
  auto& core = *core_;
  if (!core.compilation) {
    Graph graph;
    strata::Trace trace;
    trace.graph = &graph;
    trace.training = true;
    trace.precision = core.precision;
    std::map<std::string, Value> values;
    for (auto& [name, type] : core.inputs) {
      values[name] = graph.input(name, type);
      if (type.shape.rank() > 0) trace.rows = type.shape[0];
    }
    Scope scope(trace, "", core.precision);
    core.trace(scope, values);
    core.states.adopt(trace);
    core.states.strategy =
        StrategyScope::current() ? *StrategyScope::current() : parts<Strategy>().make("DefaultStrategy");
    core.compilation = std::make_unique<Compilation>(core.states.ready().compile(graph, "program", trace.rows));
    for (auto& [_, message] : trace.checks) core.compilation->checks.push_back(message);
    core.compilation->learns = true;
  }
  Runner& runner = core.states.ready();
  const RunResult result = core.states.run(*core.compilation, inputs);
  if (result.status != Status::ok) throw RunFailed("program: a kernel failed");
  std::map<std::string, Tensor> outputs;
  for (auto& [name, _] : core.compilation->plans[0].outputs) outputs[name] = runner.output(*core.compilation, name);
  return outputs;
}

Values call_model(Scope& scope, const Model& model, std::span<const Value> inputs, bool training) {
  auto& trace = scope.trace();
  const bool before = trace.training;
  trace.training = training;
  Values outputs = call_layer(scope, Layer(model), inputs, model.name());
  trace.training = before;
  return outputs;
}

std::vector<std::pair<std::string, Value>> trainable_weights(Scope& scope, const Model& model,
                                                             const std::vector<std::string>& freeze) {
  auto& trace = scope.trace();
  auto home = trace.homes.find(Layer(model).identity());
  if (home == trace.homes.end())
    throw Error(cat("model '", model.name(), "' has no weights here before call_model() has called it"));
  std::vector<std::pair<std::string, Value>> weights;
  for (auto& path : trace.order) {
    auto& declaration = trace.states.at(path);
    if (!declaration.trainable || !path.starts_with(home->second + "/") ||
        frozen(path.substr(home->second.size() + 1), freeze))
      continue;
    weights.emplace_back(path, scope.graph().state(path, declaration.type));
  }
  return weights;
}

void minimize(Scope& scope, const Optimizer& optimizer, Value loss,
              const std::vector<std::pair<std::string, Value>>& weights) {
  Values wrt;
  for (auto& [_, weight] : weights) wrt.push_back(weight);
  const Values gradient = gradients(loss, wrt);
  std::vector<Trained> trained;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Trained one;
    one.weight = weights[i].second;
    one.gradient = gradient[i];
    one.path = weights[i].first;
    one.constraint = scope.trace().states.at(weights[i].first).constraint;
    trained.push_back(one);
  }
  apply_optimizer(scope, optimizer, trained);
}

}  // namespace strata
