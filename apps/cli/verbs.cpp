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
#include "model/batches.h"
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

const Dataset& data_named(const RunFile& file, const std::string& which) {
  if (which == "train") return file.data.train;
  if (!file.data.test) throw Error(cat(file.path, ": data has no 'test'; add it, or pass --data train"));
  return *file.data.test;
}

void load(const RunFile& file, const std::string& weights) {
  const std::string from = weights.empty() ? file.weights_file() : weights;
  if (!exists(from)) throw Error(cat(from, ": there is no such file; strata train ", file.path, " writes it"));
  file.model->load_weights(from);
}

}  // namespace

int Train::run(std::ostream& out) const {
  const auto begin = std::chrono::steady_clock::now();
  RunFile file = read_run_file(run_file, set);
  FitOptions options = file.fit_options();
  make_dirs(file.directory());
  AtomicFile resolved(file.directory() + "/config.yaml");
  resolved.write(write_yaml(file.config, true));
  resolved.commit();
  const bool logged = std::any_of(options.callbacks.begin(), options.callbacks.end(),
                                  [](const Callback& c) { return c.get_if<callbacks::CSVLogger>() != nullptr; });
  if (!logged) options.callbacks.push_back(callbacks::CSVLogger{});
  const History history = file.model->fit(file.data.train, options);
  file.model->save_weights(file.weights_file());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  note(cat("trained ", counted(static_cast<std::int64_t>(history.epoch.size()), "epoch"), " in ",
           duration_text(seconds), "; weights in ", file.weights_file()));
  if (file.data.test) {
    const auto rows = (*file.data.test)->open()->size();
    out << "test "
        << figures_text(file.model->evaluate(
               *file.data.test, {.batch_size = options.validation_batch_size.value_or(options.batch_size)}))
        << " (" << rows << " rows)\n";
  }
  return 0;
}

int Evaluate::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  load(file, weights);
  const Dataset& from = data_named(file, data);
  out << data << " "
      << figures_text(
             file.model->evaluate(from, {.batch_size = file.fit.validation_batch_size.value_or(file.fit.batch_size)}))
      << " (" << from->open()->size() << " rows)\n";
  return 0;
}

int Predict::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  load(file, weights);
  const auto results = file.model->predict(data_named(file, data), {.batch_size = file.fit.batch_size});
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
  const std::int64_t all = results[0].shape()[0], shown = rows ? std::min(rows, all) : all;
  for (std::int64_t row = 0; row < shown; ++row) {
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
  const FitOptions options = file.fit_options();
  auto& core = file.model->core();
  const auto reader = file.data.train->open();
  Batches batches(core, reader, {.batch_size = options.batch_size});
  const auto& plan = core.train_plan(batches.types_of(std::min(options.batch_size, reader->size()))).micro.plans[0];
  if (file.data.test) (void)Batches(core, (*file.data.test)->open(), {.batch_size = options.batch_size});
  if (options.validation_data)
    (void)Batches(core, (*options.validation_data)->open(), {.batch_size = options.batch_size});
  out << file.path << ": good: " << reader->size() << " rows, " << plan.launches.size() << " launches a step, arena "
      << bytes_text(plan.arena_bytes) << "\n";
  return 0;
}

int Summary::run(std::ostream& out) const {
  out << read_run_file(run_file, set).model->summary();
  return 0;
}

int Plan::run(std::ostream& out) const {
  RunFile file = read_run_file(run_file, set);
  out << file.model->plan(batch_size ? batch_size : file.fit.batch_size, mode == "train");
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
