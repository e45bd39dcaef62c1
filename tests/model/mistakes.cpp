// SPDX-License-Identifier: Apache-2.0
// What is wrong is said before the first step, with the place, both values and the cure; nothing is changed by it.
#include <doctest/doctest.h>

#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

Sequential net() {
  return Sequential({4}, {named("hidden", Dense{.units = 5}), named("logits", Dense{.units = 3})}, "net");
}
Model two() {
  const Symbol x = input({4}, "x");
  return Model({x}, {x | named("kind", Dense{.units = 3}), x | named("size", Dense{.units = 1})}, "two");
}

CompileSettings classes_of(MetricList metrics = {}) {
  return {.optimizer = SGD{}, .loss = losses::SparseCategoricalCrossentropy{.from_logits = true}, .metrics = metrics};
}
CompileSettings squares(MetricList metrics = {}) {
  return {.optimizer = SGD{}, .loss = losses::MeanSquaredError{}, .metrics = metrics};
}

std::string compiled(Model model, const CompileSettings& settings) {
  return message_of([&] { model.compile(settings); });
}
// What fit says; a model that it refused has the weights it had.
std::string fitted(const CompileSettings& settings, const Dataset& data, FitOptions options = {}) {
  Sequential model = net();
  model.compile(settings);
  const auto before = copied(model);
  options.verbose = "none";
  const std::string said = message_of([&] { model.fit(data, options); });
  if (said != "(no error)") CHECK(off(model.weights_by_path(), before).first == 0);
  return said;
}
std::string stepped(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& weight = {}) {
  Sequential model = net();
  model.compile(classes_of());
  return message_of([&] { model.train_on_batch(x, y, weight); });
}

const Tensor x = numbers({6, 4}, 1), labels = classes(6, 3), hot = numbers({6, 3}, 2);

}  // namespace

TEST_CASE("what needs compile says so") {
  Sequential model = net();
  const auto needs = [](const char* what) {
    return cat("model 'net': ", what, "() needs compile() first: it binds the optimizer and the loss");
  };
  CHECK(message_of([&] { model.fit(x, labels); }) == needs("fit"));
  CHECK(message_of([&] { model.evaluate(x, labels); }) == needs("evaluate"));
  CHECK(message_of([&] { model.train_on_batch({x}, {labels}); }) == needs("train_on_batch"));
  CHECK(message_of([&] { model.test_on_batch({x}, {labels}); }) == needs("test_on_batch"));
  CHECK(message_of([&] { (void)model.predict(x); }) == "(no error)");
}

TEST_CASE("compile names the output, layer, loss, metric or optimizer that there is not, and the nearest one") {
  const std::map<std::string, Loss> wrong{{"kinds", losses::MeanSquaredError{}}};
  CHECK(compiled(two(), {.optimizer = SGD{}, .loss = wrong}) ==
        "model 'two': loss names output 'kinds', which it does not have; its outputs are kind and size; did you mean "
        "'kind'?");
  CHECK(
      compiled(two(), {.optimizer = SGD{}, .loss = losses::MeanSquaredError{}, .loss_weights = {{"seize", 1.0}}}) ==
      "model 'two': loss_weights names output 'seize', which it does not have; its outputs are kind and size; did you "
      "mean 'size'?");
  CHECK(compiled(two(), {.optimizer = SGD{}, .loss = losses::MeanSquaredError{}, .output_metrics = {{"all", {"mae"}}}})
            .starts_with("model 'two': output_metrics names output 'all', which it does not have; its outputs are kind "
                         "and size"));
  CHECK(compiled(two(), {.optimizer = SGD{}, .loss = std::vector<Loss>(3, losses::MeanSquaredError{})}) ==
        "model 'two' has 2 outputs (kind and size), but 3 losses; give one for each, or a map by name");
  CHECK(compiled(net(), {.optimizer = "adan", .loss = losses::MeanSquaredError{}})
            .starts_with("there is no optimizer 'adan'; did you mean 'adam'?"));
  CHECK(compiled(net(), {.optimizer = SGD{}, .loss = "mean_square_error"})
            .starts_with("there is no loss 'mean_square_error'; did you mean 'mean_squared_error'?"));
  CHECK(compiled(net(), squares({"acuracy"})).starts_with("there is no metric 'acuracy'; did you mean 'accuracy'?"));
  CHECK(compiled(net(), {.optimizer = SGD{}, .loss = losses::MeanSquaredError{}, .precision = "mixed_float61"})
            .starts_with("there is no precision policy 'mixed_float61'; did you mean 'mixed_float16'?"));
  CHECK(compiled(net(), {.optimizer = SGD{.momentum = 1.5}, .loss = losses::MeanSquaredError{}})
            .find("SGD: 'momentum' must be between 0 and 1, got 1.5") != std::string::npos);
}

TEST_CASE("freeze names a layer, a layer within or a weight, or is refused with the nearest") {
  Sequential inner({4}, {named("first", Dense{.units = 4})}, "inner");
  Sequential outer({4}, {inner, named("logits", Dense{.units = 3})}, "outer");
  const auto frozen = [&](const std::string& name) {
    return compiled(outer, {.optimizer = SGD{}, .loss = losses::MeanSquaredError{}, .freeze = {name}});
  };
  for (const char* name : {"inner", "inner/first", "logits/bias", "inner/first/kernel"})
    CHECK(frozen(name) == "(no error)");
  CHECK(frozen("logit") ==
        "model 'outer': freeze names 'logit', but there is no layer 'logit'; did you mean 'logits'?");
  CHECK(frozen("inner/fist") ==
        "model 'outer': freeze names 'inner/fist', but there is no layer 'fist' in 'inner'; did you mean 'first'?");
  CHECK(frozen("logits/bios") ==
        "model 'outer': freeze names 'logits/bios', but there is no such weight; did you mean 'logits/bias'?");
}

TEST_CASE("rows of inputs, targets and weights must be as many") {
  CHECK(fitted(classes_of(), Arrays{.x = {x}, .y = {classes(5, 3)}}) == "array 'y0' has 5 rows, 'x0' has 6");
  CHECK(fitted(classes_of(), Arrays{.x = {x}, .y = {labels}, .sample_weight = numbers({4}, 1)}) ==
        "array 'sample_weight' has 4 rows, 'x0' has 6");
  CHECK(stepped({x}, {classes(5, 3)}) == "model 'net': the target of 'logits' has 5 rows, input 'input' has 6");
  CHECK(stepped({x}, {labels}, numbers({4}, 1)) == "model 'net': the sample weight has 4 rows, input 'input' has 6");
  CHECK(stepped({x}, {}) == "model 'net' wants 1 target (logits), got 0");
  CHECK(stepped({x}, {labels, labels}) == "model 'net' wants 1 target (logits), got 2");
  CHECK(stepped({x, x}, {labels}) == "model 'net' takes 1 inputs, got 2");
  CHECK(stepped({Tensor()}, {labels}) == "model 'net': input 'input' was never made");
  CHECK(stepped({Tensor(Shape{}, std::vector<float>{1})}, {labels}) ==
        "model 'net': input 'input' is a scalar; the first axis must be the rows");
  CHECK(stepped({x}, {Tensor()}) == "model 'net': the target of 'logits' was never made");
  CHECK(stepped({numbers({0, 4}, 1)}, {classes(0, 3)}) == "model 'net': the batch has no rows");
}

TEST_CASE("an input of another shape or kind of number is refused, with the cure") {
  const std::string said =
      "model 'net': input 'input' is [4] a row, but the data has [2, 2]; a Reshape as the first "
      "layer, or another input shape, makes them agree";
  CHECK(fitted(classes_of(), Arrays{.x = {numbers({6, 2, 2}, 1)}, .y = {labels}}) == said);
  CHECK(stepped({numbers({6, 2, 2}, 1)}, {labels}) == said);
  CHECK(stepped({numbers({6, 5}, 1)}, {labels}) == "model 'net': input 'input' is [4] a row, but the data has [5]");
  Sequential words({4}, {Embedding{.input_dim = 9, .output_dim = 2}, Flatten{}}, "words", DType::int32);
  CHECK(message_of([&] { (void)words.predict(x); }) ==
        "model 'words': input 'input' is int32, but the data has float32");
  // Whole numbers for a model of others, and a trailing 1 more or less, are what they say.
  Sequential model = net();
  const Tensor whole = numbers({6, 4}, 1, 0, 9, DType::uint8);
  CHECK(off(model.predict(whole), model.predict(tensor_of(array_of(whole)))) == 0);
}

TEST_CASE("a target that would broadcast is refused before the first step, by loss and by metric") {
  const std::string said = fitted(squares(), Arrays{.x = {x}, .y = {numbers({6}, 1)}});
  CHECK(said ==
        "MeanSquaredError needs a target shaped as the prediction\n    predicted  [6, 3]\n    target     [6]\n  they "
        "would broadcast silently; for class numbers take SparseCategoricalCrossentropy, for one number a row give the "
        "last layer 1 unit");
  CHECK(
      fitted(squares(), Arrays{.x = {x}, .y = {numbers({6, 4}, 1)}}) ==
      "MeanSquaredError needs a target shaped as the prediction\n    predicted  [6, 3]\n    target     [6, 4]\n  they "
      "would broadcast silently; reshape the target, or give the last layer 4 units");
  CHECK(fitted(classes_of({metrics::CategoricalAccuracy{}}), Arrays{.x = {x}, .y = {labels}}) ==
        "CategoricalAccuracy needs a target shaped as the prediction\n    predicted  [6, 3]\n    target     [6]\n  for "
        "class numbers take SparseCategoricalAccuracy");
  CHECK(
      fitted(squares({metrics::SparseTopKCategoricalAccuracy{}}), Arrays{.x = {x}, .y = {hot}}) ==
      "SparseTopKCategoricalAccuracy needs one class number for each prediction\n    predicted  [6, 3]\n    target     "
      "[6, 3]\n  for one-hot targets take TopKCategoricalAccuracy");
  // Class numbers where one-hot targets are wanted, and the other way round.
  for (const Metric& metric : {Metric(metrics::CategoricalAccuracy{}), Metric(metrics::TopKCategoricalAccuracy{.k = 2}),
                               Metric(metrics::MeanAbsoluteError{}), Metric(metrics::BinaryAccuracy{})}) {
    CAPTURE(metric.name());
    const std::string by_metric = fitted(classes_of({metric}), Arrays{.x = {x}, .y = {labels}});
    CHECK(by_metric.find(metric.name()) != std::string::npos);
    CHECK(by_metric.find("[6, 3]") != std::string::npos);
    CHECK(by_metric.find("[6]") != std::string::npos);
  }
  for (const Metric& metric :
       {Metric(metrics::SparseCategoricalAccuracy{}), Metric(metrics::SparseTopKCategoricalAccuracy{.k = 2}),
        Metric(metrics::SparseCategoricalCrossentropy{.from_logits = true})}) {
    CAPTURE(metric.name());
    const std::string by_metric = fitted(squares({metric}), Arrays{.x = {x}, .y = {hot}});
    CHECK(by_metric.find(metric.name()) != std::string::npos);
    CHECK(by_metric.find("[6, 3]") != std::string::npos);
  }
  CHECK(fitted(classes_of(), Arrays{.x = {x}, .y = {hot}}).find("SparseCategoricalCrossentropy") != std::string::npos);
  // The words fit themselves to the target.
  CHECK(fitted(classes_of({"accuracy"}), Arrays{.x = {x}, .y = {labels}}) == "(no error)");
  CHECK(fitted(squares({"accuracy"}), Arrays{.x = {x}, .y = {hot}}) == "(no error)");
  CHECK(fitted({.optimizer = SGD{}, .loss = "crossentropy"}, Arrays{.x = {x}, .y = {labels}}) == "(no error)");
}

TEST_CASE("data without targets, or with too few, says which output wants one") {
  CHECK(fitted(classes_of(), Arrays{.x = {x}}) == "model 'net' wants 1 target (logits), the data has 0: none");
  Model model = two();
  model.compile(squares());
  CHECK(message_of([&] { model.fit(Arrays{.x = {x}, .y = {hot}}, {.verbose = "none"}); }) ==
        "model 'two' wants 2 targets (kind and size), the data has 1: y0 float32[3]");
  CHECK(message_of([&] { model.train_on_batch({x}, {hot}); }) == "model 'two' wants 2 targets (kind and size), got 1");
}

TEST_CASE("class weights that cannot be meant are refused") {
  CHECK(fitted(classes_of(), Arrays{.x = {x}, .y = {labels}, .sample_weight = numbers({6}, 1)},
               {.class_weight = {{0, 1.0}}}) ==
        "class_weight and sample weights in the data exclude each other; take one");
  Model model = two();
  model.compile(squares());
  CHECK(message_of([&] {
          model.fit(Arrays{.x = {x}, .y = {hot, numbers({6, 1}, 1)}}, {.verbose = "none", .class_weight = {{0, 1.0}}});
        }) == "class_weight needs a model with one output that has a target; 'two' has 2");
}

TEST_CASE("validation data is looked at before training, not after the first epoch") {
  CHECK(fitted(classes_of(), Arrays{.x = {x}, .y = {labels}},
               {.validation_data = Arrays{.x = {numbers({6, 5}, 1)}, .y = {labels}}}) ==
        "model 'net': input 'input' is [4] a row, but the data has [5]");
  CHECK(fitted(squares(), Arrays{.x = {x}, .y = {hot}}, {.validation_data = Arrays{.x = {x}, .y = {labels}}})
            .starts_with("MeanSquaredError needs a target shaped as the prediction"));
}

TEST_CASE("weights are set and asked for by path; another path, shape or dtype is refused") {
  Sequential model = net();
  CHECK(message_of([&] { (void)model.weight("logits/kernl"); }) ==
        "model 'net' has no weight 'logits/kernl'; did you mean 'logits/kernel'?");
  CHECK(message_of([&] { model.set_weight("logits/bias", numbers({4}, 1)); }) ==
        "model 'net': weight 'logits/bias' is float32[3], the new value float32[4]");
  CHECK(message_of([&] { model.set_weight("logits/bias", numbers({3}, 1, -1, 1, DType::float64)); }) ==
        "model 'net': weight 'logits/bias' is float32[3], the new value float64[3]");
}
