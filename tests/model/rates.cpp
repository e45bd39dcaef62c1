// SPDX-License-Identifier: Apache-2.0
// The learning rate is a state: what sets it changes the next step and makes no new plan.
#include <doctest/doctest.h>

#include "model/core.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

constexpr const char* rate = "optimizer/learning_rate";

Sequential line(Optimizer optimizer) {
  Sequential model({2}, {named("d", Dense{.units = 1, .use_bias = false, .kernel_initializer = "zeros"})});
  model.compile({.optimizer = std::move(optimizer), .loss = losses::MeanSquaredError{}, .precision = "float64"});
  return model;
}

const Tensor x({4, 2}, std::vector<double>{1, 0, 0, 1, 1, 1, 2, -1});
const Tensor y({4, 1}, std::vector<double>{1, 2, 3, 0});

// How far each step went, relative to its gradient: the rate it was taken with.
struct Rates {
  std::vector<double> seen;
  Tensor before;
  void look(Model& model) {
    const Tensor now = model.weight("d/kernel");
    if (before) {
      // The gradient of mean squared error at `before`.
      const auto k = before.to_doubles(), n = now.to_doubles(), xs = x.to_doubles(), ys = y.to_doubles();
      double g0 = 0;
      for (std::size_t r = 0; r < 4; ++r) g0 += 2 * (k[0] * xs[2 * r] + k[1] * xs[2 * r + 1] - ys[r]) * xs[2 * r] / 4;
      seen.push_back((k[0] - n[0]) / g0);
    }
    before = now;
  }
};

}  // namespace

TEST_CASE("a rate that a callback sets is the next step's, without a new plan") {
  Sequential model = line(SGD{.learning_rate = 0.1});
  Rates rates;
  std::size_t plans = 0;
  const Callback callback = LambdaCallback{.on_fit_begin =
                                               [&](Training&) {
                                                 rates.look(model);
                                                 plans = model.core().train_plans.size();
                                               },
                                           .on_step_end =
                                               [&](Training& t) {
                                                 rates.look(model);
                                                 CHECK(t.value(rate) == doctest::Approx(0.1 / (1 << t.epoch())));
                                                 t.set(rate, t.value(rate) / 2);
                                               }};
  model.fit(x, y, {.batch_size = 4, .epochs = 4, .verbose = "none", .callbacks = {callback}, .shuffle = false});
  REQUIRE(rates.seen.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(rates.seen[i] == doctest::Approx(0.1 / static_cast<double>(1 << i)));
  CHECK(plans == 1);
  CHECK(model.core().train_plans.size() == 1);
}

TEST_CASE("a rate that was set stays: in the next fit, in single steps, not in a new compile") {
  Sequential model = line(SGD{.learning_rate = 0.1});
  model.fit(
      x, y,
      {.verbose = "none", .callbacks = {LambdaCallback{.on_epoch_end = [](Training& t) { t.set(rate, 0.025); }}}});
  Rates rates;
  rates.look(model);
  model.fit(x, y, {.batch_size = 4, .verbose = "none"});
  rates.look(model);
  model.train_on_batch({x}, {y});
  rates.look(model);
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = losses::MeanSquaredError{}, .precision = "float64"});
  model.train_on_batch({x}, {y});
  rates.look(model);
  REQUIRE(rates.seen.size() == 3);
  CHECK(rates.seen[0] == doctest::Approx(0.025));
  CHECK(rates.seen[1] == doctest::Approx(0.025));
  CHECK(rates.seen[2] == doctest::Approx(0.1));
}

TEST_CASE("ReduceLROnPlateau lowers the rate of a training and writes each epoch's own into the history") {
  Sequential model = line(SGD{.learning_rate = 0.1});
  Rates rates;
  rates.look(model);
  const History history =
      model.fit(x, y,
                {.batch_size = 4,
                 .epochs = 5,
                 .verbose = "none",
                 .callbacks = {ReduceLROnPlateau{
                                   .monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 1e9, .min_lr = 0.02},
                               LambdaCallback{.on_step_end = [&](Training&) { rates.look(model); }}},
                 .shuffle = false});
  const std::vector<double> wanted{0.1, 0.1, 0.05, 0.025, 0.02};
  REQUIRE(rates.seen.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(rates.seen[i] == doctest::Approx(wanted[i]));
    CHECK(history["learning_rate"][i] == doctest::Approx(wanted[i]));
  }
}

TEST_CASE("replicas are all told of a new rate") {
  Sequential one = line(Adam{.learning_rate = 0.1}), two = line(Adam{.learning_rate = 0.1});
  two.compile({.optimizer = Adam{.learning_rate = 0.1},
               .loss = losses::MeanSquaredError{},
               .precision = "float64",
               .strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}})});
  const FitOptions options{.batch_size = 4,
                           .epochs = 3,
                           .verbose = "none",
                           .callbacks = {LambdaCallback{.on_epoch_end = [](Training& t) { t.set(rate, 0.01); }}}};
  one.fit(x, y, options);
  two.fit(x, y, options);
  CHECK(off(one.weight("d/kernel"), two.weight("d/kernel")) < 1e-12);
}

TEST_CASE("what a schedule rules is refused: read, set, and by ReduceLROnPlateau before the first step") {
  Sequential model = line(SGD{.learning_rate = CosineDecay{.initial_learning_rate = 0.1, .decay_steps = 10}});
  const std::string said =
      "optimizer/learning_rate follows the schedule CosineDecay and is no state that a callback reads or sets; give "
      "learning_rate a number";
  const Tensor before = model.weight("d/kernel");
  CHECK(message_of([&] { model.fit(x, y, {.verbose = "none", .callbacks = {ReduceLROnPlateau{}}}); }) == said);
  CHECK(off(model.weight("d/kernel"), before) == 0);
  CHECK(message_of([&] {
          model.fit(
              x, y,
              {.verbose = "none", .callbacks = {LambdaCallback{.on_epoch_end = [](Training& t) { t.set(rate, 1); }}}});
        }) == said);
}

TEST_CASE("a state that there is not, or that is no single number, is refused with the nearest name") {
  Sequential model = line(SGD{.learning_rate = 0.1});
  const auto said = [&](const std::string& path, bool set) {
    return message_of([&] {
      model.fit(x, y, {.verbose = "none", .callbacks = {LambdaCallback{.on_epoch_end = [&](Training& t) {
                                            if (set) t.set(path, 1);
                                            else (void)t.value(path);
                                          }}}});
    });
  };
  CHECK(said("optimizer/learning_rat", true) ==
        "there is no state 'optimizer/learning_rat'; did you mean 'optimizer/learning_rate'?");
  CHECK(said("d/kernel", true) == "state 'd/kernel' is float64[2, 1]; only single numbers can be set");
  CHECK(said("d/kernel", false) == "state 'd/kernel' is float64[2, 1]; only single numbers can be read");
}
