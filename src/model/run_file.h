// SPDX-License-Identifier: Apache-2.0
// Run files: YAML that declares a model, what it is compiled with, its data and how it is trained.
#pragma once

#include <optional>

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

struct CheckpointSection {
  std::vector<std::string> every = {};
  std::int64_t keep = 3;
  std::string best = {}, mode = "auto", directory = {}, on_signal = "save", resume = "auto";
  static Schema schema();
};

// The whole file, as it is written.
struct RunSection {
  std::int64_t version = 0;
  std::string name = "run";
  std::int64_t seed = 0;
  Config model = {}, compile = {}, data = {}, fit = {}, checkpoint = {};
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
  CheckpointSection checkpoint;
  bool checkpoints = true;       // checkpoint: false writes none
  std::shared_ptr<Model> model;  // built: its weights are there
  CompileSettings settings;
  double validation_split = 0;  // of data.validation, as the next one
  Optional<Dataset> validation = {};
  std::map<std::string, std::shared_ptr<const Reader>> readers = {};  // of what is open, so that it is read once

  std::string directory() const;     // runs/<name>
  std::string weights_file() const;  // in it
  // "train", "validation" or "test", opened. Training data is whole: fit splits it. Error: what is wrong with the files,
  // with the place that names them.
  Dataset rows(const std::string& which);
  // Opens what there is and matches it to the model. Error: every mistake.
  void open_data();
  FitOptions fit_options();
};

// The first rows of a dataset: all when it has fewer.
Dataset first_rows(const Dataset& dataset, std::int64_t count);

// Overrides are "fit.epochs=3", applied before reading. Error: every mistake of the file, with places.
RunFile read_run_file(const std::string& path, const std::vector<std::string>& overrides = {});
RunFile read_run_text(const std::string& text, const std::string& name, const std::vector<std::string>& overrides = {});

// What the sections stand for; mistakes with their places.
CompileSettings read_settings(const RunFile& file, Mistakes& mistakes);  // names of outputs and layers are the model's
void read_data(RunFile& file, Mistakes& mistakes);                       // data.validation; files' folders

// The model a file's `model:` section describes. Places of layers are added to `places`, by path.
// Nothing, with mistakes, when it cannot be read.
std::optional<Model> read_model(const Config& section, const std::string& name, Mistakes& mistakes,
                                std::map<std::string, Where>& places);

}  // namespace strata
