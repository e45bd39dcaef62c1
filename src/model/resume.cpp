// SPDX-License-Identifier: Apache-2.0
// How a training goes on from a checkpoint: which one, whether it fits, and everything put back in its place.
#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "model/changes.h"
#include "model/fitting.h"

namespace strata {

// What gives equal bits: each replica's plans of all steps there are.
std::string Fitting::signature() const {
  std::string text;
  for (const auto& [key, step] : core_.train_plans)
    for (const auto* compilation : {&step.micro, &step.update})
      for (const auto& plan : compilation->plans) text += cat(key, " ", plan.signature(), "\n");
  const auto& mesh = core_.runner->mesh();
  const DeviceModel device = backend(mesh.devices[0].backend).model(mesh.devices[0]);
  char digest[32];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(hash64(text)));
  return cat(device.backend, " ", device.isa, ", ", counted(device.threads, "thread"), ", ",
             counted(static_cast<std::int64_t>(mesh.devices.size()), "replica"), ", plans ", digest);
}

void Fitting::begin_checkpoints() {
  const auto& options = options_.checkpoint;
  signature_ = signature();
  if (options.directory.empty()) return;
  if (!options.best.empty() && options.best != "none") {
    std::vector<std::string> known{"loss"};
    for (const auto& bound : core_.binding.metrics) known.push_back(bound.name);
    if (core_.topology->output_names.size() > 1)
      for (const auto& name : core_.topology->output_names) known.push_back(name + "_loss");
    for (std::size_t i = 0, count = known.size(); validation_ && i < count; ++i) known.push_back("val_" + known[i]);
    if (std::ranges::find(known, options.best) == known.end())
      throw Error(cat("checkpoint: best names the figure '", options.best, "', which this run does not have; it has ",
                      listed(known), did_you_mean(options.best, known)));
  }
  make_dirs(options.directory);
  if (!held_ || options.directory != options_.directory) lock_ = std::make_unique<RunLock>(options.directory);
  if (options_.checkpoint.config.is_null()) options_.checkpoint.config = describe_run(model_, options_, *reader_);
  go_on();
  if (replayed_) return;
  saver_ = std::make_unique<Saver>(options, checkpoint_layout(model_), core_.store.bytes());
  saver_->went_on(place_);
  if (options.on_signal == "save") signals_ = std::make_unique<StopSignals>();
}

void Fitting::go_on() {
  const auto& options = options_.checkpoint;
  std::string file;
  if (options.resume == "never") {
    if (replayed_) return;
    set_aside_checkpoints(options.directory, -1);
    return;
  }
  if (options.resume == "auto") {
    const auto newest = newest_whole(options.directory, replayed_ ? replayed_ - 1 : -1);
    if (!newest) return;
    file = newest->file;
  } else {
    file = options.resume;
    if (!exists(file)) throw Error(cat("checkpoint: resume names ", file, ", which does not exist"));
  }
  const Snapshot snapshot = read_checkpoint(file);
  const Changes changes = changes_between(snapshot.config, options.config, options.allow);
  if (!changes.refused.empty())
    throw Error(cat(file, ": was made by a run with other settings:\n  ", join(changes.refused, "\n  "),
                    "\n  --allow KEY takes a change, --fresh begins anew"));
  restore(snapshot, file);
  // A rate that was allowed to change is meant to count, though the checkpoint holds the old one.
  for (const auto& key : changes.allowed)
    if (key.ends_with("learning_rate") && core_.store.has("optimizer/learning_rate")) {
      const double rate = core_.binding.optimizer->learning_rate().value();
      core_.store.write("optimizer/learning_rate",
                        Tensor::from_doubles({{}, DType::float32}, std::span<const double>(&rate, 1)));
    }
  // What lies beyond that point belongs to another course of events.
  if (!replayed_) set_aside_checkpoints(options.directory, place_.batches);
  if (!changes.accepted.empty()) note(cat("changed since ", file, ":\n  ", join(changes.accepted, "\n  ")));
  const bool done = !place_.begun && (place_.epoch >= options_.epochs || !place_.stop.empty());
  if (options_.verbose != "none")
    note(done ? cat("finished already: ", place_.epoch, " of ", counted(options_.epochs, "epoch"), " in ", file)
              : cat("going on from ", file, ": epoch ", place_.epoch + 1, " of ", options_.epochs, ", ", place_.step,
                    " of ", counted(steps_, "step"), " done"));
}

void Fitting::restore(const Snapshot& snapshot, const std::string& file) {
  const auto& record = snapshot.record;
  if (record.rows != trained_rows_)
    throw Error(cat(file, ": was trained on ", record.rows, " rows, the data now has ", trained_rows_,
                    "; the order of an epoch would be another"));
  std::vector<std::string> problems;
  for (const auto& [path, variable] : core_.store.variables()) {
    const auto it = snapshot.states.find(path);
    if (it == snapshot.states.end()) problems.push_back(cat("missing   ", path, "  ", variable->type));
    else if (it->second.type() != variable->type)
      problems.push_back(cat("mismatch  ", path, "  the file has ", it->second.type(), ", the run ", variable->type));
  }
  for (const auto& [path, value] : snapshot.states)
    if (!core_.store.has(path) && path != names::window)
      problems.push_back(cat("not used  ", path, "  ", value.type()));
  if (!problems.empty())
    throw Error(cat(file, ": does not fit model '", model_.name(), "'\n  ", join(problems, "\n  ")));
  for (const auto& [path, value] : snapshot.states) {
    if (core_.store.has(path)) core_.store.write(path, value);
    else core_.store.add(path, value, false);
  }
  place_ = record.place;
  best_ = record.best;
  logged_ = record.logged;
  history_ = snapshot.history;
  stale_ = true;
  resumed_ = true;
  resumed_from_ = file;
  if (record.signature != signature_)
    warn(cat(file, ": was made with other kernels (", record.signature, "; here ", signature_,
             "): the run goes on to about 1e-5, not to the bit"));
  // Callbacks are matched by name, the first with the first.
  const auto* list = snapshot.callbacks.list();
  std::vector<bool> used(list ? list->size() : 0, false);
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    Callback& callback = callbacks_[i];
    for (std::size_t k = 0; k < used.size(); ++k) {
      const Config* name = (*list)[k].find("name");
      const Config* kept = (*list)[k].find("kept");
      if (used[k] || !name || !kept || !name->text() || *name->text() != callback.name()) continue;
      used[k] = true;
      Mistakes mistakes;
      callback.schema().read_kept(callback.data(), *kept, mistakes);
      mistakes.raise();
      for (const auto& field : callback.schema().kept) {
        if (field.type != &field_type<std::map<std::string, Tensor>>()) continue;
        auto& tensors =
            *reinterpret_cast<std::map<std::string, Tensor>*>(static_cast<char*>(callback.data()) + field.offset);
        tensors.clear();
        const std::string prefix = cat(k, "/", field.name, "/");
        for (const auto& [path, tensor] : snapshot.callback_tensors)
          if (path.starts_with(prefix)) tensors[path.substr(prefix.size())] = tensor;
      }
      break;
    }
  }
}

}  // namespace strata
