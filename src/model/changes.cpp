// SPDX-License-Identifier: Apache-2.0
#include "model/changes.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/core.h"
#include "schema/yaml.h"

namespace strata {

namespace {

// Changes that leave what is learnt from here on as it is declared: how long, what is shown, what is kept.
constexpr std::string_view free_keys[] = {"version",
                                          "name",
                                          "initial_weights",
                                          "checkpoint",
                                          "strategy",
                                          "data.test",
                                          "fit.epochs",
                                          "fit.verbose",
                                          "fit.initial_epoch",
                                          "fit.validation_steps",
                                          "fit.validation_freq",
                                          "fit.validation_batch_size",
                                          "callbacks.ProgressBar",
                                          "callbacks.CSVLogger",
                                          "callbacks.TerminateOnNaN",
                                          "callbacks.LambdaCallback",
                                          "callbacks.ModelCheckpoint",
                                          "callbacks.BackupAndRestore"};

bool below(std::string_view key, std::string_view stem) {
  return key.starts_with(stem) && (key.size() == stem.size() || key[stem.size()] == '.');
}

void flatten(const Config& config, const std::string& path, std::map<std::string, std::string>& into) {
  auto under = [&](const std::string& word) { return path.empty() ? word : path + "." + word; };
  if (const auto* map = config.map(); map && !map->empty()) {
    for (const auto& [key, value] : *map) flatten(value, under(key), into);
  } else if (const auto* list = config.list(); list && !list->empty()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Config& item = (*list)[i];
      // A callback is known by its name, so that another one beside it changes nothing of it.
      if (path == "callbacks" && item.map()) flatten(item, path, into);
      else if (path == "callbacks" && item.text()) into[under(*item.text())] = "{}";
      else flatten(item, under(to_text(static_cast<std::int64_t>(i))), into);
    }
  } else {
    into[path] = to_text(config);
  }
}

// As a file would give it back, so that a number and its text compare equal.
std::map<std::string, std::string> flat(const Config& config) {
  std::map<std::string, std::string> values;
  if (!config.is_null()) flatten(read_yaml(write_yaml(config), "config"), "", values);
  return values;
}

Config declared(const Topology& topology) {
  Config layers(Config::Map{});
  for (const auto& call : topology.calls) {
    const Nested* nested = call.layer.get_if<Nested>();
    Config entry(Config::Map{{"layer", nested ? declared(*nested->topology) : write_part(call.layer)}});
    Config::List from;
    for (const auto& edge : call.from) from.push_back(Config(cat(edge.call, ":", edge.output)));
    entry.set_entry("from", Config(std::move(from)));
    std::string name = call.name;
    for (int k = 2; layers.find(name); ++k) name = cat(call.name, " call ", k);  // a shared layer
    layers.set_entry(name, std::move(entry));
  }
  for (const auto& input : topology.inputs) layers.set_entry("input " + input.name, Config(to_text(input.type)));
  return layers;
}

}  // namespace

Changes changes_between(const Config& before, const Config& now, const std::vector<std::string>& allow) {
  Changes changes;
  const auto old_values = flat(before), new_values = flat(now);
  std::set<std::string> keys;
  for (const auto* values : {&old_values, &new_values})
    for (const auto& [key, _] : *values) keys.insert(key);
  auto shown = [](const std::map<std::string, std::string>& values, const std::string& key) {
    const auto it = values.find(key);
    return it == values.end() ? std::string("(absent)") : it->second;
  };
  for (const auto& key : keys) {
    const std::string was = shown(old_values, key), is = shown(new_values, key);
    if (was == is) continue;
    const std::string line = cat(key, ": ", was, " -> ", is);
    const bool named = std::ranges::any_of(allow, [&](const auto& word) { return below(key, word); });
    // Where files lie is no matter; that they have as many rows is seen to elsewhere.
    const bool moved = key.starts_with("data.") && key.ends_with(".directory");
    const bool harmless = moved || std::ranges::any_of(free_keys, [&](auto word) { return below(key, word); });
    if (named) changes.allowed.push_back(key);
    (named || harmless ? changes.accepted : changes.refused).push_back(line);
  }
  return changes;
}

Config describe_run(const Model& model, const FitOptions& options, const Reader& reader) {
  auto& core = model.core();
  auto& settings = core.settings;
  Config compile(Config::Map{});
  compile.set_entry("optimizer", write_part(settings.optimizer));
  Config losses(Config::Map{});
  for (std::size_t i = 0; i < core.binding.losses.size(); ++i)
    if (core.binding.losses[i]) losses.set_entry(core.topology->output_names[i], write_part(*core.binding.losses[i]));
  compile.set_entry("loss", std::move(losses));
  Config weights(Config::Map{});
  for (const auto& [name, weight] : settings.loss_weights) weights.set_entry(name, Config(weight));
  compile.set_entry("loss_weights", std::move(weights));
  compile.set_entry("precision", Config(settings.precision));
  Config::List freeze;
  for (const auto& name : settings.freeze) freeze.push_back(Config(name));
  compile.set_entry("freeze", Config(std::move(freeze)));
  compile.set_entry("auto_scale_loss", Config(settings.auto_scale_loss));
  compile.set_entry("fast_math", Config(settings.fast_math));
  Config::List fields;
  for (const auto& field : reader.fields()) fields.push_back(Config(cat(field.name, " ", field.type)));
  Config data(Config::Map{{"rows", Config(reader.size())}, {"fields", Config(std::move(fields))}});
  Config fit(Config::Map{{"batch_size", Config(options.batch_size)},
                         {"epochs", Config(options.epochs)},
                         {"shuffle", Config(options.shuffle)},
                         {"validation_split", Config(options.validation_split)},
                         {"validation_freq", Config(options.validation_freq)},
                         {"micro_batches", Config(options.micro_batches)},
                         {"steps_per_epoch", options.steps_per_epoch ? Config(*options.steps_per_epoch) : Config()}});
  Config classes(Config::Map{});
  for (const auto& [label, weight] : options.class_weight) classes.set_entry(to_text(label), Config(weight));
  fit.set_entry("class_weight", std::move(classes));
  Config::List callbacks;
  for (const auto& callback : options.callbacks) callbacks.push_back(write_part(callback));
  return Config(Config::Map{{"seed", Config(options.seed)},
                            {"model", declared(*core.topology)},
                            {"compile", std::move(compile)},
                            {"data", std::move(data)},
                            {"fit", std::move(fit)},
                            {"callbacks", Config(std::move(callbacks))}});
}

}  // namespace strata
