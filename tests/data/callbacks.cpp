// SPDX-License-Identifier: Apache-2.0
// Callbacks on a training that is only played: what each does with the figures it is shown, epoch by epoch.
#include <doctest/doctest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <sstream>

#include "base/file.h"
#include "base/log.h"
#include "strata/callbacks/csv_logger.h"
#include "strata/callbacks/early_stopping.h"
#include "strata/callbacks/lambda.h"
#include "strata/callbacks/progress.h"
#include "strata/callbacks/reduce_lr_on_plateau.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::callbacks;
using strata::test::message_of;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// The weights are one number: the epoch that made them.
class Played final : public Training {
 public:
  std::int64_t epoch() const override { return epoch_; }
  std::int64_t epochs() const override { return 12; }
  std::int64_t step() const override { return step_; }
  std::int64_t steps() const override { return 8; }
  std::int64_t updates() const override { return epoch_ * 8 + step_; }
  const Figures& figures() const override { return figures_; }
  void log(const std::string& name, double value) override { figures_[name] = value; }
  Direction direction(const std::string& figure) const override {
    if (figure.ends_with("loss")) return Direction::down;
    return figure.ends_with("accuracy") ? Direction::up : Direction::unknown;
  }
  void stop(const std::string& reason) override { stopped_ = reason; }
  double value(const std::string& path) const override {
    if (scheduled_) throw Error(path + " follows a schedule");
    return rate_;
  }
  void set(const std::string&, double value) override { rate_ = value; }
  std::map<std::string, Tensor> weights() const override {
    return {{"w", Tensor(Shape{}, std::vector<double>{made_})}};
  }
  void restore(const std::map<std::string, Tensor>& weights) override { made_ = weights.at("w").to_doubles()[0]; }
  const std::string& directory() const override { return directory_; }
  const History& history() const override { return history_; }
  bool resumed() const override { return resumed_; }
  void save(const std::string&, bool) override {}

  // Ends the epochs from epoch() on with these values of a figure; gives the epoch it was stopped after, or -1.
  template <class C>
  std::int64_t play(C& callback, const std::vector<double>& values, const char* figure = "val_loss") {
    Callback held(callback);
    held->on_fit_begin(*this);
    stopped_.clear();
    for (const double value : values) {
      made_ = static_cast<double>(epoch_);
      figures_ = {{"loss", 1.0}, {figure, value}};
      held->on_epoch_end(*this);
      rates_.push_back(rate_);
      ++epoch_;
      if (!stopped_.empty()) break;
    }
    const std::int64_t last = stopped_.empty() ? -1 : epoch_ - 1;
    held->on_fit_end(*this);
    callback = *held.get_if<C>();
    return last;
  }

  std::int64_t epoch_ = 0, step_ = 8;
  Figures figures_;
  History history_;
  std::string directory_, stopped_;
  double rate_ = 1, made_ = -1;
  bool scheduled_ = false, resumed_ = false;
  std::vector<double> rates_;
};

std::int64_t stopped(EarlyStopping callback, const std::vector<double>& values, const char* figure = "val_loss") {
  Played training;
  return training.play(callback, values, figure);
}

std::vector<double> rates(ReduceLROnPlateau callback, const std::vector<double>& values) {
  Played training;
  training.play(callback, values);
  return training.rates_;
}

// What is written to stderr while f runs.
template <class F> std::string shown(F f) {
  std::ostringstream text;
  auto* before = std::cerr.rdbuf(text.rdbuf());
  f();
  std::cerr.rdbuf(before);
  return text.str();
}

}  // namespace

TEST_CASE("EarlyStopping stops after `patience` epochs without betterment, as Keras counts them") {
  CHECK(stopped({}, {3, 2, 1, 0}) == -1);
  CHECK(stopped({}, {3, 2, 2, 1}) == 2);
  CHECK(stopped({.patience = 1}, {3, 2, 2, 1}) == 2);
  CHECK(stopped({.patience = 2}, {3, 2, 2, 1, 1, 1}) == 5);
  CHECK(stopped({.min_delta = 0.5, .patience = 2}, {3, 2.6, 2.4, 2.3, 2.2}) == 4);
  CHECK(stopped({.monitor = "val_accuracy", .patience = 2}, {0.1, 0.3, 0.2, 0.3}, "val_accuracy") == 3);
  CHECK(stopped({.patience = 2, .mode = "max"}, {1, 2, 3, 2, 1}) == 4);
  CHECK(stopped({.patience = 2, .start_from_epoch = 3}, {1, 2, 3, 4, 4, 4, 4}) == 5);
  // With a baseline, being better than before is not enough to go on waiting.
  CHECK(stopped({.patience = 3, .baseline = 1.0}, {5, 4, 3, 2, 2}) == 4);
  CHECK(stopped({.patience = 3, .baseline = 1.0}, {5, 4, 0.5, 2, 2, 2}) == 5);
}

TEST_CASE("EarlyStopping says why it stopped") {
  Played training;
  EarlyStopping callback{.patience = 1};
  training.play(callback, {0.5, 0.25, 0.75});
  CHECK(training.stopped_ == "EarlyStopping: val_loss has not got better since epoch 2 (0.25); stopped after epoch 3");
  Played never;
  EarlyStopping blind{.patience = 1};
  never.play(blind, {no_number, no_number, no_number});
  CHECK(never.stopped_ == "EarlyStopping: val_loss was never a number; stopped after epoch 2");
}

TEST_CASE("a NaN is never the best: what follows it is better") {
  CHECK(stopped({.patience = 3}, {no_number, 3, 2, 1, 0}) == -1);
  Played training;
  EarlyStopping callback{.patience = 2};
  training.play(callback, {no_number, 3, no_number, 2, no_number, no_number});
  CHECK(callback.best == 2);
  CHECK(callback.best_epoch == 3);
  CHECK(rates({.factor = 0.5, .patience = 1}, {no_number, 3, 2, 1}) == std::vector<double>{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("EarlyStopping ends with the best epoch's weights, stopped early or not") {
  for (const bool restore : {false, true}) {
    Played training;
    EarlyStopping callback{.patience = 2, .restore_best_weights = restore};
    CHECK(training.play(callback, {3, 1, 2, 2, 0}) == 3);
    CHECK(training.made_ == (restore ? 1 : 3));
    Played whole;
    EarlyStopping patient{.patience = 9, .restore_best_weights = restore};
    CHECK(whole.play(patient, {3, 1, 2}) == -1);
    CHECK(whole.made_ == (restore ? 1 : 2));
  }
}

TEST_CASE("callbacks go on after a stop as if there had been none") {
  const std::vector<double> values{5, 4, 4.5, 4.2, 3, 3.5, 3.4, 3.3, 3.2, 3.1};
  for (std::size_t cut = 1; cut < values.size(); ++cut) {
    const std::vector<double> before(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(cut)),
        after(values.begin() + static_cast<std::ptrdiff_t>(cut), values.end());
    auto both = [&](auto made) {
      using C = decltype(made);
      Played straight, first, second;
      C whole = made, begun = made, gone_on = made;
      const auto last = straight.play(whole, values);
      if (first.play(begun, before) >= 0) return;
      Mistakes mistakes;
      schema_of<C>().read_kept(&gone_on, schema_of<C>().write_kept(&begun), mistakes);
      mistakes.raise();
      second.resumed_ = true;
      second.epoch_ = first.epoch_;
      second.rate_ = first.rate_;
      second.rates_ = first.rates_;
      CHECK(second.play(gone_on, after) == last);
      CHECK(second.stopped_ == straight.stopped_);
      CHECK(second.rates_ == straight.rates_);
      CHECK(schema_of<C>().write_kept(&gone_on) == schema_of<C>().write_kept(&whole));
    };
    both(EarlyStopping{.patience = 4});
    both(EarlyStopping{.patience = 2});
    both(ReduceLROnPlateau{.factor = 0.5, .patience = 2, .min_delta = 0, .cooldown = 1});
  }
}

TEST_CASE("a callback that served one fit begins the next one anew") {
  Played first, second;
  EarlyStopping stopping{.patience = 2};
  first.play(stopping, {1, 0, 1});
  CHECK(second.play(stopping, {5, 4, 3}) == -1);
  CHECK(stopping.best == 3);
  Played third, fourth;
  ReduceLROnPlateau reducing{.factor = 0.5, .patience = 2};
  third.play(reducing, {1, 0, 1});
  fourth.play(reducing, {5, 4, 3});
  CHECK(fourth.rates_ == std::vector<double>{1, 1, 1});
}

TEST_CASE("ReduceLROnPlateau lowers the rate as Keras does") {
  CHECK(rates({.factor = 0.5, .patience = 2}, {3, 3, 3, 3, 3, 2, 2}) ==
        std::vector<double>{1, 1, 0.5, 0.5, 0.25, 0.25, 0.25});
  // The default min_delta is 1e-4: less is no betterment.
  CHECK(rates({.factor = 0.5, .patience = 1}, {3, 2.99995}) == std::vector<double>{1, 0.5});
  CHECK(rates({.factor = 0.5, .patience = 1, .min_delta = 0}, {3, 2.99995}) == std::vector<double>{1, 1});
  CHECK(rates({.factor = 0.5, .patience = 1, .cooldown = 2}, {3, 3, 3, 3, 3}) ==
        std::vector<double>{1, 0.5, 0.5, 0.25, 0.25});
  CHECK(rates({.factor = 0.5, .patience = 1, .min_lr = 0.4}, {3, 3, 3, 3}) == std::vector<double>{1, 0.5, 0.4, 0.4});
  Played training;
  ReduceLROnPlateau callback{.patience = 1};
  training.play(callback, {3, 3});
  CHECK(training.figures_.at("learning_rate") == 1);  // what the epoch was trained with
  Played scheduled;
  scheduled.scheduled_ = true;
  CHECK(message_of([&] { scheduled.play(callback, {}); }) == "optimizer/learning_rate follows a schedule");
}

TEST_CASE("a figure that is missing is passed over; one of which nobody knows the better way is refused") {
  Played training;
  EarlyStopping typo{.monitor = "val_los"};
  CHECK(training.play(typo, {1, 2, 3}) == -1);
  Played strange;
  EarlyStopping unknown{.monitor = "val_size"};
  CHECK(message_of([&] { strange.play(unknown, {1}, "val_size"); }) ==
        "whether more or less of 'val_size' is better cannot be known; set mode to min or max");
  CHECK(stopped({.monitor = "val_size", .mode = "min"}, {1, 2}, "val_size") == 1);
}

TEST_CASE("a history answers by name, with the nearest one for a misspelt name") {
  History history;
  CHECK(message_of([&] { (void)history["loss"]; }) == "the history has no figure 'loss': no epoch was trained");
  history.figures = {{"loss", {2, 1}}, {"val_loss", {3, 2}}};
  CHECK(history["loss"] == std::vector<double>{2, 1});
  CHECK(message_of([&] { (void)history["val_los"]; }) ==
        "the history has no figure 'val_los'; it has loss and val_loss; did you mean 'val_loss'?");
}

TEST_CASE("CSVLogger writes Keras's table") {
  const test::TemporaryFolder folder;
  Played training;
  training.directory_ = folder.path();
  CSVLogger callback;
  training.play(callback, {0.5, 0.25});
  CHECK(read_file(folder / "log.csv") == "epoch,loss,val_loss\n0,1,0.5\n1,1,0.25\n");

  Played rarely;  // validation comes every second epoch
  CSVLogger other{.filename = folder / "rarely.csv", .separator = ";"};
  Callback held(other);
  held->on_fit_begin(rarely);
  for (rarely.epoch_ = 0; rarely.epoch_ < 2; ++rarely.epoch_) {
    rarely.figures_ = {{"loss", no_number}, {"accuracy", 0.1}};
    if (rarely.epoch_ == 1) rarely.log("val_loss", 4);
    held->on_epoch_end(rarely);
  }
  CHECK(read_file(folder / "rarely.csv") ==
        "epoch;accuracy;loss;val_accuracy;val_loss\n0;0.1;nan;NA;NA\n1;0.1;nan;NA;4\n");
}

TEST_CASE("CSVLogger replaces, appends or goes on, and never writes an epoch twice") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "log.csv";
  CSVLogger callback{.filename = file};
  Played first;
  first.play(callback, {3, 2, 1});

  Played again;  // the same command on another day: a new table
  CSVLogger fresh{.filename = file};
  again.play(fresh, {7});
  CHECK(read_file(file) == "epoch,loss,val_loss\n0,1,7\n");

  Played appending;
  appending.epoch_ = 1;
  CSVLogger adding{.filename = file, .append = true};
  appending.play(adding, {6});
  CHECK(read_file(file) == "epoch,loss,val_loss\n0,1,7\n1,1,6\n");

  // A run died in the middle of a row after epoch 2; its checkpoint is of epoch 1.
  write_file(file, "epoch,loss,val_loss\n0,1,7\n1,1,6\n2,1,5\n3,");
  Played resumed;
  resumed.epoch_ = 2;
  resumed.resumed_ = true;
  CSVLogger kept{.filename = file, .columns = {"loss", "val_loss"}};
  resumed.play(kept, {4});
  CHECK(read_file(file) == "epoch,loss,val_loss\n0,1,7\n1,1,6\n2,1,4\n");

  // A file that was begun and got no header yet, or is gone.
  write_file(file, "");
  Played empty;
  CSVLogger into_empty{.filename = file, .append = true};
  empty.play(into_empty, {4});
  CHECK(read_file(file) == "epoch,loss,val_loss\n0,1,4\n");

  write_file(file, "a,b\n");
  CHECK(message_of([&] {
          Played other;
          CSVLogger wrong{.filename = file, .append = true};
          other.play(wrong, {});
        }) == cat(file,
                  ":1: begins with 'a', where CSVLogger's tables have 'epoch', before a ','; give another filename, "
                  "or append: false to replace it"));
  CHECK_THROWS_AS(
      [&] {
        Played nowhere;
        CSVLogger lost{.filename = folder / "none/log.csv"};
        nowhere.play(lost, {});
      }(),
      RunFailed);
}

TEST_CASE("LambdaCallback calls what it was given, and nothing else") {
  Played training;
  std::string calls;
  Callback held(LambdaCallback{.on_fit_begin = [&](Training&) { calls += "b"; },
                               .on_epoch_end = [&](Training& t) { calls += to_text(t.epoch()); }});
  held->on_fit_begin(training);
  held->on_epoch_begin(training);
  held->on_step_end(training);
  held->on_validation_begin(training);
  held->on_validation_end(training);
  held->on_epoch_end(training);
  held->on_fit_end(training);
  CHECK(calls == "b0");
}

TEST_CASE("TerminateOnNaN fails the run at the step") {
  Played training;
  training.epoch_ = 2;
  training.step_ = 5;
  TerminateOnNaN callback;
  training.figures_ = {{"loss", 1}};
  callback.on_step_end(training);
  training.figures_ = {{"loss", no_number}};
  CHECK_THROWS_AS(callback.on_step_end(training), RunFailed);
  CHECK(message_of([&] { callback.on_step_end(training); }) ==
        "loss is nan at step 5 of epoch 3; a smaller learning_rate, or clipnorm, usually cures this");
}

TEST_CASE("progress: one line an epoch, losses first, training before validation") {
  Played training;
  training.figures_ = {{"accuracy", 0.93}, {"loss", 1.5e-5}, {"val_accuracy", 0}, {"val_loss", 12345}};
  const std::string line = shown([&] {
    ProgressBar bar{.verbose = "line"};
    bar.on_epoch_begin(training);
    for (training.step_ = 1; training.step_ <= 8; ++training.step_) bar.on_step_end(training);
    training.step_ = 8;
    bar.on_epoch_end(training);
  });
  CHECK(line.starts_with("Epoch 1/12 - 8/8 - "));
  CHECK(line.ends_with(" - loss: 1.500e-05 - accuracy: 0.9300 - val_loss: 1.234e+04 - val_accuracy: 0.0000\n"));
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  CHECK(shown([&] {
          ProgressBar bar{.verbose = "none"};
          bar.on_epoch_begin(training);
          bar.on_step_end(training);
          bar.on_epoch_end(training);
        }).empty());
}

TEST_CASE("progress: a long epoch says every 10 s how far it is") {
  Played training;
  training.step_ = 2;
  training.figures_ = {{"loss", 1}};
  const std::string lines = shown([&] {
    ProgressBar bar{.verbose = "line"};
    bar.on_epoch_begin(training);  // in the middle of the epoch, after step 2
    bar.epoch_began -= 12;
    for (training.step_ = 3; training.step_ < 7; ++training.step_) {
      if (training.step_ == 5) bar.shown -= 10;
      bar.on_step_end(training);
    }
  });
  CHECK(lines.starts_with("Epoch 1/12 - 5/8 - 12.0 s left, 4.0 s/step - loss: 1.0000\n"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 1);
}

TEST_CASE("progress: a bar is drawn over itself, at most ten times a second, and never wraps") {
  Played training;
  training.figures_ = {{"loss", 1}, {std::string(200, 'x'), 2}};
  const std::string text = shown([&] {
    ProgressBar bar{.verbose = "bar"};
    training.step_ = 0;
    bar.on_epoch_begin(training);
    for (training.step_ = 1; training.step_ <= 8; ++training.step_) bar.on_step_end(training);
  });
  CHECK(text.find("Epoch 1/12") != std::string::npos);
  CHECK(text.find("\r1/8 ===>....................") != std::string::npos);
  CHECK(text.find("\r8/8 ========================") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\r') == 2);
  if (!is_terminal(2)) CHECK(text.find(std::string(60, 'x')) == std::string::npos);
}
