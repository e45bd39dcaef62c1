// SPDX-License-Identifier: Apache-2.0
// evaluate, predict and single batches: what they give, and that they change nothing they should not.
#include <doctest/doctest.h>

#include <cmath>

#include "model/core.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

// Something of everything that keeps a state: moving statistics, random numbers, an optimizer with slots, averages.
Sequential net() {
  return Sequential({4},
                    {named("hidden", Dense{.units = 5, .kernel_regularizer = L2{.l2 = 0.01}}),
                     named("norm", BatchNormalization{}), Dropout{.rate = 0.4}, named("logits", Dense{.units = 3})},
                    "net");
}

void compile(Model& model) {
  Optimizer optimizer = Adam{.learning_rate = 0.05};
  optimizer.common().use_ema = true;
  model.compile({.optimizer = optimizer,
                 .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"}});
}

std::map<std::string, Tensor> states(const Model& model) {
  std::map<std::string, Tensor> all;
  for (const auto& [path, _] : model.core().store.variables())
    if (!path.starts_with("metric/")) all[path] = model.core().store.read(path);
  return all;
}

const Tensor x = numbers({10, 4}, 1), y = classes(10, 3);

}  // namespace

TEST_CASE("evaluate and predict change no state but the metrics' own, and training goes on as if they had not been") {
  Sequential model = net(), other = net();
  for (Sequential* each : {&model, &other}) compile(*each);
  set_weights(other, model.weights_by_path());
  const FitOptions options{.batch_size = 4, .epochs = 1, .verbose = "none", .seed = 3};
  for (Sequential* each : {&model, &other}) each->fit(x, y, options);
  const auto before = states(model);
  CHECK(before.size() > 15);
  model.evaluate(x, y, {.batch_size = 3});
  model.test_on_batch({x}, {y});
  (void)model.predict(x, {.batch_size = 3});
  const auto after = states(model);
  REQUIRE(after.size() == before.size());
  for (const auto& [path, value] : before) CHECK_MESSAGE(same_bits(after.at(path), value), path);
  for (Sequential* each : {&model, &other}) each->fit(x, y, options);
  for (const auto& [path, value] : states(other)) CHECK_MESSAGE(same_bits(states(model).at(path), value), path);
}

TEST_CASE("evaluation is a mean over rows, whatever the batch, with penalties and without dropout") {
  Sequential model = net();
  compile(model);
  model.fit(x, y, {.batch_size = 4, .verbose = "none"});
  const Figures whole = model.evaluate(x, y, {.batch_size = 10});
  for (const std::int64_t batch : {1, 3, 4, 64}) {
    const Figures parts = model.evaluate(x, y, {.batch_size = batch});
    REQUIRE(parts.size() == 2);
    for (const auto& [name, value] : whole) CHECK(parts.at(name) == doctest::Approx(value).epsilon(1e-5));
  }
  CHECK(model.test_on_batch({x}, {y}) == whole);
  // By hand, from predictions.
  const auto logits = model.predict(x).to_doubles();
  const auto label = y.as<std::int32_t>();
  double loss = 0, right = 0;
  for (std::size_t r = 0; r < 10; ++r) {
    const double* row = &logits[r * 3];
    double sum = 0;
    for (int c = 0; c < 3; ++c) sum += std::exp(row[c]);
    loss += std::log(sum) - row[label[r]];
    right += std::max_element(row, row + 3) - row == label[r];
  }
  double squares = 0;
  for (const double k : model.weight("hidden/kernel").to_doubles()) squares += k * k;
  CHECK(whole.at("loss") == doctest::Approx(loss / 10 + 0.01 * squares).epsilon(1e-5));
  CHECK(whole.at("accuracy") == doctest::Approx(right / 10));
}

TEST_CASE("evaluation in steps takes the first batches; sample weights weigh, the divisor stays the count") {
  Sequential model({1}, {Dense{.units = 1, .use_bias = false, .kernel_initializer = "zeros"}});
  model.compile(
      {.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}, .metrics = {"mae"}, .weighted_metrics = {"mse"}});
  const Tensor zero(Type{{6, 1}, DType::float32}), target({6, 1}, std::vector<float>{1, 2, 4, 8, 16, 32}),
      weight({6}, std::vector<float>{1, 0, 2, 1, 1, 1});
  CHECK(model.evaluate(zero, target, {.batch_size = 2, .steps = 2}).at("loss") == 15 / 4.0);
  const Figures weighted =
      model.evaluate(Arrays{.x = {zero}, .y = {target}, .sample_weight = weight}, {.batch_size = 4});
  CHECK(weighted.at("loss") == doctest::Approx((1 + 0 + 8 + 8 + 16 + 32) / 6.0));
  CHECK(weighted.at("mae") == doctest::Approx(63 / 6.0));                              // takes no weights
  CHECK(weighted.at("mse") == doctest::Approx((1 + 0 + 32 + 64 + 256 + 1024) / 6.0));  // a weighted mean
  CHECK(model.test_on_batch({zero}, {target}, weight) == weighted);
}

TEST_CASE("predictions are rows in order, however the last batch is filled up") {
  Sequential model = net();
  const Tensor whole = model.predict(x, {.batch_size = 10});
  CHECK(to_text(whole.type()) == "float32[10, 3]");
  for (const std::int64_t batch : {1, 3, 4, 9, 11, 1000}) {
    CAPTURE(batch);
    const Tensor parts = model.predict(x, {.batch_size = batch});
    CHECK(off(parts, whole) < 1e-6);
  }
  // One plan serves all batches of one size.
  model.core().predict_plans.clear();
  (void)model.predict(x, {.batch_size = 4});
  CHECK(model.core().predict_plans.size() == 1);
  CHECK(off(model.predict(x.rows(7, 8)), whole.rows(7, 8)) < 1e-6);
}

TEST_CASE("a model predicts before it is compiled, and after it as before") {
  Sequential model = net();
  const Tensor before = model.predict(x);
  compile(model);
  CHECK(same_bits(model.predict(x), before));
}

TEST_CASE("train_on_batch is one step of fit, and gives the batch's own figures") {
  // Without dropout, which draws by the row's place in the epoch.
  const auto steady = [] {
    return Sequential({4}, {Dense{.units = 5}, BatchNormalization{}, named("logits", Dense{.units = 3})});
  };
  Sequential model = steady(), other = steady();
  for (Sequential* each : {&model, &other}) compile(*each);
  set_weights(other, model.weights_by_path());
  Figures last;
  for (const auto& [begin, end] : {std::pair(0, 4), std::pair(4, 8), std::pair(8, 10)})
    last = model.train_on_batch({x.rows(begin, end)}, {y.rows(begin, end)});
  std::vector<double> running;
  other.fit(
      x, y,
      {.batch_size = 4,
       .verbose = "none",
       .callbacks = {LambdaCallback{.on_step_end = [&](Training& t) { running.push_back(t.figures().at("loss")); }}},
       .shuffle = false});
  // use_ema: fit ends with the averages, single steps do not.
  const std::string average = "optimizer/logits/kernel/average";
  CHECK(off(model.core().store.read(average), other.weight("logits/kernel")) < 1e-6);
  CHECK(last.at("loss") == doctest::Approx((running[2] * 10 - running[1] * 8) / 2).epsilon(1e-4));
}

TEST_CASE("single batches of any size make plans of their own, kept for the next") {
  Sequential model = net();
  compile(model);
  for (int round = 0; round < 2; ++round)
    for (const std::int64_t rows : {1, 4, 10}) model.train_on_batch({x.rows(0, rows)}, {y.rows(0, rows)});
  CHECK(model.core().train_plans.size() == 3);
}

TEST_CASE("no rows, or batches of none, are refused") {
  Sequential model = net();
  compile(model);
  const Tensor none = numbers({0, 4}, 1);
  CHECK(message_of([&] { (void)model.predict(none); }) == "model 'net': there are no rows to predict from");
  CHECK(message_of([&] { model.evaluate(none, classes(0, 3)); }) == "model 'net': there are no rows to evaluate on");
  CHECK(message_of([&] { (void)model.predict(x, {.batch_size = 0}); }) ==
        "predict: batch_size must be at least 1, got 0");
  CHECK(message_of([&] { model.evaluate(x, y, {.batch_size = 0}); }) ==
        "evaluate: batch_size must be at least 1, got 0");
  CHECK(message_of([&] { model.evaluate(x, y, {.steps = 0}); }) == "evaluate: steps must be at least 1, got 0");
}

TEST_CASE("a model of several outputs gives them all") {
  const Symbol in = input({4}, "x");
  Model model({in}, {in | Dense{.units = 2}, in | Dense{.units = 3}}, "two");
  CHECK(model.predict(std::vector<Tensor>{x}).size() == 2);
  CHECK(message_of([&] { (void)model.predict(x); }) ==
        "model 'two' has 2 outputs; predict(std::vector{x}) gives them all");
}
