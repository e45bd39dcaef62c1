// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "schema/yaml.h"

namespace strata {

namespace {

constexpr std::int64_t newest_format = 1;
constexpr std::string_view stem = "checkpoint-", ending = ".h5";

std::vector<double> values_of(const Config& list) {
  std::vector<double> values;
  Mistakes mistakes;
  field_type<std::vector<double>>().read(&values, list, "history", mistakes);
  mistakes.raise();
  return values;
}

Config written(const History& history) {
  Config::List epochs;
  for (const std::int64_t epoch : history.epoch) epochs.emplace_back(epoch);
  Config figures(Config::Map{});
  for (const auto& [name, values] : history.figures) {
    Config::List list;
    for (const double value : values) list.emplace_back(value);
    figures.set_entry(name, Config(std::move(list)));
  }
  return Config(Config::Map{{"epoch", Config(std::move(epochs))}, {"figures", std::move(figures)}});
}

History history_from(const Config& config) {
  History history;
  if (const Config* epochs = config.find("epoch"))
    for (const double epoch : values_of(*epochs)) history.epoch.push_back(static_cast<std::int64_t>(epoch));
  if (const Config* figures = config.find("figures"); figures && figures->map())
    for (const auto& [name, values] : *figures->map()) history.figures[name] = values_of(values);
  return history;
}

// Keras counts batches, also those whose gradients are only added up.
Tensor keras_iteration(const CheckpointLayout& layout, const Snapshot& snapshot) {
  auto number = [&](const char* path) {
    const auto it = snapshot.states.find(path);
    return it == snapshot.states.end() ? 0.0 : it->second.to_doubles()[0];
  };
  const double iteration = number(names::step) * static_cast<double>(layout.accumulation) + number(names::window);
  return Tensor::from_doubles({{}, DType::int64}, std::span<const double>(&iteration, 1));
}

}  // namespace

Schema Place::schema() {
  return Schema("place", "A point of a training.")
      .arg("epoch", &Place::epoch, "The epoch under way, or next.", at_least(0))
      .arg("step", &Place::step, "Batches done in it.", at_least(0))
      .arg("batches", &Place::batches, "Batches done since the beginning.", at_least(0))
      .arg("pass", &Place::pass, "The pass over the data.", at_least(0))
      .arg("in_pass", &Place::in_pass, "Batches taken from it.", at_least(0))
      .arg("open", &Place::open, "Whether that pass goes on.")
      .arg("begun", &Place::begun, "Whether the epoch has begun.")
      .arg("steps_done", &Place::steps_done, "Whether only the epoch's validation and end are left.")
      .arg("stop", &Place::stop, "Why training ends here.");
}

Schema BestEpoch::schema() {
  return Schema("best", "The best epoch so far.")
      .arg("figure", &BestEpoch::figure, "Its figure.")
      .arg("value", &BestEpoch::value, "The figure's value.")
      .arg("epoch", &BestEpoch::epoch, "The epoch, from 0.");
}

namespace {

// Structs within the record, as their own schemas write them.
template <class T> Config written(const T& value) { return schema_of<T>().write(&value); }
template <class T> T read_struct(const Config& config, const char* name) {
  T value;
  Mistakes mistakes;
  const Config* found = config.find(name);
  if (!found) throw Error(cat("the record has no '", name, "'"));
  schema_of<T>().read(&value, *found, mistakes);
  mistakes.raise();
  return value;
}

Config written(const Record& record) {
  Config config(Config::Map{});
  config.set_entry("format", Config(record.format));
  config.set_entry("seed", Config(record.seed));
  config.set_entry("rows", Config(record.rows));
  config.set_entry("signature", Config(record.signature));
  config.set_entry("place", written(record.place));
  config.set_entry("best", written(record.best));
  Config figures(Config::Map{});
  for (const auto& [name, value] : record.figures) figures.set_entry(name, Config(value));
  config.set_entry("figures", std::move(figures));
  Config logged(Config::Map{});
  for (const auto& [name, value] : record.logged) logged.set_entry(name, Config(value));
  config.set_entry("logged", std::move(logged));
  return config;
}

Record record_from(const Config& config) {
  Record record;
  Mistakes mistakes;
  auto take = [&](const char* name, auto& value) {
    if (const Config* found = config.find(name))
      field_type<std::remove_reference_t<decltype(value)>>().read(&value, *found, name, mistakes);
    else mistakes.add({}, cat("the record has no '", name, "'"));
  };
  take("format", record.format);
  mistakes.raise();
  if (record.format > newest_format)
    throw Error(
        cat("has format ", record.format, "; this strata reads up to ", newest_format, ": a newer one wrote it"));
  take("seed", record.seed);
  take("rows", record.rows);
  take("signature", record.signature);
  take("figures", record.figures);
  take("logged", record.logged);
  mistakes.raise();
  record.place = read_struct<Place>(config, "place");
  record.best = read_struct<BestEpoch>(config, "best");
  return record;
}

}  // namespace

CheckpointLayout checkpoint_layout(const Model& model) {
  auto& core = model.core();
  CheckpointLayout layout;
  layout.keras = keras_layout(*core.topology, core.states, core.state_order);
  layout.model = model.name();
  if (!core.compiled) return layout;
  const Optimizer& optimizer = core.binding.optimizer;
  layout.optimizer = snake_case(optimizer.name());
  layout.accumulation = core.binding.accumulation;
  auto put = [&](const std::string& path) {
    layout.optimizer_vars.emplace_back(cat("optimizer/vars/", layout.optimizer_vars.size()), path);
  };
  put("");  // the iteration
  if (core.store.has("optimizer/learning_rate")) put("optimizer/learning_rate");
  auto put_slots = [&](const std::vector<std::string>& group) {
    for (const auto& entry : model.weights())
      for (const auto& slot : group)
        if (const std::string path = cat("optimizer/", entry.path, "/", slot); core.store.has(path)) put(path);
  };
  put_slots({"average"});
  for (const auto& group : optimizer->slots()) put_slots(group);
  return layout;
}

void write_checkpoint(const std::string& file, const CheckpointLayout& layout, const Snapshot& snapshot) {
  Hdf5Writer out(file);
  std::set<std::string> placed;
  auto put = [&](const std::string& dataset, const std::string& path, const Tensor& value) {
    out.dataset(dataset, value);
    out.fixed_attribute(dataset, "path", path);
    placed.insert(path);
  };
  out.group("vars");
  out.attribute("vars", "name", layout.model);
  for (const auto& group : layout.keras.groups) {
    out.group(group.group);
    out.attribute(group.group, "name", group.name);
  }
  for (const auto& entry : layout.keras.datasets) put(entry.dataset, entry.path, snapshot.states.at(entry.path));
  if (!layout.optimizer.empty()) {
    out.group("optimizer/vars");
    out.attribute("optimizer/vars", "name", layout.optimizer);
    for (const auto& [dataset, path] : layout.optimizer_vars)
      if (path.empty()) out.dataset(dataset, keras_iteration(layout, snapshot));
      else put(dataset, path, snapshot.states.at(path));
  }
  for (const auto& [path, value] : snapshot.states)
    if (placed.count(path) == 0) put("strata/state/" + path, path, value);
  for (const auto& [path, value] : snapshot.callback_tensors) {
    const std::string dataset = "strata/callback_arrays/" + path;
    out.dataset(dataset, value);
    out.fixed_attribute(dataset, "callback", path);
  }
  out.text("strata/record", to_text(written(snapshot.record)));
  out.text("strata/history", to_text(written(snapshot.history)));
  out.text("strata/callbacks", to_text(snapshot.callbacks));
  out.text("strata/config", write_yaml(snapshot.config));
  out.close(snapshot.record.place.batches);
}

Snapshot read_checkpoint(const std::string& file) {
  std::string why;
  switch (check_file(file, nullptr, &why)) {
    case FileState::whole: break;
    case FileState::damaged: throw Error(cat(file, ": is damaged: ", why));
    case FileState::foreign:
      throw Error(cat(file, ": is no checkpoint of strata; initial_weights and load_weights take weights from it"));
  }
  Hdf5Reader in(file);
  if (!in.has("strata/record"))
    throw Error(cat(file, ": holds weights only; training cannot go on from it. initial_weights begins with them"));
  Snapshot snapshot;
  try {
    snapshot.record = record_from(parse_flow(in.text("strata/record")));
    snapshot.history = history_from(parse_flow(in.text("strata/history")));
    snapshot.callbacks = parse_flow(in.text("strata/callbacks"));
    if (const std::string text = in.text("strata/config"); !text.empty()) snapshot.config = read_yaml(text, file);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what.starts_with(file) ? what : cat(file, ": ", what));
  }
  for (const auto& dataset : in.datasets_under("")) {
    if (in.has_attribute(dataset, "path")) snapshot.states[in.attribute(dataset, "path")] = in.read(dataset);
    else if (in.has_attribute(dataset, "callback"))
      snapshot.callback_tensors[in.attribute(dataset, "callback")] = in.read(dataset);
  }
  return snapshot;
}

std::string checkpoint_name(std::int64_t batches) { return cat(stem, batches, ending); }

std::vector<FoundCheckpoint> checkpoints_in(const std::string& directory) {
  std::vector<FoundCheckpoint> found;
  if (!is_folder(directory)) return found;
  for (const auto& name : list_dir(directory)) {
    if (!name.starts_with(stem) || !name.ends_with(ending)) continue;
    const auto number = read_integer(name.substr(stem.size(), name.size() - stem.size() - ending.size()));
    if (number && *number >= 0 && name == checkpoint_name(*number)) found.push_back({directory + "/" + name, *number});
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.batches > b.batches; });
  return found;
}

std::optional<FoundCheckpoint> newest_whole(const std::string& directory, std::int64_t most_batches) {
  auto found = checkpoints_in(directory);
  if (most_batches >= 0) std::erase_if(found, [&](const auto& one) { return one.batches > most_batches; });
  std::string list;
  for (const auto& checkpoint : found) {
    std::string why;
    try {
      if (check_file(checkpoint.file, nullptr, &why) == FileState::whole) return checkpoint;
      if (why.empty()) why = "is no checkpoint of strata";
    } catch (const Error& error) {
      why = error.what();
    }
    warn(cat(checkpoint.file, ": is damaged: ", why, "; going back to the one before"));
    list += cat("\n  ", checkpoint.file, ": ", why);
  }
  if (!found.empty())
    throw Error(cat(directory, ": has ", counted(static_cast<std::int64_t>(found.size()), "checkpoint"),
                    " and none is whole; --fresh begins anew", list));
  return std::nullopt;
}

void set_aside_checkpoints(const std::string& directory, std::int64_t batches) {
  std::vector<std::string> names;
  for (const auto& found : checkpoints_in(directory))
    if (found.batches > batches) names.push_back(checkpoint_name(found.batches));
  if (const std::string best = directory + "/best.h5"; exists(best)) {
    FileBlock block;
    if (check_file(best, &block) != FileState::whole || block.step > batches) names.push_back("best.h5");
  }
  if (names.empty()) return;
  const std::string aside = directory + "/replaced";
  make_dirs(aside);
  for (const auto& name : list_dir(aside))
    if (name.ends_with(ending)) remove_file(aside + "/" + name);
  for (const auto& name : names) rename_file(directory + "/" + name, aside + "/" + name);
  note(cat(listed(names), names.size() == 1 ? " was" : " were", " moved to ", aside));
}

}  // namespace strata
