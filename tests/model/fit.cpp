// SPDX-License-Identifier: Apache-2.0
// fit: which rows come when, what is measured on which, and what stands in the History.
#include <doctest/doctest.h>

#include <cmath>

#include "core/epoch_order.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

using Numbered = std::vector<std::int64_t>;
using Epochs = std::vector<std::vector<Numbered>>;  // by epoch and batch

// A model that answers 0 to everything, and targets that are powers of two: a sum of absolute errors tells its rows.
struct Tracing {
  Sequential model{{1}, {Dense{.units = 1, .use_bias = false, .kernel_initializer = "zeros"}}};
  explicit Tracing(MetricList metrics = {}) {
    model.compile({.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}, .metrics = metrics});
  }
  static Tensor zeros(std::int64_t rows) { return Tensor(Type{{rows, 1}, DType::float32}); }
  static Tensor powers(std::int64_t rows, std::int64_t first = 0) {
    std::vector<double> values;
    for (std::int64_t r = 0; r < rows; ++r) values.push_back(std::pow(2.0, static_cast<double>(first + r)));
    return Tensor::from_doubles({{rows, 1}, DType::float32}, values);
  }
};

Numbered rows_in(double sum) {
  Numbered rows;
  auto bits = static_cast<std::uint64_t>(std::llround(sum));
  for (std::int64_t r = 0; bits; ++r, bits >>= 1)
    if (bits & 1) rows.push_back(r);
  return rows;
}

struct Seen {
  Epochs epochs;
  History history;
};

// Trains on `rows` rows and gives each batch's.
Seen seen(FitOptions options, std::int64_t rows) {
  Seen result;
  double sum = 0, count = 0;
  options.verbose = "none";
  options.callbacks.push_back(LambdaCallback{
      .on_epoch_begin =
          [&](Training&) {
            result.epochs.emplace_back();
            sum = count = 0;
          },
      .on_step_end =
          [&](Training& t) {
            // The running mean times the rows so far is the sum so far: the count that makes it whole is found by trial.
            const double mean = t.figures().at("loss");
            for (double more = 1; more <= static_cast<double>(options.batch_size); ++more) {
              const double total = mean * (count + more), whole = std::round(total);
              const Numbered here = rows_in(whole - sum);
              if (std::abs(total - whole) > 1e-3 || whole < sum || here.size() != static_cast<std::size_t>(more))
                continue;
              count += more;
              sum = whole;
              result.epochs.back().push_back(here);
              return;
            }
            FAIL("no batch has the mean " << mean);
          }});
  Tracing tracing;
  result.history = tracing.model.fit(Tracing::zeros(rows), Tracing::powers(rows), options);
  return result;
}

std::vector<Numbered> in_order(std::int64_t rows, std::int64_t batch) {
  std::vector<Numbered> batches;
  for (std::int64_t begin = 0; begin < rows; begin += batch) {
    batches.emplace_back();
    for (std::int64_t r = begin; r < std::min(rows, begin + batch); ++r) batches.back().push_back(r);
  }
  return batches;
}

std::vector<Numbered> shuffled(std::int64_t rows, std::int64_t batch, std::int64_t seed, std::int64_t epoch) {
  const EpochOrder order(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(epoch),
                         static_cast<std::uint64_t>(rows));
  std::vector<Numbered> batches = in_order(rows, batch);
  for (auto& rows_of : batches) {
    for (auto& row : rows_of) row = static_cast<std::int64_t>(order.at(static_cast<std::uint64_t>(row)));
    std::sort(rows_of.begin(), rows_of.end());
  }
  return batches;
}

}  // namespace

TEST_CASE("without shuffling an epoch is the rows in order, the last batch what is left") {
  const Seen run = seen({.batch_size = 4, .epochs = 2, .shuffle = false}, 10);
  REQUIRE(run.epochs.size() == 2);
  for (const auto& epoch : run.epochs) CHECK(epoch == in_order(10, 4));
  // More to a batch than there are rows: one batch of all.
  CHECK(seen({.batch_size = 64, .shuffle = false}, 10).epochs == Epochs{in_order(10, 10)});
}

TEST_CASE("with shuffling every epoch is the order that seed and epoch make, whenever it is trained") {
  const Seen run = seen({.batch_size = 4, .epochs = 3, .seed = 7}, 10);
  REQUIRE(run.epochs.size() == 3);
  for (std::int64_t e = 0; e < 3; ++e) CHECK(run.epochs[static_cast<std::size_t>(e)] == shuffled(10, 4, 7, e));
  CHECK(run.epochs[0] != run.epochs[1]);
  const Seen later = seen({.batch_size = 4, .epochs = 3, .initial_epoch = 2, .seed = 7}, 10);
  CHECK(later.epochs == Epochs{run.epochs[2]});
  CHECK(seen({.batch_size = 4, .seed = 8}, 10).epochs[0] != run.epochs[0]);
}

TEST_CASE("epochs is the index to stop before, and the history's epochs count from 0") {
  CHECK(seen({.epochs = 3}, 4).history.epoch == std::vector<std::int64_t>{0, 1, 2});
  CHECK(seen({.epochs = 5, .initial_epoch = 3}, 4).history.epoch == std::vector<std::int64_t>{3, 4});
  const History none = seen({.epochs = 2, .initial_epoch = 2}, 4).history;
  CHECK(none.epoch.empty());
  CHECK(none.figures.empty());
}

TEST_CASE("the loss of an epoch is the mean over rows, not over batches: Keras's 4, 4, 2") {
  // Errors 1 … 512; batches of 4, 4 and 2 rows.
  const History history = seen({.batch_size = 4, .shuffle = false}, 10).history;
  CHECK(history["loss"] == std::vector<double>{1023 / 10.0});
  CHECK(history.figures.size() == 1);
}

TEST_CASE("with steps_per_epoch the next epoch goes on where the last stopped") {
  const Seen run = seen({.batch_size = 2, .epochs = 3, .shuffle = false, .steps_per_epoch = 2}, 12);
  const auto all = in_order(12, 2);
  CHECK(run.epochs == Epochs{{all[0], all[1]}, {all[2], all[3]}, {all[4], all[5]}});
}

TEST_CASE("data that ends with an epoch begins anew with the next, shuffled anew") {
  const Seen run = seen({.batch_size = 4, .epochs = 4, .steps_per_epoch = 2, .seed = 3}, 16);
  const auto first = shuffled(16, 4, 3, 0), second = shuffled(16, 4, 3, 1);
  CHECK(run.epochs ==
        Epochs{{first[0], first[1]}, {first[2], first[3]}, {second[0], second[1]}, {second[2], second[3]}});
}

TEST_CASE("data that ends within an epoch ends it; the next epoch begins anew") {
  const Seen run = seen({.batch_size = 4, .epochs = 3, .shuffle = false, .steps_per_epoch = 2}, 12);
  const auto all = in_order(12, 4);
  CHECK(run.epochs == Epochs{{all[0], all[1]}, {all[2]}, {all[0], all[1]}});
}

TEST_CASE("validation_split takes the tail of the data as it lies, whether shuffled or not") {
  for (const bool shuffle : {false, true}) {
    const Seen run = seen({.batch_size = 4, .validation_split = 0.25, .shuffle = shuffle}, 12);
    Numbered trained;
    for (const auto& batch : run.epochs[0]) trained.insert(trained.end(), batch.begin(), batch.end());
    std::sort(trained.begin(), trained.end());
    CHECK(trained == Numbered{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(run.history["val_loss"] == std::vector<double>{(512 + 1024 + 2048) / 3.0});
  }
  // floor(n (1 - s)) rows train, as in Keras.
  CHECK(seen({.validation_split = 0.3}, 5).epochs[0][0] == Numbered{0, 1, 2});
}

TEST_CASE("validation data is what is measured, in its own batches, and a split beside it is not taken") {
  for (const std::int64_t batch : {2, 3, 5, 64}) {
    Tracing tracing({"mae"});
    const History history =
        tracing.model.fit(Tracing::zeros(6), Tracing::powers(6),
                          {.batch_size = 4,
                           .verbose = "none",
                           .validation_split = 0.5,
                           .validation_data = Arrays{.x = {Tracing::zeros(5)}, .y = {Tracing::powers(5, 2)}},
                           .validation_batch_size = batch});
    CHECK(history["loss"] == std::vector<double>{63 / 6.0});
    CHECK(history["val_loss"][0] == doctest::Approx((4 + 8 + 16 + 32 + 64) / 5.0).epsilon(1e-6));
    CHECK(history.figures.size() == 4);
    CHECK(history.figures.count("val_mean_absolute_error") + history.figures.count("val_mae") == 1);
  }
}

TEST_CASE("validation_steps takes the first batches only") {
  Tracing tracing;
  const History history =
      tracing.model.fit(Tracing::zeros(4), Tracing::powers(4),
                        {.verbose = "none",
                         .validation_data = Arrays{.x = {Tracing::zeros(6)}, .y = {Tracing::powers(6)}},
                         .validation_steps = 2,
                         .validation_batch_size = 2});
  CHECK(history["val_loss"] == std::vector<double>{15 / 4.0});
}

TEST_CASE("validation_freq validates after every so many epochs; the history has as many figures") {
  const auto figures = [](std::int64_t freq, std::int64_t initial) {
    const History history =
        seen({.epochs = 7, .validation_split = 0.5, .initial_epoch = initial, .validation_freq = freq}, 4).history;
    return std::pair(history["loss"].size(), history.figures.count("val_loss") ? history["val_loss"].size() : 0);
  };
  CHECK(figures(1, 0) == std::pair<std::size_t, std::size_t>{7, 7});
  CHECK(figures(2, 0) == std::pair<std::size_t, std::size_t>{7, 3});
  CHECK(figures(3, 0) == std::pair<std::size_t, std::size_t>{7, 2});
  CHECK(figures(3, 4) == std::pair<std::size_t, std::size_t>{3, 1});  // the absolute epoch counts
  CHECK(figures(8, 0) == std::pair<std::size_t, std::size_t>{7, 0});
}

TEST_CASE("validation leaves the figures of training as they were") {
  Tracing tracing;
  std::vector<std::pair<std::string, Figures>> shown;
  const auto note = [&](const char* when) {
    return [&shown, when](Training& t) { shown.emplace_back(when, t.figures()); };
  };
  const History history = tracing.model.fit(Tracing::zeros(8), Tracing::powers(8),
                                            {.batch_size = 4,
                                             .verbose = "none",
                                             .callbacks = {LambdaCallback{.on_epoch_end = note("end"),
                                                                          .on_step_end = note("step"),
                                                                          .on_validation_begin = note("before"),
                                                                          .on_validation_end = note("after")}},
                                             .validation_split = 0.25,
                                             .shuffle = false});
  const double first = 15 / 4.0, all = 63 / 6.0, tail = (64 + 128) / 2.0;
  CHECK(shown == std::vector<std::pair<std::string, Figures>>{{"step", {{"loss", first}}},
                                                              {"step", {{"loss", all}}},
                                                              {"before", {{"loss", all}}},
                                                              {"after", {{"loss", all}, {"val_loss", tail}}},
                                                              {"end", {{"loss", all}, {"val_loss", tail}}}});
  CHECK(history["val_loss"] == std::vector<double>{tail});
}

TEST_CASE("what a callback logs stands in the history, whenever it was logged in the epoch") {
  Tracing tracing;
  const History history =
      tracing.model.fit(Tracing::zeros(8), Tracing::powers(8),
                        {.batch_size = 4,
                         .verbose = "none",
                         .callbacks = {LambdaCallback{.on_epoch_begin = [](Training& t) { t.log("begun", 1); },
                                                      .on_step_end = [](Training& t) { t.log("stepped", 2); },
                                                      .on_validation_begin = [](Training& t) { t.log("before", 3); },
                                                      .on_validation_end = [](Training& t) { t.log("after", 4); }},
                                       LambdaCallback{.on_epoch_end = [](Training& t) { t.log("ended", 5); }}},
                         .validation_split = 0.5});
  for (const auto& [name, value] :
       std::map<std::string, double>{{"begun", 1}, {"stepped", 2}, {"before", 3}, {"after", 4}, {"ended", 5}}) {
    CAPTURE(name);
    CHECK(history.figures.count(name));
    if (history.figures.count(name)) CHECK(history[name] == std::vector<double>{value});
  }
}

TEST_CASE("a callback that stops ends the epoch after the step under way, which is validated and counted") {
  const Seen run = seen({.batch_size = 2,
                         .epochs = 5,
                         .callbacks = {LambdaCallback{.on_step_end =
                                                          [](Training& t) {
                                                            if (t.epoch() == 1 && t.step() == 2) t.stop("enough");
                                                          }}},
                         .validation_split = 0.2,
                         .shuffle = false},
                        10);
  REQUIRE(run.epochs.size() == 2);
  CHECK(run.epochs[0].size() == 4);
  CHECK(run.epochs[1].size() == 2);
  CHECK(run.history.epoch == std::vector<std::int64_t>{0, 1});
  CHECK(run.history["val_loss"].size() == 2);
}

TEST_CASE("a training tells callbacks where it is: steps, updates, epochs, the history so far") {
  Tracing tracing;
  std::vector<std::string> told;
  const auto tell = [&](Training& t) {
    told.push_back(cat(t.epoch(), "/", t.epochs(), " ", t.step(), "/", t.steps(), " ", t.updates(), " ",
                       t.history().epoch.size()));
  };
  tracing.model.fit(Tracing::zeros(5), Tracing::powers(5),
                    {.batch_size = 3,
                     .epochs = 2,
                     .verbose = "none",
                     .callbacks = {LambdaCallback{.on_fit_begin = tell,
                                                  .on_fit_end = tell,
                                                  .on_epoch_begin = tell,
                                                  .on_epoch_end = tell,
                                                  .on_step_end = tell}}});
  CHECK(told == std::vector<std::string>{"0/2 0/2 0 0", "0/2 0/2 0 0", "0/2 1/2 1 0", "0/2 2/2 2 0", "0/2 2/2 2 0",
                                         "1/2 0/2 2 1", "1/2 1/2 3 1", "1/2 2/2 4 1", "1/2 2/2 4 1", "2/2 2/2 4 2"});
}

TEST_CASE("class weights weigh each row by its class, and the divisor stays the count of rows") {
  const Tensor x = numbers({6, 3}, 1), y = Tensor({6}, std::vector<std::int32_t>{0, 1, 2, 2, 1, 0});
  const auto fitted = [&](const Tensor& labels, bool by_class) {
    Sequential model({3}, {named("d", Dense{.units = 3, .kernel_initializer = "zeros"})});
    model.compile({.optimizer = SGD{.learning_rate = 1.0},
                   .loss = labels.shape().rank() == 1 ? Loss(losses::SparseCategoricalCrossentropy{.from_logits = true})
                                                      : Loss(losses::CategoricalCrossentropy{.from_logits = true}),
                   .metrics = {"accuracy"},
                   .weighted_metrics = {"accuracy"}});
    FitOptions options{.batch_size = 4, .epochs = 2, .verbose = "none"};
    Arrays data{.x = {x}, .y = {labels}};
    if (by_class) options.class_weight = {{1, 3.0}, {2, 0.5}};  // others weigh 1
    else data.sample_weight = Tensor({6}, std::vector<float>{1, 3, 0.5, 0.5, 3, 1});
    const History history = model.fit(data, options);
    return std::pair(model.weights_by_path(), history.figures);
  };
  const auto by_class = fitted(y, true), by_row = fitted(y, false);
  CHECK(off(by_class.first, by_row.first).first == 0);
  CHECK(by_class.second == by_row.second);
  CHECK(by_class.second.size() == 3);
  // One-hot targets give the class, too.
  std::vector<float> hot(18, 0);
  for (std::size_t r = 0; r < 6; ++r) hot[r * 3 + static_cast<std::size_t>(y.as<std::int32_t>()[r])] = 1;
  const auto one_hot = fitted(Tensor({6, 3}, hot), true);
  CHECK(off(one_hot.first, by_class.first).first < 1e-6);
  // The first epoch's loss at zero weights: the mean of weight * ln 3 over the rows of the first batch, and so on.
  Sequential still({3}, {Dense{.units = 3, .kernel_initializer = "zeros"}});
  still.compile(
      {.optimizer = SGD{.learning_rate = 0.0}, .loss = losses::SparseCategoricalCrossentropy{.from_logits = true}});
  const History history = still.fit(x, y, {.batch_size = 4, .verbose = "none", .class_weight = {{1, 3.0}, {2, 0.5}}});
  CHECK(history["loss"][0] == doctest::Approx(std::log(3.0) * (1 + 3 + 0.5 + 0.5 + 3 + 1) / 6).epsilon(1e-6));
}

TEST_CASE("a split takes sample weights with the rows they belong to") {
  Tracing tracing;
  const History history = tracing.model.fit(Arrays{.x = {Tracing::zeros(4)},
                                                   .y = {Tracing::powers(4)},
                                                   .sample_weight = Tensor({4}, std::vector<float>{1, 2, 3, 5})},
                                            {.batch_size = 4, .verbose = "none", .validation_split = 0.5});
  CHECK(history["loss"] == std::vector<double>{(1 + 4) / 2.0});
  CHECK(history["val_loss"] == std::vector<double>{(12 + 40) / 2.0});
}

TEST_CASE("wrong options are said before anything is done, with both values") {
  Tracing tracing;
  const auto said = [&](const FitOptions& options) {
    FitOptions quiet = options;
    if (quiet.verbose == "auto") quiet.verbose = "none";
    return message_of([&] { tracing.model.fit(Tracing::zeros(4), Tracing::powers(4), quiet); });
  };
  CHECK(said({.batch_size = 0}) == "fit: batch_size must be at least 1, got 0");
  CHECK(said({.epochs = -1}) == "fit: epochs must be at least 0, got -1");
  CHECK(said({.initial_epoch = -2}) == "fit: initial_epoch must be at least 0, got -2");
  CHECK(said({.validation_freq = 0}) == "fit: validation_freq must be at least 1, got 0");
  CHECK(said({.micro_batches = 0}) == "fit: micro_batches must be at least 1, got 0");
  CHECK(said({.steps_per_epoch = 0}) == "fit: steps_per_epoch must be at least 1, got 0");
  CHECK(said({.validation_steps = 0}) == "fit: validation_steps must be at least 1, got 0");
  CHECK(said({.validation_batch_size = 0}) == "fit: validation_batch_size must be at least 1, got 0");
  CHECK(said({.validation_split = 1}) == "fit: validation_split must be at least 0 and below 1, got 1");
  CHECK(said({.validation_split = 0.1}) == "(no error)");  // 3 rows train
  CHECK(said({.validation_split = 0.9}) == "validation_split 0.9 of 4 rows leaves 0 to train on and 4 to validate");
  CHECK(said({.verbose = "lines"}) ==
        "ProgressBar: 'verbose' must be one of auto, bar, line or none, got lines; did you mean 'line'?");
  CHECK(said({.callbacks = {EarlyStopping{.patience = -1}}}).find("'patience' must be at least 0, got -1") !=
        std::string::npos);
  CHECK(said({.validation_data = Arrays{.x = {Tracing::zeros(0)}, .y = {Tracing::powers(0)}}}) ==
        "the validation data has no rows");
  CHECK(message_of([&] { tracing.model.fit(Tracing::zeros(0), Tracing::powers(0), {.verbose = "none"}); }) ==
        "the training data has no rows");
}
