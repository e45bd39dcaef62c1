// SPDX-License-Identifier: Apache-2.0
// Checkpoints of fit(): which files there are when, what they hold, what is refused.
#include <doctest/doctest.h>

#include <csignal>

#include "base/file.h"
#include "model/changes.h"
#include "model/checkpoint.h"
#include "model/saver.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/temporary.h"
#include "support/training.h"

namespace strata::test {
namespace {

Model small(double rate = 0.1, int units = 6) {
  Sequential model({4}, {named("fc1", Dense{.units = units, .activation = "relu"}), named("fc2", Dense{.units = 3})});
  model.compile({.optimizer = Adam{.learning_rate = rate}, .loss = SparseCategoricalCrossentropy{.from_logits = true}});
  return model;
}

const Tensor x = numbers({20, 4}, 3), y = classes(20, 3);

FitOptions options_in(const TemporaryFolder& folder, std::int64_t epochs = 4) {
  FitOptions options;
  options.batch_size = 5;
  options.epochs = epochs;
  options.verbose = "none";
  options.validation_split = 0.2;
  options.checkpoint = {.directory = folder.path(), .every = {"1 epoch"}};
  return options;
}

std::vector<std::string> files(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& name : list_dir(folder.path()))
    if (name.ends_with(".h5")) names.push_back(name);
  return names;
}

using callbacks::filled_in;
using Names = std::vector<std::string>;

void flip_a_bit(const std::string& file) {
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  write_file(file, bytes);
}

}  // namespace

TEST_CASE("the newest files and the best stay") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder, 6);
  options.checkpoint.keep = 2;
  options.checkpoint.best = "loss";
  Model model = small();
  const History history = model.fit(x, y, options);
  CHECK(files(folder) == Names{"best.h5", "checkpoint-20.h5", "checkpoint-24.h5"});
  const Snapshot best = read_checkpoint(folder / "best.h5");
  const auto& losses = history["loss"];
  const auto lowest = std::min_element(losses.begin(), losses.end()) - losses.begin();
  CHECK(best.record.best.epoch == lowest);
  CHECK(best.record.best.value == losses[static_cast<std::size_t>(lowest)]);
  CHECK(best.record.figures.at("loss") == losses[static_cast<std::size_t>(lowest)]);
}

TEST_CASE("a figure that the run does not have is refused before it begins") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder);
  options.checkpoint.best = "val_los";
  CHECK(message_of([&] { (void)small().fit(x, y, options); }) ==
        "checkpoint: best names the figure 'val_los', which this run does not have; it has loss and val_loss; did you "
        "mean "
        "'val_loss'?");
}

TEST_CASE("intervals are steps, epochs and times, whichever comes first") {
  CHECK(read_interval("500 steps").amount == 500);
  CHECK(read_interval("step").unit == Interval::Unit::steps);
  CHECK(read_interval("1.5 h").amount == 5400);
  CHECK(read_interval("10 min").unit == Interval::Unit::seconds);
  CHECK(message_of([] { (void)read_interval("500"); }) ==
        "checkpoint: every '500': '500' is no unit; write 500 steps, 2 epochs or 10 min");
  CHECK(message_of([] { (void)read_interval("2 epocs"); }) ==
        "checkpoint: every '2 epocs': 'epocs' is no unit; did you mean 'epoch'?; write 500 steps, 2 epochs or 10 min");
  CHECK(message_of([] { (void)read_interval("0 steps"); }) ==
        "checkpoint: every '0 steps': the amount must be positive; write 500 steps, 2 epochs or 10 min");
  CHECK(message_of([] { (void)read_interval("1.5 steps"); }) ==
        "checkpoint: every '1.5 steps': the amount must be positive and whole; write 500 steps, 2 epochs or 10 min");
  const TemporaryFolder folder;
  FitOptions options = options_in(folder, 2);
  options.checkpoint = {.directory = folder.path(), .every = {"3 steps", "1 epoch"}, .keep = 100, .best = "none"};
  (void)small().fit(x, y, options);
  // Four steps an epoch: 3, then the epoch's end at 4, 7 and 8.
  CHECK(files(folder) == Names{"checkpoint-3.h5", "checkpoint-4.h5", "checkpoint-7.h5", "checkpoint-8.h5"});
}

TEST_CASE("a finished run begins nothing, and more epochs go on from it") {
  const TemporaryFolder folder, other;
  Model model = small();
  (void)model.fit(x, y, options_in(folder, 2));
  Model again = small();
  const History history = again.fit(x, y, options_in(folder, 2));
  CHECK(history.epoch == std::vector<std::int64_t>{0, 1});
  CHECK(off(copied(model), copied(again)).first == 0);
  Model longer = small(), uncut = small();
  const History more = longer.fit(x, y, options_in(folder, 5));
  const History whole = uncut.fit(x, y, options_in(other, 5));
  CHECK(more.figures == whole.figures);
  CHECK(off(copied(longer), copied(uncut)).first == 0);
}

TEST_CASE("a damaged newest file is passed over with the one before; none whole is an error") {
  const TemporaryFolder folder, other;
  (void)small().fit(x, y, options_in(folder, 3));
  flip_a_bit(folder / "checkpoint-12.h5");
  Model model = small(), uncut = small();
  const History history = model.fit(x, y, options_in(folder, 3));
  const History whole = uncut.fit(x, y, options_in(other, 3));
  CHECK(history.figures == whole.figures);
  CHECK(off(copied(model), copied(uncut)).first == 0);
  CHECK(exists(folder / "replaced/checkpoint-12.h5"));
  for (const auto& name : files(folder)) flip_a_bit(folder / name);
  const std::string said = message_of([&] { (void)small().fit(x, y, options_in(folder, 3)); });
  CHECK(said.find(folder.path() + ": has 3 checkpoints and none is whole; --fresh begins anew\n") == 0);
}

TEST_CASE("resume: never begins anew and keeps what was there for once") {
  const TemporaryFolder folder;
  (void)small().fit(x, y, options_in(folder, 2));
  FitOptions options = options_in(folder, 1);
  options.checkpoint.resume = "never";
  const History history = small().fit(x, y, options);
  CHECK(history.epoch.size() == 1);
  CHECK(exists(folder / "replaced/checkpoint-8.h5"));
  CHECK(exists(folder / "checkpoint-4.h5"));
  CHECK(!exists(folder / "checkpoint-8.h5"));
}

TEST_CASE("a run goes on from a file that is named") {
  const TemporaryFolder folder, other;
  FitOptions options = options_in(folder, 4);
  options.checkpoint.keep = 10;
  Model uncut = small(), model = small();
  const History whole = uncut.fit(x, y, options);
  options.checkpoint.resume = folder / "checkpoint-8.h5";
  const History history = model.fit(x, y, options);
  CHECK(history.figures == whole.figures);
  CHECK(off(copied(model), copied(uncut)).first == 0);
  options.checkpoint.resume = folder / "nothing.h5";
  CHECK(message_of([&] { (void)small().fit(x, y, options); }) ==
        "checkpoint: resume names " + folder / "nothing.h5" + ", which does not exist");
}

TEST_CASE("changes of what declares the run are listed, and refused where they change the mathematics") {
  const TemporaryFolder folder;
  (void)small().fit(x, y, options_in(folder, 2));
  FitOptions options = options_in(folder, 3);
  const std::string file = folder / "checkpoint-8.h5";
  CHECK(message_of([&] { (void)small(0.5).fit(x, y, options); }) ==
        file +
            ": was made by a run with other settings:\n  compile.optimizer.Adam.learning_rate: 0.1 -> 0.5\n"
            "  --allow KEY takes a change, --fresh begins anew");
  options.batch_size = 4;
  CHECK(message_of([&] { (void)small().fit(x, y, options); }).find("\n  fit.batch_size: 5 -> 4\n") !=
        std::string::npos);
  options = options_in(folder, 3);
  CHECK(message_of([&] { (void)small(0.1, 7).fit(x, y, options); }).find("\n  model.fc1.layer.Dense.units: 6 -> 7\n") !=
        std::string::npos);
  options.checkpoint.allow = {"compile.optimizer"};
  Model model = small(0.5);
  (void)model.fit(x, y, options);
  CHECK(model.weight("optimizer/learning_rate").to_doubles()[0] == doctest::Approx(0.5));
}

TEST_CASE("data that lies elsewhere is the same data") {
  auto at = [](const char* folder) { return parse_flow(cat("{data: {train: {IDX: {directory: ", folder, "}}}}")); };
  const Changes changes = changes_between(at("/a"), at("/b"), {});
  CHECK(changes.refused.empty());
  CHECK(changes.accepted == Names{"data.train.IDX.directory: /a -> /b"});
}

TEST_CASE("other data is refused by its rows") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder, 2);
  options.checkpoint.config = Config(Config::Map{{"seed", Config(1)}});
  (void)small().fit(x, y, options);
  options.epochs = 3;
  CHECK(message_of([&] {
          (void)small().fit(numbers({40, 4}, 1), classes(40, 3), options);
        }) == folder / "checkpoint-8.h5" +
                  ": was trained on 16 rows, the data now has 32; the order of an epoch would be another");
}

TEST_CASE("files that are no checkpoints are told from those that are damaged") {
  const TemporaryFolder folder;
  Model model = small();
  model.save_weights(folder / "m.weights.h5");
  CHECK(message_of([&] { (void)read_checkpoint(folder / "m.weights.h5"); }) ==
        folder / "m.weights.h5" +
            ": holds weights only; training cannot go on from it. initial_weights begins with them");
  write_file(folder / "text.h5", "no HDF5");
  CHECK(message_of([&] { (void)read_checkpoint(folder / "text.h5"); }) ==
        folder / "text.h5" + ": is no checkpoint of strata; initial_weights and load_weights take weights from it");
}

TEST_CASE("a checkpoint's weights load as weights") {
  const TemporaryFolder folder;
  Model model = small(), other = small();
  (void)model.fit(x, y, options_in(folder, 1));
  other.load_weights(folder / "checkpoint-4.h5");
  CHECK(off(copied(model), copied(other)).first == 0);
}

TEST_CASE("a signal stops with a checkpoint, or is left alone") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder);
  options.callbacks = {LambdaCallback{.on_step_end = [](Training& t) {
    if (t.epoch() == 1 && t.step() == 2) std::raise(SIGUSR1);
  }}};
  try {
    (void)small().fit(x, y, options);
    FAIL("not stopped");
  } catch (const Stopped& stopped) {
    CHECK(stopped.signal == SIGUSR1);
    CHECK(stopped.file == folder / "checkpoint-6.h5");
    CHECK(std::string(stopped.what()) == "stopped by User defined signal 1 at step 2 of epoch 2; saved in " +
                                             folder / "checkpoint-6.h5" + ": the same command goes on from there");
  }
  options.checkpoint.on_signal = "ignore";
  options.checkpoint.resume = "never";
  static int caught = 0;
  std::signal(SIGUSR1, [](int) { ++caught; });
  CHECK(small().fit(x, y, options).epoch.size() == 4);
  std::signal(SIGUSR1, SIG_DFL);
  CHECK(caught == 1);
}

TEST_CASE("a second trainer on the directory is refused") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder);
  std::string said;
  options.callbacks = {LambdaCallback{.on_step_end = [&](Training& t) {
    if (t.epoch() == 0 && t.step() == 1) said = message_of([&] { (void)small().fit(x, y, options_in(folder)); });
  }}};
  (void)small().fit(x, y, options);
  CHECK(said.find(folder.path() + ": is in use by") == 0);
}

TEST_CASE("a checkpoint that cannot be written is said; training goes on and the older ones stay") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder, 4);
  set_file_fault([&](std::string_view call, const std::string& path) {
    const bool full =
        path.find("checkpoint-8.h5") != std::string::npos || path.find("checkpoint-12.h5") != std::string::npos;
    return full && call == "write" ? ENOSPC : 0;
  });
  Model model = small();
  CHECK(model.fit(x, y, options).epoch.size() == 4);
  set_file_fault({});
  CHECK(files(folder) == Names{"best.h5", "checkpoint-16.h5", "checkpoint-4.h5"});
  // The last one must be written.
  set_file_fault([&](std::string_view call, const std::string& path) {
    return call == "write" && path.find(".h5.tmp.") != std::string::npos ? ENOSPC : 0;
  });
  options.checkpoint.resume = "never";
  options.callbacks.clear();
  CHECK(message_of([&] { (void)small().fit(x, y, options); }).find("the last checkpoint could not be written") !=
        std::string::npos);
  set_file_fault({});
}

TEST_CASE("what a broken-off save left behind is removed") {
  const TemporaryFolder folder;
  write_file(folder / "checkpoint-9.h5.tmp.123", "half");
  (void)small().fit(x, y, options_in(folder, 1));
  CHECK(!exists(folder / "checkpoint-9.h5.tmp.123"));
}

TEST_CASE("Keras's words for it: ModelCheckpoint and BackupAndRestore") {
  const TemporaryFolder folder;
  FitOptions options = options_in(folder, 3);
  options.checkpoint = {};
  options.callbacks = {
      ModelCheckpoint{.filepath = folder / "best.weights.h5", .save_best_only = true, .save_weights_only = true},
      ModelCheckpoint{.filepath = folder / "e{epoch:02d}-{val_loss:.1f}.h5"},
      ModelCheckpoint{.filepath = folder / "b{batch}.weights.h5", .save_weights_only = true, .save_freq = "3"}};
  Model model = small();
  const History history = model.fit(x, y, options);
  const auto names = files(folder);
  CHECK(std::count_if(names.begin(), names.end(), [](auto& n) { return n.starts_with("e0"); }) == 3);
  CHECK(exists(folder / "b3.weights.h5"));
  CHECK(exists(folder / "b1.weights.h5"));  // the ninth of all is the first of epoch 3
  Model other = small();
  other.load_weights(folder / "best.weights.h5");
  CHECK(filled_in("{epoch}", 1, 2, {}) == "1");
  CHECK(filled_in("a{epoch:03d}b{loss:.3f}", 7, 2, {{"loss", 0.5}}) == "a007b0.500");
  CHECK(message_of([] {
          (void)filled_in("{los}", 1, 2, {{"loss", 0.5}});
        }) == "'{los}': there is no figure 'los'; did you mean 'loss'?; there are epoch, batch and loss");
  CHECK(message_of([] { (void)filled_in("{epoch:%n}", 1, 2, {}); }) ==
        "'{epoch:%n}': the format '%n' is not understood; write {epoch:02d} or {epoch:.2f}");

  const TemporaryFolder backup;
  options = options_in(backup, 3);
  options.checkpoint = {};
  options.callbacks = {BackupAndRestore{.backup_dir = backup.path(), .save_freq = "2"},
                       LambdaCallback{.on_step_end = [](Training& t) {
                         if (t.epoch() == 1 && t.step() == 3) throw RunFailed("power cut");
                       }}};
  CHECK_THROWS(small().fit(x, y, options));
  CHECK(exists(backup / "checkpoint-6.h5"));
  options.callbacks.pop_back();
  Model resumed = small();
  CHECK(resumed.fit(x, y, options).figures == history.figures);
  CHECK(off(copied(model), copied(resumed)).first == 0);
  CHECK(files(backup).empty());
}

}  // namespace strata::test
