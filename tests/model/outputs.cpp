// SPDX-License-Identifier: Apache-2.0
// Several inputs and outputs: losses, weights and metrics by name and by order, the figures' names, which data goes where.
#include <doctest/doctest.h>

#include "model/core.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

// left and right are means of what comes in: predictions are known without training.
Model two_in_two_out() {
  const Symbol a = input({2}, "a"), b = input({2}, "b");
  const auto mean = [](double of) {
    return Dense{.units = 1, .use_bias = false, .kernel_initializer = initializers::Constant{.value = of}};
  };
  return Model({a, b}, {a | named("left", mean(1)), b | named("right", mean(2))}, "pair");
}

const Tensor a({3, 2}, std::vector<float>{1, 0, 2, 0, 3, 0}), b({3, 2}, std::vector<float>{0, 1, 0, 2, 0, 4});
const Tensor left({3, 1}, std::vector<float>{0, 0, 0}), right({3, 1}, std::vector<float>{1, 1, 1});
// left errs by 1, 2, 3; right by 2 - 1, 4 - 1, 8 - 1.
constexpr double left_square = 14.0 / 3, left_absolute = 2, right_square = 59.0 / 3, right_absolute = 11.0 / 3;

Figures evaluated(const CompileSettings& settings, const Dataset& data) {
  Model model = two_in_two_out();
  model.compile(settings);
  return model.evaluate(data, {.batch_size = 2});
}
Dataset in_order() { return Arrays{.x = {a, b}, .y = {left, right}}; }

std::vector<std::string> words_of(const Figures& figures) {
  std::vector<std::string> list;
  for (const auto& [name, _] : figures) list.push_back(name);
  return list;
}
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("losses by order, by name and one for all; their figures bear the outputs' names") {
  const std::vector<Loss> list{losses::MeanSquaredError{}, losses::MeanAbsoluteError{}};
  const std::map<std::string, Loss> map{{"right", losses::MeanAbsoluteError{}}, {"left", losses::MeanSquaredError{}}};
  for (const PerOutput<Loss>& loss : {PerOutput<Loss>(list), PerOutput<Loss>(map)}) {
    const Figures figures = evaluated({.optimizer = SGD{}, .loss = loss}, in_order());
    CHECK(words_of(figures) == Words{"left_loss", "loss", "right_loss"});
    CHECK(figures.at("left_loss") == doctest::Approx(left_square));
    CHECK(figures.at("right_loss") == doctest::Approx(right_absolute));
    CHECK(figures.at("loss") == doctest::Approx(left_square + right_absolute));
  }
  const Figures same = evaluated({.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}}, in_order());
  CHECK(same.at("loss") == doctest::Approx(left_absolute + right_absolute));
}

TEST_CASE("loss weights multiply each output's loss, in its own figure too, as in Keras") {
  const Figures figures = evaluated(
      {.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}, .loss_weights = {{"left", 0.5}, {"right", 2.0}}},
      in_order());
  CHECK(figures.at("loss") == doctest::Approx(0.5 * left_absolute + 2 * right_absolute));
  CHECK(figures.at("left_loss") == doctest::Approx(0.5 * left_absolute));
}

TEST_CASE("an output without a loss is not trained and wants no target") {
  const Figures figures =
      evaluated({.optimizer = SGD{}, .loss = std::map<std::string, Loss>{{"right", losses::MeanAbsoluteError{}}}},
                Arrays{.x = {a, b}, .y = {right}});
  CHECK(words_of(figures) == Words{"loss"});  // one loss: no figure of its own beside the total
  CHECK(figures.at("loss") == doctest::Approx(right_absolute));
  Model model = two_in_two_out();
  model.compile({.optimizer = SGD{}, .loss = std::map<std::string, Loss>{{"right", losses::MeanAbsoluteError{}}}});
  const auto before = copied(model);
  model.train_on_batch({a, b}, {right});
  CHECK(off(model.weight("left/kernel"), before.at("left/kernel")) == 0);
  CHECK(off(model.weight("right/kernel"), before.at("right/kernel")) > 0);
}

TEST_CASE("an output without a loss may be measured all the same") {
  const CompileSettings settings{.optimizer = SGD{},
                                 .loss = std::map<std::string, Loss>{{"right", losses::MeanAbsoluteError{}}},
                                 .output_metrics = {{"left", {"mse"}}}};
  const Figures figures = evaluated(settings, in_order());
  CHECK(words_of(figures) == Words{"left_mse", "loss"});
  CHECK(figures.at("left_mse") == doctest::Approx(left_square));
  CHECK(figures.at("loss") == doctest::Approx(right_absolute));
  Model model = two_in_two_out();
  model.compile(settings);
  CHECK(model.test_on_batch({a, b}, {left, right}) == figures);
}

TEST_CASE("metrics of all outputs and of one bear the output's name; twice the same one is numbered") {
  const Figures figures = evaluated({.optimizer = SGD{},
                                     .loss = losses::MeanSquaredError{},
                                     .metrics = {"mae"},
                                     .output_metrics = {{"right", {metrics::MeanSquaredError{}, "mae"}}}},
                                    in_order());
  CHECK(words_of(figures) ==
        Words{"left_loss", "left_mae", "loss", "right_loss", "right_mae", "right_mae_1", "right_mean_squared_error"});
  CHECK(figures.at("left_mae") == doctest::Approx(left_absolute));
  CHECK(figures.at("right_mae") == doctest::Approx(right_absolute));
  CHECK(figures.at("right_mae_1") == doctest::Approx(right_absolute));
  CHECK(figures.at("right_mean_squared_error") == doctest::Approx(right_square));
}

TEST_CASE("a metric's own name is its figure's") {
  Sequential model({2}, {Dense{.units = 1, .use_bias = false, .kernel_initializer = "ones"}});
  model.compile(
      {.optimizer = SGD{},
       .loss = losses::MeanSquaredError{},
       .metrics = {Metric(metrics::MeanAbsoluteError{}, {.name = "distance"}), metrics::RootMeanSquaredError{}},
       .weighted_metrics = {"mae", metrics::RootMeanSquaredError{}}});
  const History history = model.fit(a, left, {.verbose = "none", .validation_split = 0.4});
  Words shown;
  for (const auto& [name, _] : history.figures) shown.push_back(name);
  CHECK(shown == Words{"distance", "loss", "mae", "root_mean_squared_error", "val_distance", "val_loss", "val_mae",
                       "val_root_mean_squared_error", "val_weighted_root_mean_squared_error",
                       "weighted_root_mean_squared_error"});
}

TEST_CASE("data goes to inputs and outputs by name where names fit, by order where none does") {
  const CompileSettings settings{.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}};
  const auto right_way = evaluated(settings, in_order());
  CHECK(evaluated(
            settings,
            Arrays{.x = {b, a}, .y = {right, left}, .input_names = {"b", "a"}, .target_names = {"right", "left"}}) ==
        right_way);
  // What the model does not ask for may lie beside.
  CHECK(evaluated(settings, Arrays{.x = {b, b, a},
                                   .y = {right, left, left},
                                   .input_names = {"more", "b", "a"},
                                   .target_names = {"right", "left", "other"}}) == right_way);
  CHECK(evaluated(settings,
                  Arrays{.x = {a, b}, .y = {left, right}, .input_names = {"u", "v"}, .target_names = {"p", "q"}}) ==
        right_way);
  // Some that fit and some that do not: by order would be a guess.
  CHECK(message_of([&] {
          (void)evaluated(settings, Arrays{.x = {b, a}, .y = {left, right}, .input_names = {"b", "c"}});
        }) == "model 'pair': the data has no input 'a'; its inputs are b float32[2] and c float32[2]");
  CHECK(message_of([&] {
          (void)evaluated(settings, Arrays{.x = {a, b}, .y = {left, right}, .target_names = {"rigth", "left"}});
        }) ==
        "model 'pair': the data has no target 'right'; its targets are rigth float32[1] and left float32[1]; did you "
        "mean "
        "'rigth'?");
}

TEST_CASE("predictions come by output, rows in their order, whatever the batch") {
  Model model = two_in_two_out();
  for (const std::int64_t batch : {1, 2, 3, 8}) {
    const auto predicted = model.predict({a, b}, {.batch_size = batch});
    REQUIRE(predicted.size() == 2);
    CHECK(predicted[0].to_doubles() == std::vector<double>{1, 2, 3});
    CHECK(predicted[1].to_doubles() == std::vector<double>{2, 4, 8});
    CHECK(predicted[1].shape() == Shape{3, 1});
  }
  CHECK(message_of([&] { (void)model.predict(a); }) ==
        "model 'pair' wants 2 inputs (a and b), the data has 1: x0 float32[2]");
}

TEST_CASE("inputs and outputs may be named where the model is made") {
  const Symbol a_in = input({2}), b_in = input({2});
  Model model({{"a", a_in}, {"b", b_in}},
              {{"left", a_in | Dense{.units = 1, .use_bias = false, .kernel_initializer = "ones"}},
               {"right", b_in | Dense{.units = 1, .use_bias = false, .kernel_initializer = "ones"}}},
              "named");
  model.compile({.optimizer = SGD{}, .loss = losses::MeanAbsoluteError{}});
  const Figures figures = model.evaluate(
      Arrays{.x = {b, a}, .y = {right, left}, .input_names = {"b", "a"}, .target_names = {"right", "left"}});
  CHECK(figures.at("left_loss") == doctest::Approx(left_absolute));
}

TEST_CASE("one input may feed several layers, and one layer's outputs several models") {
  const Symbol x = input({3}, "x");
  const Symbol h = x | named("h", Dense{.units = 2, .activation = "tanh"});
  Model both({x}, {h, h | named("top", Dense{.units = 1})}, "both");
  const Tensor rows = numbers({4, 3}, 1);
  const auto predicted = both.predict(std::vector<Tensor>{rows});
  CHECK(off(Model({x}, {h}).predict(rows), predicted[0]) == 0);
  CHECK(both.core().topology->output_names == Words{"h", "top"});
  both.compile(
      {.optimizer = SGD{.learning_rate = 0.1},
       .loss = std::map<std::string, Loss>{{"h", losses::MeanSquaredError{}}, {"top", losses::MeanSquaredError{}}}});
  const History history =
      both.fit(Arrays{.x = {rows}, .y = {numbers({4, 2}, 2), numbers({4, 1}, 3)}}, {.epochs = 20, .verbose = "none"});
  CHECK(history["loss"].back() < history["loss"].front());
}
