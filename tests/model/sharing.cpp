// SPDX-License-Identifier: Apache-2.0
// Weights shared: by calls of one layer, by models that hold one layer, by models within models. What each trains.
#include <doctest/doctest.h>

#include <set>

#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

Tensor sum_of(const Tensor& a, const Tensor& b, double scale = 1) {
  auto values = a.to_doubles();
  const auto others = b.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += scale * others[i];
  return Tensor::from_doubles(a.type(), values);
}

// Sum of squared errors with SGD at rate 1: a step's change of a weight is its negative gradient.
CompileSettings gradients_as_steps() {
  Loss loss = losses::MeanSquaredError{};
  loss.common().reduction = "sum";
  return {.optimizer = SGD{.learning_rate = 1.0}, .loss = loss, .precision = "float64"};
}

CompileSettings settings(std::vector<std::string> freeze = {}) {
  return {.optimizer = Adam{.learning_rate = 0.1}, .loss = losses::MeanSquaredError{}, .freeze = std::move(freeze)};
}

bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return off(a, b).first == 0;
}

}  // namespace

TEST_CASE("a layer called twice has one kernel, and its gradient is the sum over both calls") {
  const Symbol a = input({3}, "a"), b = input({3}, "b");
  const Layer once = named("once", Dense{.units = 2, .use_bias = false, .kernel_initializer = "ones"});
  Model shared({a, b}, {Symbols{a | once, b | once} | named("sum", Add{})});
  const Symbol c = input({3}, "c"), d = input({3}, "d");
  Model apart({c, d}, {Symbols{c | named("left", Dense{.units = 2, .use_bias = false, .kernel_initializer = "ones"}),
                               d | named("right", Dense{.units = 2, .use_bias = false, .kernel_initializer = "ones"})} |
                       named("sum", Add{})});
  const Tensor x1 = numbers({4, 3}, 1), x2 = numbers({4, 3}, 2), y = numbers({4, 2}, 3);
  for (Model* model : {&shared, &apart}) model->compile(gradients_as_steps());
  CHECK(shared.weights().size() == 1);
  const Tensor begin = shared.weight("once/kernel");
  for (Model* model : {&shared, &apart}) model->train_on_batch({x1, x2}, {y});
  const Tensor left = sum_of(apart.weight("left/kernel"), begin, -1),
               right = sum_of(apart.weight("right/kernel"), begin, -1);
  CHECK(off(sum_of(shared.weight("once/kernel"), begin, -1), sum_of(left, right)) < 1e-12);
  CHECK(off(left, right) > 0.1);
}

TEST_CASE("a layer within itself, again and again: the gradient goes through every call") {
  // y = x k^3 for one number: dy/dk = 3 k^2 x.
  const Symbol x = input({1}, "x");
  const Layer once =
      named("once", Dense{.units = 1, .use_bias = false, .kernel_initializer = initializers::Constant{.value = 2}});
  Model cube({x}, {x | once | once | once});
  cube.compile(gradients_as_steps());
  cube.train_on_batch({Tensor({1, 1}, std::vector<double>{0.5})}, {Tensor({1, 1}, std::vector<double>{3})});
  // 2 (4 - 3) * 3 * 4 * 0.5 = 12
  CHECK(cube.weight("once/kernel").to_doubles()[0] == doctest::Approx(2 - 12));
}

TEST_CASE("two models that hold one layer: what one learns, the other has") {
  const Symbol x = input({4}, "x");
  const Symbol features = x | named("features", Dense{.units = 5, .activation = "tanh"});
  Model classifier({x}, {features | named("top", Dense{.units = 2})}, "classifier");
  Model extractor({x}, {features}, "extractor");
  const Tensor rows = numbers({6, 4}, 1), y = numbers({6, 2}, 2);
  const Tensor before = extractor.predict(rows);
  classifier.compile(settings());
  CHECK(off(extractor.predict(rows), before) == 0);  // compiling makes nothing anew
  classifier.fit(rows, y, {.epochs = 3, .verbose = "none"});
  CHECK(off(extractor.weight("features/kernel"), classifier.weight("features/kernel")) == 0);
  const Tensor after = extractor.predict(rows);
  CHECK(off(after, before) > 0.01);
  // As if it had been made with these weights.
  Model other({x}, {x | named("features", Dense{.units = 5, .activation = "tanh"})});
  set_weights(other, extractor.weights_by_path());
  CHECK(off(other.predict(rows), after) == 0);
  // Set in one, set in the other.
  extractor.set_weight("features/bias", numbers({5}, 9));
  CHECK(off(classifier.weight("features/bias"), numbers({5}, 9)) == 0);
}

TEST_CASE("models within models share with them, at any depth") {
  Sequential inner({4}, {named("a", Dense{.units = 3, .activation = "tanh"})}, "inner");
  Sequential middle({4}, {inner, named("b", Dense{.units = 3, .activation = "tanh"})}, "middle");
  const Symbol x = input({4}, "x");
  Model outer(
      {x},
      {Symbols{x | Layer(middle), x | Layer(inner)} | named("join", Concatenate{}) | named("top", Dense{.units = 2})},
      "outer");
  std::vector<std::string> paths;
  for (const auto& entry : outer.weights()) paths.push_back(entry.path);
  CHECK(paths.size() == 6);  // the inner one's two once, wherever they were met first
  outer.compile(settings());
  const Tensor rows = numbers({5, 4}, 1);
  const Tensor before = inner.predict(rows), middle_before = middle.predict(rows);
  outer.fit(rows, numbers({5, 2}, 2), {.epochs = 2, .verbose = "none"});
  CHECK(off(inner.predict(rows), before) > 1e-3);
  CHECK(off(middle.predict(rows), middle_before) > 1e-3);
  CHECK(off(middle.weight("inner/a/kernel"), inner.weight("a/kernel")) == 0);
}

TEST_CASE("a generator and a critic in two compiled models: each step trains its own and nothing else") {
  Sequential generator({2}, {named("make", Dense{.units = 3, .activation = "tanh"}), BatchNormalization{}},
                       "generator");
  Sequential critic({3},
                    {named("judge", Dense{.units = 4, .activation = "tanh"}), BatchNormalization{},
                     named("verdict", Dense{.units = 1})},
                    "critic");
  Sequential both({2}, {generator, critic}, "both");
  critic.compile(settings());
  both.compile(settings({"critic"}));
  const Tensor noise = numbers({4, 2}, 1), real = numbers({4, 3}, 2), ones = numbers({4, 1}, 3, 1, 1),
               zeros = numbers({4, 1}, 3, 0, 0);
  for (int turn = 0; turn < 3; ++turn) {
    auto made = copied(generator), judged = copied(critic);
    critic.train_on_batch({real}, {ones});
    CHECK(same(copied(generator), made));
    for (const auto& [path, value] : copied(critic)) CHECK_MESSAGE(off(value, judged.at(path)) > 0, path);
    made = copied(generator);
    judged = copied(critic);
    both.train_on_batch({noise}, {ones});
    // Not even the moving statistics of what is frozen.
    CHECK(same(copied(critic), judged));
    for (const auto& [path, value] : copied(generator)) CHECK_MESSAGE(off(value, made.at(path)) > 0, path);
  }
  CHECK(off(both.weight("critic/judge/kernel"), critic.weight("judge/kernel")) == 0);
}

TEST_CASE("what is frozen is a layer, wherever it is called and whatever it is within") {
  const Layer shared = named("shared", Dense{.units = 3, .activation = "tanh"});
  Sequential inner({3}, {shared, named("own", Dense{.units = 3})}, "inner");
  const auto trained = [&](std::vector<std::string> freeze) {
    const Symbol x = input({3}, "x");
    Model model({x}, {Symbols{x | Layer(inner), x | shared} | named("join", Add{}) | named("top", Dense{.units = 1})});
    model.compile(settings(std::move(freeze)));
    const auto before = copied(model);
    model.train_on_batch({numbers({4, 3}, 1)}, {numbers({4, 1}, 2)});
    std::set<std::string> changed;
    for (const auto& [path, value] : model.weights_by_path())
      if (off(value, before.at(path)) > 0) changed.insert(path.substr(0, path.rfind('/')));
    return changed;
  };
  const auto all = trained({});
  CHECK(all.size() == 3);
  const auto without = [&](std::initializer_list<const char*> gone) {
    auto left = all;
    for (const char* end : gone)
      std::erase_if(left,
                    [&](const std::string& path) { return path == end || path.ends_with(std::string("/") + end); });
    return left;
  };
  CHECK(trained({"top"}) == without({"top"}));
  CHECK(trained({"shared"}) == without({"shared"}));
  CHECK(trained({"inner"}) == without({"shared", "own"}));
  CHECK(trained({"inner/own"}) == without({"own"}));
  CHECK(trained({"inner/shared", "top"}) == without({"shared", "top"}));
}

TEST_CASE("a frozen layer's penalty does not count, and its normalization is as in prediction") {
  Sequential model({3}, {named("a", Dense{.units = 4, .kernel_regularizer = L2{.l2 = 1}}),
                         named("norm", BatchNormalization{}), named("top", Dense{.units = 2})});
  const Tensor x = numbers({6, 3}, 1), y = numbers({6, 2}, 2);
  model.compile(settings({"a", "norm"}));
  const auto before = copied(model);
  const Figures figures = model.train_on_batch({x}, {y});
  double squares = 0;
  Sequential apart(
      {3}, {named("a", Dense{.units = 4}), named("norm", BatchNormalization{}), named("top", Dense{.units = 2})});
  set_weights(apart, before);
  const auto p = apart.predict(x).to_doubles(), t = y.to_doubles();
  for (std::size_t i = 0; i < p.size(); ++i) squares += (p[i] - t[i]) * (p[i] - t[i]);
  CHECK(figures.at("loss") == doctest::Approx(squares / 12).epsilon(1e-5));
  for (const auto& [path, value] : model.weights_by_path())
    CHECK_MESSAGE((off(value, before.at(path)) > 0) == path.starts_with("top/"), path);
}

TEST_CASE("a layer that is not trainable stays as it is in every model, under its own name for it") {
  const Layer still(Dense{.units = 3}, {.name = "still", .trainable = false});
  Sequential model({3}, {still, named("top", Dense{.units = 1})});
  for (const auto& entry : model.weights()) CHECK(entry.trainable == entry.path.starts_with("top/"));
  model.compile(settings());
  const auto before = copied(model);
  model.fit(numbers({4, 3}, 1), numbers({4, 1}, 2), {.verbose = "none"});
  CHECK(off(model.weight("still/kernel"), before.at("still/kernel")) == 0);
  CHECK(off(model.weight("top/kernel"), before.at("top/kernel")) > 0);
}

TEST_CASE("a clone shares nothing: of a layer, of a model, of models within") {
  const Tensor rows = numbers({4, 3}, 1), y = numbers({4, 2}, 2);
  const Layer dense = named("dense", Dense{.units = 2});
  Sequential one({3}, {dense}), two({3}, {dense.clone()});
  for (Sequential* model : {&one, &two}) model->build();
  one.set_weight("dense/bias", numbers({2}, 5));
  CHECK(off(two.weight("dense/bias"), numbers({2}, 5, 0, 0)) == 0);
  CHECK(two.weights()[0].path == "dense/kernel");  // the name stays

  // An argument may have weights of its own.
  const Layer slopes = named("slopes", Dense{.units = 2, .activation = Layer(PReLU{})});
  Sequential three({3}, {slopes}), four({3}, {slopes.clone()});
  for (Sequential* model : {&three, &four}) model->build();
  REQUIRE(three.weights().size() == 3);
  for (const auto& entry : three.weights()) {
    const Tensor before = four.weight(entry.path);
    three.set_weight(entry.path, numbers(entry.type.shape, 8));
    CHECK_MESSAGE(same_bits(four.weight(entry.path), before), entry.path);
  }

  Sequential inner({3}, {named("a", Dense{.units = 3})}, "inner");
  Sequential original({3}, {inner, named("b", Dense{.units = 2})}, "original");
  Sequential copy({3}, {Layer(original).clone()}, "copy");
  copy.build();
  CHECK(copy.weights().size() == 4);
  const auto before = copied(original);
  copy.compile(settings());
  copy.fit(rows, y, {.verbose = "none"});
  CHECK(same(copied(original), before));
  CHECK(off(copy.weight("original/inner/a/kernel"), original.weight("inner/a/kernel")) > 0);
  // Twice in one model: a layer called twice within it is still one there.
  const Symbol x = input({3}, "x");
  const Layer once = named("once", Dense{.units = 3});
  Model twice({x}, {x | once | once}, "twice");
  Layer other = Layer(twice).clone();
  other.common().name = "other";
  Model clones({x}, {Symbols{x | other, x | Layer(twice)} | named("sum", Add{})});
  CHECK(clones.weights().size() == 4);
}

TEST_CASE("models on other devices do not share: the second to train is refused, and the first goes on") {
  const Layer shared = named("shared", Dense{.units = 2});
  Sequential here({3}, {shared}, "here"), there({3}, {shared}, "there");
  const Tensor x = numbers({4, 3}, 1), y = numbers({4, 2}, 2);
  here.compile(settings());
  here.train_on_batch({x}, {y});
  CompileSettings mirrored = settings();
  mirrored.strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}});
  there.compile(mirrored);
  CHECK(message_of([&] { there.train_on_batch({x}, {y}); }) ==
        "state 'shared/bias' is shared with a model on cpu:0, this one runs on cpu:0 and cpu:1; compile both with one "
        "strategy");
  CHECK(message_of([&] { here.train_on_batch({x}, {y}); }) == "(no error)");
}
