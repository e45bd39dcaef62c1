// SPDX-License-Identifier: Apache-2.0
// compile(): losses, metrics and weights matched to outputs; and what can be said of the targets before the first step.
#include <algorithm>

#include "base/text.h"
#include "model/core.h"

namespace strata {

namespace {

std::string outputs_text(const Topology& topology) { return listed(topology.output_names); }

std::size_t output_index(const Topology& topology, const std::string& name, const char* what) {
  for (std::size_t i = 0; i < topology.output_names.size(); ++i)
    if (topology.output_names[i] == name) return i;
  const std::string near = closest(name, topology.output_names);
  throw Error(cat("model '", topology.name, "': ", what, " names output '", name,
                  "', which it does not have; its outputs are ", outputs_text(topology),
                  near.empty() ? "" : cat("; did you mean '", near, "'?")));
}

std::string metric_name(const Metric& metric) {
  if (!metric.word().empty()) return metric.word();
  return metric.common().name.empty() ? snake_case(metric.name()) : metric.common().name;
}

void add_metrics(Compiled& compiled, const Topology& topology, const MetricList& list, std::size_t output,
                 bool weighted) {
  for (auto& metric : list.metrics) {
    if (metric.word() != "acc" && metric.word() != "crossentropy" && metric.word() != "ce")
      (void)metric.schema();  // known word?
    BoundMetric bound;
    bound.metric = metric;
    bound.output = output;
    bound.weighted = weighted;
    const std::string stem =
        (topology.output_names.size() > 1 ? topology.output_names[output] + "_" : "") + metric_name(metric);
    bound.name = stem;
    auto taken = [&](const std::string& name) {
      for (auto& other : compiled.metrics)
        if (other.name == name) return true;
      return name == "loss";
    };
    for (int k = 1; taken(bound.name); ++k)
      bound.name = cat(weighted && k == 1 ? "weighted_" : "", stem, weighted && k == 1 ? "" : cat("_", k));
    compiled.metrics.push_back(std::move(bound));
  }
}

bool shape_word(const std::string& word) { return word == "crossentropy" || word == "ce"; }

}  // namespace

void Model::compile(CompileSettings settings) {
  auto& core = *core_;
  auto& topology = *core.topology;
  Compiled compiled;
  compiled.optimizer = settings.optimizer;
  (void)compiled.optimizer.schema();
  compiled.precision = precision_named(settings.precision);
  compiled.fast_math = settings.fast_math;
  compiled.freeze = settings.freeze;
  compiled.loss_scaling = settings.auto_scale_loss && settings.precision == "mixed_float16";
  if (auto steps = compiled.optimizer.common().gradient_accumulation_steps) compiled.accumulation = *steps;
  Mistakes mistakes;
  compiled.optimizer.schema().check(compiled.optimizer.data(), {}, mistakes);
  schema_of<OptimizerCommon>().check(&compiled.optimizer.common(), {}, mistakes);
  mistakes.raise();
  const std::size_t outputs = topology.output_names.size();
  compiled.losses.resize(outputs);
  compiled.loss_weights.assign(outputs, 1);
  if (!settings.loss.list.empty() && settings.loss.list.size() != 1 && settings.loss.list.size() != outputs)
    throw Error(cat("model '", topology.name, "' has ", outputs, " outputs (", outputs_text(topology), "), but ",
                    settings.loss.list.size(), " losses; give one for each, or a map by name"));
  if (settings.loss.list.size() == 1 && outputs > 1)
    for (std::size_t i = 0; i < outputs; ++i) compiled.losses[i] = settings.loss.list[0];
  for (std::size_t i = 0; i < settings.loss.list.size() && settings.loss.list.size() == outputs; ++i)
    compiled.losses[i] = settings.loss.list[i];
  for (auto& [name, loss] : settings.loss.named) compiled.losses[output_index(topology, name, "loss")] = loss;
  for (auto& [name, weight] : settings.loss_weights)
    compiled.loss_weights[output_index(topology, name, "loss_weights")] = weight;
  for (auto& loss : compiled.losses)
    if (loss && !shape_word(loss->word())) {
      loss->schema().check(loss->data(), {}, mistakes);
      schema_of<LossCommon>().check(&loss->common(), {}, mistakes);
      if (loss->common().reduction == "none")
        throw Error(cat("model '", topology.name, "': loss ", loss->name(),
                        " has reduction none; training needs one number: take sum_over_batch_size or sum"));
    }
  mistakes.raise();
  for (std::size_t i = 0; i < outputs; ++i)
    if (compiled.losses[i]) add_metrics(compiled, topology, settings.metrics, i, false);
  for (auto& [name, list] : settings.output_metrics)
    add_metrics(compiled, topology, list, output_index(topology, name, "output_metrics"), false);
  for (std::size_t i = 0; i < outputs; ++i)
    if (compiled.losses[i]) add_metrics(compiled, topology, settings.weighted_metrics, i, true);
  std::vector<std::string> frozen_weights;
  for (auto& name : settings.freeze) {
    try {
      const auto [layer, rest] = layer_named(topology, name);
      if (rest.empty()) collect_layers(layer, compiled.frozen);
      else frozen_weights.push_back(name);
    } catch (const Error& error) {
      throw Error(cat("model '", topology.name, "': freeze names '", name, "', but ", error.what()));
    }
  }
  // A different precision may keep weights in another dtype: only then are they made anew.
  if (core.built && core.compiled && !(core.binding.precision == compiled.precision)) core.built = false;
  core.strategy = settings.strategy;
  if (!core.strategy)
    core.strategy = StrategyScope::current() ? *StrategyScope::current() : parts<Strategy>().make("DefaultStrategy");
  core.settings = std::move(settings);
  core.binding = std::move(compiled);
  core.compiled = true;
  core.train_plans.clear();
  core.evaluate_plans.clear();
  core.predict_plans.clear();
  core.count_plans.clear();
  core.runner.reset();
  core.store.leave();
  // A new optimizer starts from nothing, as in Keras.
  std::vector<std::string> old;
  for (auto& [path, _] : core.store.variables())
    if (path.starts_with("optimizer/") || path.starts_with("metric/") || path.starts_with("sum/") ||
        path == names::step || path == names::window || path == names::skipped)
      old.push_back(path);
  for (auto& path : old) core.store.remove(path);
  build(core.seed);
  for (auto& name : frozen_weights)
    if (std::none_of(core.state_order.begin(), core.state_order.end(),
                     [&](auto& path) { return frozen(path, std::span<const std::string>(&name, 1)); })) {
      core.compiled = false;
      throw Error(cat("model '", topology.name, "': freeze names '", name, "', but there is no such weight",
                      did_you_mean(name, core.state_order)));
    }
}

void Model::Core::bind(const BatchTypes& types) {
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    Type predicted = output_types[i];
    if (predicted.shape.rank() > 0) predicted.shape = predicted.shape.with(0, types.rows);
    const Type& target = types.targets[i];
    auto& name = topology->output_names[i];
    if (binding.losses[i] && !target)
      throw Error(cat("output '", name, "' has a loss (",
                      binding.losses[i]->word().empty() ? binding.losses[i]->name() : binding.losses[i]->word(),
                      "), but the data has no target for it"));
    if (binding.losses[i] && shape_word(binding.losses[i]->word()))
      binding.losses[i] = crossentropy_for(predicted, target);
    for (auto& bound : binding.metrics) {
      if (bound.output != i) continue;
      if (!target)
        throw Error(
            cat("metric '", bound.name, "' needs a target for output '", name, "', which the data does not have"));
      const auto& word = bound.metric.word();
      if (word == "accuracy" || word == "acc") bound.metric = accuracy_for(predicted, target);
    }
  }
}

}  // namespace strata
