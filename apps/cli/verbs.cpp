// SPDX-License-Identifier: Apache-2.0
// What the verbs do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "backends/backend.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "model/fitting.h"
#include "model/run_file.h"
#include "schema/reference.h"
#include "schema/yaml.h"
#include "strata/strata.h"
#include "verbs/evaluate.h"
#include "verbs/look.h"
#include "verbs/train.h"

namespace strata::verbs {

namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

// "accuracy 0.9123, loss 0.2511"
std::string figures_text(const Figures& figures) {
  std::string text;
  for (const auto& [name, value] : figures) text += cat(text.empty() ? "" : ", ", name, " ", digits(value));
  return text;
}

// What evaluate and predict look at.
Dataset data_named(RunFile& file, const std::string& which) {
  if (which == "test" && !file.data.test)
    throw Error(cat(file.path, ": data has no 'test'; add it, or pass --data train"));
  return file.rows(which);
}

std::int64_t validation_batch(const RunFile& file) {
  return file.fit.validation_batch_size.value_or(file.fit.batch_size);
}

// The figures of some rows, as train and evaluate print them.
void measure(RunFile& file, const std::string& which, std::ostream& out) {
  const Dataset rows = data_named(file, which);
  out << which << " " << figures_text(file.model->evaluate(rows, {.batch_size = validation_batch(file)})) << " ("
      << rows->open()->size() << " rows)\n";
}

void load(const RunFile& file, const std::string& weights) {
  const std::string from = weights.empty() ? file.weights_file() : weights;
  if (!exists(from)) throw Error(cat(from, ": there is no such file; strata train ", file.path, " writes it"));
  file.model->load_weights(from);
}

}  // namespace

int Train::run(std::ostream& out) const {
  const auto begin = std::chrono::steady_clock::now();
  if (fresh && !resume.empty()) throw Error("train: --fresh and --resume exclude each other");
  RunFile file = read_run_file(run_file, set);
  file.open_data();
  FitOptions options = file.fit_options();
  if (fresh) options.checkpoint.resume = "never";
  if (!resume.empty()) options.checkpoint.resume = resume;
  options.checkpoint.allow = allow;
  make_dirs(file.directory());
  // Nothing is touched in a directory where another process trains.
  auto lock = std::make_unique<RunLock>(file.directory());
  const bool logged = std::any_of(options.callbacks.begin(), options.callbacks.end(),
                                  [](const Callback& c) { return c.get_if<callbacks::CSVLogger>() != nullptr; });
  if (!logged) options.callbacks.push_back(callbacks::CSVLogger{});
  if (replay_step > 0) {
    std::erase_if(options.callbacks, [](const Callback& c) {  // those that write
      return c.get_if<callbacks::CSVLogger>() || c.get_if<callbacks::ModelCheckpoint>() ||
             c.get_if<callbacks::BackupAndRestore>();
    });
    out << strata::replay_step(*file.model, file.rows("train"), options, lock.get(), replay_step) << "\n";
    return 0;
  }
  // Written once the run is known to fit the checkpoint it goes on from.
  std::size_t before = 0;
  options.callbacks.push_back(callbacks::LambdaCallback{.on_fit_begin = [&](Training& training) {
    before = training.history().epoch.size();
    write_file(file.directory() + "/config.yaml", write_yaml(file.config, true));
  }});
  const History history = fit_model(*file.model, file.rows("train"), options, lock.get());
  file.model->save_weights(file.weights_file());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto trained = static_cast<std::int64_t>(history.epoch.size() - before);
  note(cat(trained ? cat("trained ", counted(trained, "epoch"), " in ", duration_text(seconds), "; weights in ")
                   : std::string("weights in "),
           file.weights_file()));
  if (file.data.test) measure(file, "test", out);
  return 0;
}

int Evaluate::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  load(file, weights);
  measure(file, data, out);
  return 0;
}

int Predict::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  load(file, weights);
  Dataset from = data_named(file, data);
  if (rows) from = first_rows(from, rows);
  const auto results = file.model->predict(from, {.batch_size = validation_batch(file)});
  const auto& names = file.model->core().topology->output_names;
  std::vector<std::vector<double>> values;
  std::string head = "row";
  for (std::size_t o = 0; o < results.size(); ++o) {
    values.push_back(results[o].to_doubles());
    const auto width = static_cast<std::int64_t>(values[o].size()) / std::max<std::int64_t>(1, results[o].shape()[0]);
    const std::string stem = results.size() > 1 ? names[o] + "." : "";
    if (width > 1) head += cat(",", stem, "class");
    for (std::int64_t k = 0; k < width; ++k) head += cat(",", stem, k);
  }
  out << head << "\n";
  const std::int64_t all = results.empty() ? 0 : results[0].shape()[0];
  for (std::int64_t row = 0; row < all; ++row) {
    out << row;
    for (std::size_t o = 0; o < results.size(); ++o) {
      const std::size_t width = values[o].size() / static_cast<std::size_t>(all);
      const auto first = values[o].begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width);
      if (width > 1) out << "," << std::max_element(first, first + static_cast<std::ptrdiff_t>(width)) - first;
      for (std::size_t k = 0; k < width; ++k) out << "," << static_cast<float>(first[static_cast<std::ptrdiff_t>(k)]);
    }
    out << "\n";
  }
  return 0;
}

int Check::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  file.open_data();
  const FitOptions options = file.fit_options();
  const std::int64_t all = file.rows("train")->open()->size(), trained = training_rows(all, file.validation_split);
  std::string rows = cat(trained, " rows to train on");
  if (file.validation || trained < all) rows += cat(", ", file.rows("validation")->open()->size(), " to validate");
  if (file.data.test) rows += cat(", ", file.rows("test")->open()->size(), " to test");
  auto& core = file.model->core();
  const std::int64_t batch = std::min(options.batch_size, trained);
  Batches batches(core, file.rows("train")->open(), {.batch_size = batch});
  const auto& plan = core.train_plan(batches.types_of(batch)).micro.plans[0];
  out << file.path << ": good: " << rows << ", " << plan.launches.size() << " launches a step, arena "
      << bytes_text(plan.arena_bytes) << "\n";
  return 0;
}

int Summary::run(std::ostream& out) const {
  out << read_run_file(run_file, set).model->summary();
  return 0;
}

int Plan::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  out << file.model->plan(batch_size ? batch_size : file.fit.batch_size, mode);
  return 0;
}

namespace {

template <class P> int describe(const Names& names, const std::string& name, std::ostream& out) {
  if (name.empty()) {
    for (const auto& known : names.names()) out << known << "  " << names.schema(known).doc << "\n";
    return 0;
  }
  out << markdown_page(names.schema(name), &schema_of<typename P::Common>());
  return 0;
}

}  // namespace

int Describe::run(std::ostream& out) const {
  using Show = int (*)(const std::string&, std::ostream&);
  static const std::map<std::string, Show> kinds{
      {"layer", [](const std::string& n, std::ostream& o) { return describe<Layer>(parts<Layer>(), n, o); }},
      {"optimizer",
       [](const std::string& n, std::ostream& o) { return describe<Optimizer>(parts<Optimizer>(), n, o); }},
      {"loss", [](const std::string& n, std::ostream& o) { return describe<Loss>(parts<Loss>(), n, o); }},
      {"metric", [](const std::string& n, std::ostream& o) { return describe<Metric>(parts<Metric>(), n, o); }},
      {"schedule", [](const std::string& n, std::ostream& o) { return describe<Schedule>(parts<Schedule>(), n, o); }},
      {"initializer",
       [](const std::string& n, std::ostream& o) { return describe<Initializer>(parts<Initializer>(), n, o); }},
      {"regularizer",
       [](const std::string& n, std::ostream& o) { return describe<Regularizer>(parts<Regularizer>(), n, o); }},
      {"constraint",
       [](const std::string& n, std::ostream& o) { return describe<Constraint>(parts<Constraint>(), n, o); }},
      {"callback", [](const std::string& n, std::ostream& o) { return describe<Callback>(parts<Callback>(), n, o); }},
      {"dataset", [](const std::string& n, std::ostream& o) { return describe<Dataset>(parts<Dataset>(), n, o); }},
      {"strategy", [](const std::string& n, std::ostream& o) { return describe<Strategy>(parts<Strategy>(), n, o); }}};
  std::vector<std::string> known;
  for (const auto& [word, _] : kinds) known.push_back(word);
  const auto it = kinds.find(kind);
  if (it == kinds.end()) {
    if (kind.empty()) throw Error("describe what? " + listed(known, "or"));
    throw Error(cat("there is no kind '", kind, "'", did_you_mean(kind, known), "; kinds are ", listed(known)));
  }
  return it->second(name, out);
}

int Devices::run(std::ostream& out) const {
  for (const auto& name : backend_names())
    for (const auto& device : backend(name).devices()) {
      const DeviceModel model = backend(name).model(device);
      out << to_text(device) << "  " << model.isa << ", " << counted(model.threads, "thread") << ", "
          << bytes_text(backend(name).free_bytes(device)) << " free\n";
    }
  return 0;
}

}  // namespace strata::verbs
