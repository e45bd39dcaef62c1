// SPDX-License-Identifier: Apache-2.0
// Reading run files: overrides, sections, and what they stand for.
#include "model/run_file.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "backends/backend.h"
#include "base/text.h"
#include "model/core.h"
#include "model/saver.h"
#include "schema/yaml.h"

namespace strata {

Schema RunSection::schema() {
  return Schema("run file", "A whole run.")
      .arg("version", &RunSection::version, "The version of this format: 1.", between(1, 1))
      .arg("name", &RunSection::name, "The run's name; its directory is runs/<name>.")
      .arg("seed", &RunSection::seed, "Of weights, shuffling, dropout and everything random.", at_least(0))
      .arg("model", &RunSection::model, "The network.")
      .arg("compile", &RunSection::compile, "Optimizer, loss, metrics, precision.")
      .arg("data", &RunSection::data, "Training, validation and test data.")
      .arg("strategy", &RunSection::strategy, "On which devices.")
      .arg("fit", &RunSection::fit, "How long and in which batches.")
      .arg("checkpoint", &RunSection::checkpoint, "When the run is saved and how it goes on; false: never.")
      .arg("callbacks", &RunSection::callbacks, "What happens beside training.")
      .arg("initial_weights", &RunSection::initial_weights, "A .weights.h5 file to begin with.");
}

Schema CompileSection::schema() {
  return Schema("compile", "What the model is trained with.")
      .arg("optimizer", &CompileSection::optimizer, "How weights are updated.")
      .arg("loss", &CompileSection::loss, "What is made small: one loss, or one by output name.")
      .arg("loss_weights", &CompileSection::loss_weights, "Factors of the losses, by output name.")
      .arg("metrics", &CompileSection::metrics, "Figures to follow: a list, or lists by output name.")
      .arg("weighted_metrics", &CompileSection::weighted_metrics, "Figures that heed sample weights.")
      .arg("precision", &CompileSection::precision, "The precision policy.",
           one_of({"float32", "float64", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"}))
      .arg("freeze", &CompileSection::freeze, "Layers that are not trained.")
      .arg("fast_math", &CompileSection::fast_math, "Whether algorithms with a stated larger error may be used.");
}

Schema DataSection::schema() {
  return Schema("data", "Where the rows come from.")
      .arg("train", &DataSection::train, "The training data.")
      .arg("validation", &DataSection::validation,
           "A dataset, or {split: 0.1}: that part of the training data, from its end.")
      .arg("test", &DataSection::test, "Data for the last word, after training.");
}

Schema CheckpointSection::schema() {
  return Schema("checkpoint", "When the run is saved, and how it goes on.")
      .arg("every", &CheckpointSection::every,
           "How often: 500 steps, 2 epochs, 10 min, or a list, whichever comes first; at each epoch's end when empty, "
           "but "
           "not so often that it takes over 3 % of the time. The end and a signal are always saved.")
      .arg("keep", &CheckpointSection::keep, "So many newest files stay.", at_least(1))
      .arg("best", &CheckpointSection::best,
           "The figure whose best epoch stays as best.h5; val_loss when empty, or none.")
      .arg("mode", &CheckpointSection::mode, "Which way the figure is better.", one_of({"auto", "min", "max"}))
      .arg("directory", &CheckpointSection::directory, "Where the files are; the run's directory when empty.")
      .arg("on_signal", &CheckpointSection::on_signal,
           "On SIGTERM, SIGINT and SIGUSR1: finish the step, save and exit with 85; or ignore: leave signals alone.",
           one_of({"save", "ignore"}))
      .arg("resume", &CheckpointSection::resume,
           "auto: go on from the newest whole checkpoint; never; or a checkpoint's file.", not_empty());
}

Schema FitSection::schema() {
  return Schema("fit", "How training goes.")
      .arg("batch_size", &FitSection::batch_size, "Rows of a step, over all replicas.", at_least(1))
      .arg("epochs", &FitSection::epochs, "Passes over the data.", at_least(0))
      .arg("verbose", &FitSection::verbose, "What is shown.", one_of({"auto", "bar", "line", "none"}))
      .arg("shuffle", &FitSection::shuffle, "Whether each epoch has an order of its own.")
      .arg("class_weight", &FitSection::class_weight, "Weights of classes, by number.")
      .arg("initial_epoch", &FitSection::initial_epoch, "The epoch to begin with.", at_least(0))
      .arg("steps_per_epoch", &FitSection::steps_per_epoch, "Steps that make an epoch.", at_least(1))
      .arg("validation_steps", &FitSection::validation_steps, "Batches of a validation.", at_least(1))
      .arg("validation_batch_size", &FitSection::validation_batch_size, "Rows of a validation batch.", at_least(1))
      .arg("validation_freq", &FitSection::validation_freq, "Epochs between validations.", at_least(1))
      .arg("micro_batches", &FitSection::micro_batches, "Parts in which a step's rows run, for less memory.",
           at_least(1));
}

std::string RunFile::directory() const { return (std::filesystem::path("runs") / run.name).string(); }
std::string RunFile::weights_file() const { return (std::filesystem::path(directory()) / "model.weights.h5").string(); }

namespace {

// Sets a.b.2.c in nested maps and lists.
void apply_override(Config& config, const std::string& text) {
  const auto equals = text.find('=');
  const Where where{"", 0, 0, "--set " + text};
  if (equals == std::string::npos || equals == 0)
    throw Error(cat(locate(where), "an override is written path=value, as in fit.epochs=3"));
  Config* at = &config;
  const auto keys = split(text.substr(0, equals), '.');
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (keys[k].empty()) throw Error(cat(locate(where), "the path has an empty part"));
    if (auto* list = std::get_if<Config::List>(&at->data)) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(keys[k].data(), keys[k].data() + keys[k].size(), index);
      if (error != std::errc() || end != keys[k].data() + keys[k].size() || index >= list->size())
        throw Error(cat(locate(where), "'", keys[k], "' is no place in a list of ", list->size(), " (counted from 0)"));
      at = &(*list)[index];
      continue;
    }
    if (!at->map() && !at->is_null()) {
      // A bare word becomes a part with arguments: optimizer=Adam, then optimizer.Adam.learning_rate.
      if (at->text() && *at->text() == keys[k]) *at = Config(Config::Map{{keys[k], Config()}}, where);
      else throw Error(cat(locate(where), "'", keys[k], "' stands below ", to_text(*at), ", which has no parts"));
    }
    if (!at->find(keys[k])) {
      Config fresh;
      fresh.where = fresh.key = where;
      at->set(keys[k], std::move(fresh));
    }
    at = const_cast<Config*>(at->find(keys[k]));
  }
  const Where key = at->key;
  *at = parse_flow(text.substr(equals + 1), where);
  at->key = key;
}

// The intervals' mistakes at their place.
void check_checkpoint(const RunFile& file, Mistakes& mistakes) {
  const Config* every = file.run.checkpoint.find("every");
  for (std::size_t i = 0; every && i < file.checkpoint.every.size(); ++i) try {
      (void)read_interval(file.checkpoint.every[i]);
    } catch (const Error& error) {
      mistakes.add(every->list() ? (*every->list())[i].where : every->where, error.what());
    }
}

// The place of the layer whose trace failed stands in front of what it says. An unplaced layer stands in a placed one.
[[noreturn]] void raise_placed(const Error& error, const std::map<std::string, Where>& places, const RunFile& file) {
  const std::string text = error.what();
  Where where = text.starts_with("model '") ? file.run.compile.where : file.run.model.where;
  for (std::string path = text.substr(0, text.find(" (")); !path.empty();
       path.resize(path.find('/') == std::string::npos ? 0 : path.rfind('/')))
    if (const auto it = places.find(path); it != places.end()) {
      where = it->second;
      break;
    }
  Mistakes mistakes;
  mistakes.add(where, text);
  mistakes.raise();
  std::abort();  // raise() has thrown
}

// Devices that are not there are said with the strategy's place.
void check_strategy(const RunFile& file, Mistakes& mistakes) {
  if (!file.run.strategy || file.run.strategy->empty()) return;
  Devices devices;
  for (const auto& name : backend_names())
    for (const auto& device : backend(name).devices()) devices.push_back(device);
  try {
    for (const auto& device : (*file.run.strategy)->mesh(devices).devices) (void)backend(device.backend);
  } catch (const Error& error) {
    mistakes.add(file.config.find("strategy")->where, cat("strategy: ", error.what()));
  }
}

RunFile ready(RunFile file, const std::vector<std::string>& overrides) {
  for (const auto& text : overrides) apply_override(file.config, text);
  if (!file.config.map())
    throw Error(cat(locate(file.config.where), "a run file is a map: version, model, compile, data, fit; got ",
                    to_text(file.config)));
  Mistakes mistakes;
  schema_of<RunSection>().read(&file.run, file.config, mistakes);
  // What is missing is missed at the file's beginning.
  for (Config* section : {&file.run.compile, &file.run.data, &file.run.fit})
    if (section->is_null()) section->where = file.config.where;
  schema_of<CompileSection>().read(&file.compile, file.run.compile, mistakes);
  schema_of<DataSection>().read(&file.data, file.run.data, mistakes);
  schema_of<FitSection>().read(&file.fit, file.run.fit, mistakes);
  const Config& saved = file.run.checkpoint;
  if (const auto* on = std::get_if<bool>(&saved.data)) file.checkpoints = *on;
  else if (saved.text() && saved.plain && (*saved.text() == "false" || *saved.text() == "true"))
    file.checkpoints = *saved.text() == "true";
  else schema_of<CheckpointSection>().read(&file.checkpoint, saved, mistakes);
  check_checkpoint(file, mistakes);
  if (file.run.model.is_null()) mistakes.add(file.config.where, "the run file needs 'model'");
  if (file.run.name.empty() || file.run.name.find('/') != std::string::npos || file.run.name.starts_with('.'))
    mistakes.add(file.config.find("name") ? file.config.find("name")->where : file.config.where,
                 cat("name '", file.run.name, "' cannot be a directory's; leave out '/' and a leading '.'"));
  read_data(file, mistakes);
  check_strategy(file, mistakes);
  if (const Config* weights = file.run.fit.find("class_weight"); weights && weights->map())
    for (const auto& [label, weight] : *weights->map())
      if (!read_integer(label))
        mistakes.add(weight.key, cat("fit: class_weight has the class '", label, "'; classes are whole numbers"));
  std::map<std::string, Where> places;
  if (!file.run.model.is_null())
    if (auto model = read_model(file.run.model, file.run.name, mistakes, places))
      file.model = std::make_shared<Model>(*model);
  file.settings = read_settings(file, mistakes);
  mistakes.raise();
  try {
    file.model->core().seed = file.run.seed;
    file.model->compile(file.settings);
  } catch (const RunFailed&) {
    throw;
  } catch (const Error& error) {
    raise_placed(error, places, file);
  }
  if (const std::string& weights = file.run.initial_weights; !weights.empty()) {
    const auto beside = std::filesystem::path(file.path).parent_path() / weights;
    file.model->load_weights(std::filesystem::exists(beside) ? beside.string() : weights);
  }
  return file;
}

}  // namespace

FitOptions RunFile::fit_options() {
  FitOptions options;
  options.batch_size = fit.batch_size;
  options.epochs = fit.epochs;
  options.verbose = fit.verbose;
  options.callbacks = run.callbacks;
  options.shuffle = fit.shuffle;
  for (const auto& [label, weight] : fit.class_weight) options.class_weight[*read_integer(label)] = weight;
  options.initial_epoch = fit.initial_epoch;
  options.steps_per_epoch = fit.steps_per_epoch;
  options.validation_steps = fit.validation_steps;
  options.validation_batch_size = fit.validation_batch_size;
  options.validation_freq = fit.validation_freq;
  options.micro_batches = fit.micro_batches;
  options.seed = run.seed;
  options.directory = directory();
  options.validation_split = validation_split;
  if (checkpoints)
    options.checkpoint = {.directory = checkpoint.directory.empty() ? directory() : checkpoint.directory,
                          .every = checkpoint.every,
                          .keep = checkpoint.keep,
                          .best = checkpoint.best,
                          .mode = checkpoint.mode,
                          .on_signal = checkpoint.on_signal,
                          .resume = checkpoint.resume,
                          .config = config};
  if (validation) options.validation_data = rows("validation");
  return options;
}

RunFile read_run_file(const std::string& path, const std::vector<std::string>& overrides) {
  RunFile file;
  file.path = path;
  file.config = read_yaml_file(path);
  return ready(std::move(file), overrides);
}

RunFile read_run_text(const std::string& text, const std::string& name, const std::vector<std::string>& overrides) {
  RunFile file;
  file.config = read_yaml(text, name);
  return ready(std::move(file), overrides);
}

}  // namespace strata
