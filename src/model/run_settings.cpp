// SPDX-License-Identifier: Apache-2.0
// From a run file's `compile:` section to what compile() takes.
#include <algorithm>

#include "base/text.h"
#include "model/core.h"
#include "model/run_file.h"

namespace strata {

namespace {

Loss read_loss(const Config& config, Mistakes& mistakes) {
  if (config.text() && (*config.text() == "crossentropy" || *config.text() == "ce")) return Loss(*config.text());
  return parts<Loss>().read(config, "loss", mistakes);
}

// A one-key map whose key is a known part is that part; any other map goes by output.
bool by_output(const Config& config, const Names& names) {
  const auto* map = config.map();
  return map && !(map->size() == 1 && names.has(map->front().first));
}

MetricList read_metrics(const Config& config, Mistakes& mistakes) {
  std::vector<Metric> metrics;
  auto one = [&](const Config& item) {
    if (item.text() && (*item.text() == "crossentropy" || *item.text() == "ce"))
      return mistakes.add(
          item.where, "the metric crossentropy must be written with its kind, such as SparseCategoricalCrossentropy");
    if (Metric metric = parts<Metric>().read(item, "metric", mistakes)) metrics.push_back(metric);
  };
  if (const auto* list = config.list())
    for (const auto& item : *list) one(item);
  else if (!config.is_null()) one(config);
  return metrics;
}

// Names that the model must have: outputs as keys of maps, layers in `freeze`.
void check_names(const RunFile& file, Mistakes& mistakes) {
  const Topology& topology = *file.model->core().topology;
  auto known = [&](const std::string& name, const Where& where, std::string_view word, std::string_view what,
                   const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      mistakes.add(where, cat(word, " names the ", what, " '", name, "', which the model does not have",
                              did_you_mean(name, names), "; its ", what, "s are ", listed(names)));
  };
  auto keys = [&](const char* word, const Names* names) {
    const Config* config = file.run.compile.find(word);
    if (config && config->map() && (!names || by_output(*config, *names)))
      for (const auto& [name, value] : *config->map()) known(name, value.key, word, "output", topology.output_names);
  };
  keys("loss", &parts<Loss>());
  keys("metrics", &parts<Metric>());
  keys("loss_weights", nullptr);
  std::vector<std::string> layers;
  for (const auto& call : topology.calls)
    if (std::find(layers.begin(), layers.end(), call.name) == layers.end()) layers.push_back(call.name);
  const Config* freeze = file.run.compile.find("freeze");
  for (const auto& name : file.compile.freeze) {
    Where where = freeze ? freeze->where : file.run.compile.where;
    if (freeze && freeze->list())
      for (const auto& item : *freeze->list())
        if (item.text() && *item.text() == name) where = item.where;
    known(name.substr(0, name.find('/')), where, "freeze", "layer", layers);
  }
}

}  // namespace

CompileSettings read_settings(const RunFile& file, Mistakes& mistakes) {
  const CompileSection& c = file.compile;
  CompileSettings settings;
  settings.optimizer = c.optimizer;
  settings.loss_weights = c.loss_weights;
  settings.precision = c.precision;
  settings.freeze = c.freeze;
  settings.fast_math = c.fast_math;
  if (file.run.strategy) settings.strategy = *file.run.strategy;
  if (c.loss.is_null())
    mistakes.add(file.run.compile.is_null() ? file.config.where : file.run.compile.where,
                 "compile needs 'loss': what is to be made small");
  else if (by_output(c.loss, parts<Loss>()))
    for (const auto& [name, config] : *c.loss.map()) settings.loss.named[name] = read_loss(config, mistakes);
  else if (const auto* list = c.loss.list())
    for (const auto& item : *list) settings.loss.list.push_back(read_loss(item, mistakes));
  else settings.loss.list.push_back(read_loss(c.loss, mistakes));
  if (by_output(c.metrics, parts<Metric>()))
    for (const auto& [name, config] : *c.metrics.map()) settings.output_metrics[name] = read_metrics(config, mistakes);
  else settings.metrics = read_metrics(c.metrics, mistakes);
  settings.weighted_metrics = read_metrics(c.weighted_metrics, mistakes);
  if (file.model) check_names(file, mistakes);
  return settings;
}

}  // namespace strata
