// SPDX-License-Identifier: Apache-2.0
// Custom loops: any traced function over models, compiled like fit's own step.
#include <algorithm>
#include <iterator>

#include "base/text.h"
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
}

std::map<std::string, Tensor> Program::run(const std::map<std::string, Tensor>& inputs) {
  auto& core = *core_;
  std::vector<std::string> known;
  for (auto& [name, _] : core.inputs) known.push_back(name);
  for (auto& [name, tensor] : inputs) {
    const auto input = core.inputs.find(name);
    if (input == core.inputs.end()) {
      const std::string near = did_you_mean(name, known);
      throw Error(cat("program: it takes no '", name, "'", near.empty() ? cat("; it takes ", listed(known)) : near));
    }
    if (!tensor || tensor.type() != input->second)
      throw Error(cat("program: '", name, "' is ", tensor ? to_text(tensor.type()) : "no array",
                      ", but it was made for ", input->second));
  }
  for (auto& [name, type] : core.inputs)
    if (!inputs.count(name)) throw Error(cat("program: it takes '", name, "' (", type, "), which was not given"));
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
    auto made = std::make_unique<Compilation>(core.states.ready().compile(graph, "program", trace.rows));
    for (auto& [_, message] : trace.checks) made->checks.push_back(message);
    made->learns = true;
    core.compilation = std::move(made);
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
  if (!trace.homes.count(Layer(model).identity()))
    throw Error(cat("model '", model.name(), "' has no weights here before call_model() has called it"));
  // A layer's states lie where it was first called, which another model may have done.
  const auto homes = [&](const Layer& layer) {
    std::set<const void*> layers;
    collect_layers(layer, layers);
    std::vector<std::string> paths;
    for (auto& [identity, path] : trace.homes)
      if (layers.contains(identity)) paths.push_back(path);
    return paths;
  };
  std::vector<std::string> frozen_paths;
  for (auto& name : freeze) {
    const auto [layer, rest] = layer_named(*model.core().topology, name);
    const auto home = trace.homes.find(layer.identity());
    if (!rest.empty() && home != trace.homes.end()) frozen_paths.push_back(home->second + "/" + rest);
    else if (rest.empty()) std::ranges::copy(homes(layer), std::back_inserter(frozen_paths));
  }
  const std::vector<std::string> own = homes(Layer(model));
  std::vector<std::pair<std::string, Value>> weights;
  for (auto& path : trace.order) {
    auto& declaration = trace.states.at(path);
    if (declaration.trainable && frozen(path, own) && !frozen(path, frozen_paths))
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
