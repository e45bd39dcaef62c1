// SPDX-License-Identifier: Apache-2.0
#include "support/resume.h"

#include <doctest/doctest.h>

#include <csignal>

#include <bit>
#include <stdexcept>

#include "base/file.h"
#include "base/text.h"
#include "model/core.h"
#include "support/temporary.h"
#include "support/training.h"

namespace strata::test {

namespace {

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

Dataset rows_of(const Shape& shape, int count_of_classes, std::int64_t rows = 22, DType dtype = DType::float32) {
  return Arrays{.x = {numbers(shape.prepend(rows), 11, -1, 1, dtype)}, .y = {classes(rows, count_of_classes)}};
}

Dataset words(std::int64_t rows = 22) {
  return Arrays{.x = {numbers({rows, 6}, 5, 0, 9, DType::int32)}, .y = {classes(rows, 3)}};
}

Model dense(const CompileSettings& settings, double dropout = 0.3) {
  Sequential model({4}, {Dense{.units = 8, .activation = "relu"}, Dropout{.rate = dropout}, Dense{.units = 3}});
  model.compile(settings);
  return model;
}

Model convolutional(const CompileSettings& settings) {
  Sequential model({6, 6, 1}, {Conv2D{.filters = 4, .kernel_size = 3}, BatchNormalization{.momentum = 0.9}, ReLU{},
                               MaxPooling2D{}, Flatten{}, Dropout{.rate = 0.2}, Dense{.units = 3}});
  model.compile(settings);
  return model;
}

Model recurrent(const CompileSettings& settings) {
  Sequential model({6},
                   {Embedding{.input_dim = 9, .output_dim = 4, .mask_zero = true}, LSTM{.units = 5}, Dense{.units = 3}},
                   "", DType::int32);
  model.compile(settings);
  return model;
}

CompileSettings with(const Optimizer& optimizer, const std::string& precision = "float32") {
  return {.optimizer = optimizer,
          .loss = SparseCategoricalCrossentropy{.from_logits = true},
          .metrics = {"accuracy"},
          .precision = precision};
}

FitOptions two_epochs() {
  FitOptions options;
  options.batch_size = 5;
  options.epochs = 2;
  options.verbose = "none";
  options.validation_split = 0.25;  // 16 rows train: three batches of 5 and one of 1
  options.seed = 3;
  return options;
}

std::string bits(const Tensor& tensor) {
  return to_text(tensor.type()) + std::string(static_cast<const char*>(tensor.host_data()), tensor.bytes());
}

Trained outcome(Model& model, const History& history, const std::string& folder) {
  Trained trained;
  auto& store = model.core().store;
  for (const auto& [path, _] : store.variables()) trained.states[path] = bits(store.read(path));
  for (const std::int64_t epoch : history.epoch) trained.history += cat(epoch, " ");
  for (const auto& [name, values] : history.figures) {
    trained.history += "\n" + name;
    for (const double value : values) trained.history += cat(" ", std::bit_cast<std::uint64_t>(value));
  }
  trained.table = read_file(folder + "/log.csv");
  return trained;
}

}  // namespace

std::vector<ResumeCase> resume_cases() {
  std::vector<ResumeCase> cases;
  auto add = [&](
                 const std::string& name, std::function<Model()> model, const Dataset& data,
                 const std::function<void(FitOptions&)>& change = [](FitOptions&) {}) {
    FitOptions options = two_epochs();
    change(options);
    cases.push_back({name, std::move(model), data, options});
  };
  const Dataset flat = rows_of({4}, 3), images = rows_of({6, 6, 1}, 3);
  add(
      "dense, SGD with momentum", [] { return dense(with(SGD{.learning_rate = 0.1, .momentum = 0.9})); }, flat);
  add(
      "convolution, BatchNormalization, Adam", [] { return convolutional(with(Adam{.learning_rate = 0.01})); }, images);
  add(
      "masked LSTM, RMSprop",
      [] { return recurrent(with(RMSprop{.learning_rate = 0.01, .momentum = 0.5, .centered = true})); }, words());
  add(
      "accumulation over three batches, Adam",
      [] {
        Optimizer adam = Adam{.learning_rate = 0.01};
        adam.common().gradient_accumulation_steps = 3;
        return dense(with(adam));
      },
      flat);
  add(
      "early stopping, plateau and best weights", [] { return dense(with(SGD{.learning_rate = 0.5})); }, flat,
      [](FitOptions& o) {
        o.epochs = 5;
        o.callbacks = {EarlyStopping{.patience = 1, .restore_best_weights = true},
                       ReduceLROnPlateau{.factor = 0.5, .patience = 1, .min_delta = 0.5}};
      });
  add(
      "mixed_float16 with its loss scale",
      [] { return convolutional(with(Adam{.learning_rate = 0.01}, "mixed_float16")); }, images);
  // The six above are tried at every build.
  add(
      "SGD with Nesterov momentum and decay",
      [] {
        Optimizer sgd = SGD{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
        sgd.common().weight_decay = 0.01;
        return dense(with(sgd));
      },
      flat);
  add(
      "Adam with amsgrad", [] { return dense(with(Adam{.amsgrad = true})); }, flat);
  add(
      "AdamW and CosineDecay",
      [] { return dense(with(AdamW{.learning_rate = CosineDecay{.initial_learning_rate = 0.05, .decay_steps = 7}})); },
      flat);
  add(
      "Adamax and ExponentialDecay",
      [] {
        return dense(with(Adamax{
            .learning_rate = ExponentialDecay{.initial_learning_rate = 0.05, .decay_steps = 3, .decay_rate = 0.5}}));
      },
      flat);
  add(
      "Nadam", [] { return dense(with(Nadam{})); }, flat);
  add(
      "Lamb", [] { return dense(with(Lamb{})); }, flat);
  add(
      "Lion", [] { return dense(with(Lion{})); }, flat);
  add(
      "Adagrad", [] { return dense(with(Adagrad{})); }, flat);
  add(
      "Adadelta", [] { return dense(with(Adadelta{.learning_rate = 1.0})); }, flat);
  add(
      "averages of the weights",
      [] {
        Optimizer adam = Adam{};
        adam.common().use_ema = true;
        adam.common().ema_momentum = 0.5;
        return dense(with(adam));
      },
      flat);
  add(
      "averages that replace the weights",
      [] {
        Optimizer adam = Adam{};
        adam.common().use_ema = true;
        adam.common().ema_overwrite_frequency = 3;
        return dense(with(adam));
      },
      flat);
  add(
      "global clipping",
      [] {
        Optimizer adam = Adam{};
        adam.common().global_clipnorm = 0.1;
        return dense(with(adam));
      },
      flat);
  add(
      "clipping by value, accumulation over two",
      [] {
        Optimizer sgd = SGD{.learning_rate = 0.1, .momentum = 0.5};
        sgd.common().clipvalue = 0.05;
        sgd.common().gradient_accumulation_steps = 2;
        return dense(with(sgd));
      },
      flat);
  add(
      "float64", [] { return dense(with(Adam{}, "float64")); }, rows_of({4}, 3, 22, DType::float64));
  add(
      "mixed_bfloat16", [] { return convolutional(with(Adam{}, "mixed_bfloat16")); }, images);
  add(
      "bfloat16 weights", [] { return dense(with(SGD{.learning_rate = 0.1, .momentum = 0.9}, "bfloat16")); }, flat);
  add(
      "mixed_float16, accumulation",
      [] {
        Optimizer adam = Adam{};
        adam.common().gradient_accumulation_steps = 2;
        return dense(with(adam, "mixed_float16"));
      },
      flat);
  add(
      "micro batches", [] { return convolutional(with(Adam{})); }, images, [](FitOptions& o) { o.micro_batches = 2; });
  add(
      "steps_per_epoch that do not divide the data", [] { return dense(with(Adam{})); }, flat,
      [](FitOptions& o) {
        o.steps_per_epoch = 3;
        o.epochs = 4;
      });
  add(
      "validation every second epoch", [] { return dense(with(Adam{})); }, flat,
      [](FitOptions& o) {
        o.validation_freq = 2;
        o.epochs = 3;
      });
  add(
      "class weights, no shuffling", [] { return dense(with(Adam{})); }, flat,
      [](FitOptions& o) {
        o.class_weight = {{0, 2.0}, {2, 0.5}};
        o.shuffle = false;
      });
  add(
      "no validation", [] { return dense(with(Adam{})); }, flat, [](FitOptions& o) { o.validation_split = 0; });
  add(
      "two replicas",
      [] {
        CompileSettings settings = with(Adam{});
        settings.strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}});
        return convolutional(settings);
      },
      images);
  add(
      "three replicas, accumulation",
      [] {
        Optimizer adam = Adam{};
        adam.common().gradient_accumulation_steps = 2;
        CompileSettings settings = with(adam);
        settings.strategy = Strategy(MirroredStrategy{.devices = {"cpu:3"}});
        return dense(settings);
      },
      flat);
  add(
      "L2 penalties and a constraint",
      [] {
        Sequential model({4}, {Dense{.units = 8, .activation = "tanh", .kernel_regularizer = "l2"},
                               GaussianNoise{.stddev = 0.1}, Dense{.units = 3, .kernel_constraint = "max_norm"}});
        model.compile(with(Adam{}));
        return model;
      },
      flat);
  add(
      "a plateau with cooldown over four epochs", [] { return dense(with(SGD{.learning_rate = 0.5})); }, flat,
      [](FitOptions& o) {
        o.epochs = 4;
        o.callbacks = {
            ReduceLROnPlateau{.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 1, .cooldown = 1},
            CSVLogger{}};
      });
  add(
      "best of accuracy, patience two", [] { return dense(with(SGD{.learning_rate = 2.0})); }, flat,
      [](FitOptions& o) {
        o.epochs = 6;
        o.callbacks = {EarlyStopping{
            .monitor = "val_accuracy", .patience = 2, .restore_best_weights = true, .start_from_epoch = 1}};
      });
  return cases;
}

namespace {

FitOptions prepared(const ResumeCase& one, const std::string& folder) {
  FitOptions options = one.options;
  options.checkpoint.directory = folder;
  bool table = false;
  for (const auto& callback : options.callbacks) table = table || callback.get_if<callbacks::CSVLogger>();
  if (!table) options.callbacks.push_back(CSVLogger{});
  return options;
}

// Parts are handles: what one training's callback remembers another must not see.
std::vector<Callback> fresh(const std::vector<Callback>& callbacks) {
  std::vector<Callback> copies;
  Mistakes mistakes;
  for (const auto& callback : callbacks) copies.push_back(parts<Callback>().read(write_part(callback), "", mistakes));
  mistakes.raise();
  return copies;
}

}  // namespace

Trained train_uncut(const ResumeCase& one) {
  const TemporaryFolder folder;
  FitOptions options = prepared(one, folder.path());
  options.callbacks = fresh(options.callbacks);
  options.checkpoint.every = {"1000 epochs"};
  Model model = one.model();
  const History history = model.fit(one.data, options);
  return outcome(model, history, folder.path());
}

Trained train_in(const ResumeCase& one, const std::string& folder) {
  FitOptions options = prepared(one, folder);
  options.callbacks = fresh(options.callbacks);
  options.checkpoint.every = {"1 step"};
  Model model = one.model();
  const History history = model.fit(one.data, options);
  return outcome(model, history, folder);
}

std::vector<Cut> cuts_of(const ResumeCase& one) {
  std::vector<Cut> cuts;
  const TemporaryFolder folder;
  FitOptions options = prepared(one, folder.path());
  options.callbacks = fresh(options.callbacks);
  auto here = [&](Cut::At at) { return [&cuts, at](Training& t) { cuts.push_back({at, t.epoch(), t.step()}); }; };
  options.callbacks.push_back(LambdaCallback{.on_epoch_end = here(Cut::At::epoch),
                                             .on_step_end = here(Cut::At::batch),
                                             .on_validation_begin = here(Cut::At::validation)});
  Model model = one.model();
  model.fit(one.data, options);
  return cuts;
}

Trained train_cut(const ResumeCase& one, const std::vector<Cut>& cuts, bool by_signal) {
  const TemporaryFolder folder;
  for (std::size_t attempt = 0;; ++attempt) {
    FitOptions options = prepared(one, folder.path());
    options.callbacks = fresh(options.callbacks);
    if (!by_signal) options.checkpoint.every = {"2 steps"};
    Model model = one.model();
    auto here = [&](Cut::At at) {
      return [&, at](Training& t) {
        if (attempt >= cuts.size()) return;
        const Cut& cut = cuts[attempt];
        if (cut.at != at || cut.epoch != t.epoch() || cut.step != t.step()) return;
        if (!by_signal) throw Killed();
        std::raise(SIGUSR1);  // doctest has a handler of its own for the others
      };
    };
    options.callbacks.push_back(LambdaCallback{.on_epoch_end = here(Cut::At::epoch),
                                               .on_step_end = here(Cut::At::batch),
                                               .on_validation_begin = here(Cut::At::validation)});
    try {
      const History history = model.fit(one.data, options);
      // A signal at the very end has nothing left to stop.
      CHECK(attempt + 1 >= cuts.size());
      return outcome(model, history, folder.path());
    } catch (const Stopped&) {
    } catch (const Killed&) {
    }
  }
}

void compare(const Trained& found, const Trained& wanted) {
  CHECK(found.history == wanted.history);
  CHECK(found.table == wanted.table);
  REQUIRE(found.states.size() == wanted.states.size());
  for (const auto& [path, value] : wanted.states) {
    CAPTURE(path);
    CHECK(found.states.at(path) == value);
  }
}

void check_resume(std::size_t first, std::size_t last) {
  const auto cases = resume_cases();
  for (std::size_t i = first; i < std::min(last, cases.size()); ++i) {
    CAPTURE(cases[i].name);
    const Trained wanted = train_uncut(cases[i]);
    const auto cuts = cuts_of(cases[i]);
    for (const Cut& cut : cuts) {
      CAPTURE(static_cast<int>(cut.at));
      CAPTURE(cut.epoch);
      CAPTURE(cut.step);
      compare(train_cut(cases[i], {cut}, true), wanted);
      compare(train_cut(cases[i], {cut}, false), wanted);
    }
    // At every point of one run, one after the other.
    compare(train_cut(cases[i], cuts, true), wanted);
  }
}

}  // namespace strata::test
