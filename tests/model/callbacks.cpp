// SPDX-License-Identifier: Apache-2.0
// Callbacks in real trainings: what they see, stop, restore and write is what was trained.
#include <doctest/doctest.h>

#include <cmath>
#include <iostream>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/temporary.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

Sequential net(double rate = 0.05) {
  Sequential model({4},
                   {named("hidden", Dense{.units = 6, .activation = "tanh"}), named("norm", BatchNormalization{}),
                    named("logits", Dense{.units = 3})},
                   "net");
  model.compile({.optimizer = Adam{.learning_rate = rate},
                 .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"}});
  return model;
}

const Tensor x = numbers({24, 4}, 1), y = classes(24, 3);

}  // namespace

TEST_CASE(
    "EarlyStopping ends a training where its figure stopped getting better, and gives the best epoch's weights back") {
  Sequential model = net(0.3);
  std::vector<std::map<std::string, Tensor>> after;
  const History history =
      model.fit(x, y,
                {.batch_size = 6,
                 .epochs = 60,
                 .verbose = "none",
                 .callbacks = {LambdaCallback{.on_epoch_end = [&](Training&) { after.push_back(copied(model)); }},
                               EarlyStopping{.patience = 4, .restore_best_weights = true}},
                 .validation_split = 0.25});
  const auto& losses = history["val_loss"];
  const auto best = static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  REQUIRE(losses.size() < 60);  // noise to learn: it overfits
  CHECK(losses.size() == best + 5);
  const auto left = model.weights_by_path();
  for (const auto& [path, value] : left) CHECK_MESSAGE(same_bits(value, after[best].at(path)), path);
  CHECK(off(left, after.back()).first > 1e-3);
  CHECK(left.count("norm/moving_mean") == 1);
  // What it measured then, it measures now.
  CHECK(model.evaluate(x.rows(18, 24), y.rows(18, 24)).at("loss") == doctest::Approx(losses[best]).epsilon(1e-5));
}

TEST_CASE("a metric knows which way is better: auto follows accuracy up") {
  Sequential model = net();
  bool asked = false;
  model.fit(x, y,
            {.epochs = 2,
             .verbose = "none",
             .callbacks = {LambdaCallback{.on_epoch_end =
                                              [&](Training& t) {
                                                asked = true;
                                                CHECK(t.direction("val_accuracy") == Direction::up);
                                                CHECK(t.direction("accuracy") == Direction::up);
                                                CHECK(t.direction("val_loss") == Direction::down);
                                                CHECK(t.direction("something") == Direction::unknown);
                                              }},
                           EarlyStopping{.monitor = "val_accuracy", .patience = 5}},
             .validation_split = 0.25});
  CHECK(asked);
}

TEST_CASE("CSVLogger's table is the history, column by column") {
  const TemporaryFolder folder;
  Sequential model = net();
  const History history = model.fit(x, y,
                                    {.batch_size = 8,
                                     .epochs = 3,
                                     .verbose = "none",
                                     .callbacks = {ReduceLROnPlateau{.patience = 1}, CSVLogger{}},
                                     .validation_split = 0.25,
                                     .directory = folder / "runs/one"});
  const auto rows = lines(read_file(folder / "runs/one/log.csv"));  // the folder was made
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == "epoch,accuracy,learning_rate,loss,val_accuracy,val_loss");
  const auto columns = split(rows[0], ',');
  for (std::size_t e = 0; e < 3; ++e) {
    const auto cells = split(rows[e + 1], ',');
    REQUIRE(cells.size() == columns.size());
    CHECK(cells[0] == to_text(e));
    for (std::size_t c = 1; c < cells.size(); ++c) CHECK(*read_number(cells[c]) == history[columns[c]][e]);
  }
}

TEST_CASE(
    "a loss that is no number fails the run in its step, with TerminateOnNaN or without; the model stays usable") {
  const auto trained = [](std::vector<Callback> callbacks) {
    Sequential model({1}, {Dense{.units = 1, .use_bias = false, .kernel_initializer = "ones"}});
    model.compile({.optimizer = SGD{.learning_rate = 1e30}, .loss = losses::MeanSquaredError{}});
    std::int64_t steps = 0;
    callbacks.insert(callbacks.begin(), LambdaCallback{.on_step_end = [&](Training&) { ++steps; }});
    const Tensor ones({8, 1}, std::vector<float>(8, 2));
    std::string said;
    try {
      model.fit(ones, Tensor({8, 1}, std::vector<float>(8, 0)),
                {.batch_size = 1, .epochs = 3, .verbose = "none", .callbacks = callbacks});
    } catch (const RunFailed& failed) {
      said = failed.what();
    }
    (void)model.predict(ones);
    return std::pair(steps, said);
  };
  const auto [all, said] = trained({});
  CHECK(all == 1);
  CHECK_MESSAGE(said.starts_with("step 2 (epoch 1): loss is inf; first in loss/"), said);
  CHECK(said.ends_with("; a smaller learning_rate, or clipnorm, usually cures this"));
  CHECK(trained({TerminateOnNaN{}}) == trained({}));
}

TEST_CASE("a callback that fails ends the training with its own words, and the model trains on") {
  Sequential model = net();
  CHECK(message_of([&] {
          model.fit(x, y,
                    {.epochs = 3, .verbose = "none", .callbacks = {LambdaCallback{.on_epoch_end = [](Training& t) {
                                                       if (t.epoch() == 1)
                                                         throw Error("the disk that I write to is gone");
                                                     }}}});
        }) == "the disk that I write to is gone");
  const double before = model.evaluate(x, y).at("loss");
  model.fit(x, y, {.epochs = 20, .verbose = "none"});
  CHECK(model.evaluate(x, y).at("loss") < before);
}

TEST_CASE("callbacks are called in their order, all of them, whoever stops") {
  Sequential model = net();
  std::string order;
  const auto add = [&](const char* what) { return [&order, what](Training&) { order += what; }; };
  model.fit(x, y,
            {.batch_size = 24,
             .epochs = 2,
             .verbose = "none",
             .callbacks = {LambdaCallback{.on_fit_begin = add("A"),
                                          .on_fit_end = add("a\n"),
                                          .on_epoch_begin = add("{"),
                                          .on_epoch_end =
                                              [&](Training& t) {
                                                order += "}";
                                                t.stop("done");
                                              },
                                          .on_step_end = add("s")},
                           LambdaCallback{.on_fit_begin = add("B"),
                                          .on_fit_end = add("b\n"),
                                          .on_epoch_begin = add("["),
                                          .on_epoch_end = add("]"),
                                          .on_step_end = add("t")}}});
  CHECK(order == "AB{[st}]a\nb\n");
}

TEST_CASE("fit shows its progress by itself, losses first, on stderr; nothing where verbose is none") {
  const auto shown = [](const char* verbose) {
    std::ostringstream text;
    auto* before = std::cerr.rdbuf(text.rdbuf());
    Sequential model = net();
    model.fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = verbose, .validation_split = 0.25});
    std::cerr.rdbuf(before);
    return text.str();
  };
  const auto rows = lines(shown("line"));
  REQUIRE(rows.size() == 2);
  for (std::size_t e = 0; e < 2; ++e) {
    CAPTURE(rows[e]);
    CHECK(rows[e].starts_with(cat("Epoch ", e + 1, "/2 - 3/3 - ")));
    std::size_t at = 0;
    for (const char* figure : {" - loss: ", " - accuracy: ", " - val_loss: ", " - val_accuracy: "}) {
      at = rows[e].find(figure, at);
      CHECK(at != std::string::npos);
    }
    CHECK(rows[e].find("nan") == std::string::npos);
  }
  CHECK(shown("none").empty());
  CHECK(shown("bar").find("\r") != std::string::npos);
}
