// SPDX-License-Identifier: Apache-2.0
// Run files: YAML that declares a model, what it is compiled with, its data and how it is trained.
#pragma once

#include "strata/model.h"

namespace strata {

struct CompileSection {
  Optimizer optimizer = "rmsprop";
  Config loss = {}, metrics = {}, weighted_metrics = {};
  std::map<std::string, double> loss_weights = {};
  std::string precision = "float32";
  std::vector<std::string> freeze = {};
  bool fast_math = true;
  static Schema schema();
};

struct DataSection {
  Dataset train = {};
  Config validation = {};
  Optional<Dataset> test = {};
  static Schema schema();
};

struct FitSection {
  std::int64_t batch_size = 32, epochs = 1;
  std::string verbose = "auto";
  bool shuffle = true;
  std::map<std::string, double> class_weight = {};
  std::int64_t initial_epoch = 0;
  Optional<std::int64_t> steps_per_epoch = {}, validation_steps = {}, validation_batch_size = {};
  std::int64_t validation_freq = 1, micro_batches = 1;
  static Schema schema();
};

// The whole file, as it is written.
struct RunSection {
  std::int64_t version = 0;
  std::string name = "run";
  std::int64_t seed = 0;
  Config model = {}, compile = {}, data = {}, fit = {};
  Optional<Strategy> strategy = {};
  std::vector<Callback> callbacks = {};
  std::string initial_weights = {};
  static Schema schema();
};

// A read run file, ready to be run.
struct RunFile {
  std::string path;  // "" when it came from text
  Config config;     // with every override
  RunSection run;
  CompileSection compile;
  DataSection data;
  FitSection fit;
  std::shared_ptr<Model> model;  // built: its weights are there
  CompileSettings settings;

  std::string directory() const;     // runs/<name>
  std::string weights_file() const;  // in it
  FitOptions fit_options() const;
};

// Overrides are "fit.epochs=3", applied before reading. Error: every mistake of the file, with places.
RunFile read_run_file(const std::string& path, const std::vector<std::string>& overrides = {});
RunFile read_run_text(const std::string& text, const std::string& name, const std::vector<std::string>& overrides = {});

// The model a file's `model:` section describes. Places by layer name are added to `places`.
Model read_model(const Config& section, const std::string& name, Mistakes& mistakes,
                 std::map<std::string, Where>& places);

}  // namespace strata
