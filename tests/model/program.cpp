// SPDX-License-Identifier: Apache-2.0
// Loops of one's own: a traced function over models, with states, over what models and other programs hold.
#include <doctest/doctest.h>

#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

using Inputs = std::map<std::string, Value>;
const Type rows_type{{4, 3}, DType::float32};

Sequential net(const std::string& name = "net") {
  return Sequential({3}, {named("h", Dense{.units = 5, .activation = "tanh"}), named("y", Dense{.units = 1})}, name);
}

// A step of mean squared error, as fit's.
Program::Trace squared_error(Model model, Optimizer optimizer) {
  return [model, optimizer](Scope& scope, const Inputs& inputs) {
    const Value y = call_model(scope, model, {&inputs.at("x"), 1})[0];
    const Value loss = reduce_mean(square(y - inputs.at("y")), {0, 1});
    minimize(scope, optimizer, loss, trainable_weights(scope, model));
    scope.graph().output("loss", loss);
  };
}

const Tensor x = numbers({4, 3}, 1), y = numbers({4, 1}, 2);
const std::map<std::string, Type> xy{{"x", rows_type}, {"y", {{4, 1}, DType::float32}}};

}  // namespace

TEST_CASE("a program that takes fit's step gives fit's weights, step for step") {
  for (const Optimizer& optimizer :
       {Optimizer(SGD{.learning_rate = 0.1, .momentum = 0.5}),
        Optimizer(Adam{.learning_rate = CosineDecay{.initial_learning_rate = 0.1, .decay_steps = 5}})}) {
    Sequential own = net(), fitted = net();
    own.build();
    set_weights(fitted, own.weights_by_path());
    fitted.compile({.optimizer = optimizer, .loss = losses::MeanSquaredError{}});
    Program program({own}, xy, squared_error(own, optimizer));
    for (int step = 0; step < 4; ++step) {
      const auto outputs = program.run({{"x", x}, {"y", y}});
      const Figures figures = fitted.train_on_batch({x}, {y});
      CHECK(outputs.at("loss").to_doubles()[0] == doctest::Approx(figures.at("loss")).epsilon(1e-6));
      CHECK(off(own.weights_by_path(), fitted.weights_by_path()).first < 1e-6);
    }
  }
}

TEST_CASE("a program's own states go on from run to run") {
  Program program({}, {{"x", {{2}, DType::float32}}}, [](Scope& scope, const Inputs& inputs) {
    const Value sum = scope.state("sum", {{2}, DType::float32}), count = scope.state("count", {{}, DType::int64});
    scope.next(sum, sum + inputs.at("x"));
    scope.next(count, count + 1.0);
    scope.graph().output("before", sum);
    scope.graph().output("count", count);
  });
  const Tensor one({2}, std::vector<float>{1, 10});
  for (int run = 0; run < 3; ++run) {
    const auto outputs = program.run({{"x", one}});
    CHECK(outputs.at("before").to_doubles() == std::vector<double>{1.0 * run, 10.0 * run});
    CHECK(outputs.at("count").to_doubles()[0] == run);
  }
}

TEST_CASE("two programs and a compiled model train one model in turns; each has its optimizer's own state") {
  Sequential model = net();
  Program quick({model}, xy, squared_error(model, SGD{.learning_rate = 0.5})),
      slow({model}, xy, squared_error(model, SGD{.learning_rate = 0.001}));
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = losses::MeanSquaredError{}});
  std::vector<double> moved;
  for (int turn = 0; turn < 2; ++turn) {
    const auto step = [&](auto f) {
      const auto before = copied(model);
      f();
      moved.push_back(off(model.weights_by_path(), before).first);
    };
    step([&] { quick.run({{"x", x}, {"y", y}}); });
    step([&] { slow.run({{"x", x}, {"y", y}}); });
    step([&] { model.train_on_batch({x}, {y}); });
  }
  for (std::size_t i = 0; i < 6; i += 3) {
    CHECK(moved[i] > moved[i + 2]);
    CHECK(moved[i + 2] > moved[i + 1]);
    CHECK(moved[i + 1] > 0);
  }
}

TEST_CASE("a generator and a critic in two programs over the same models: each trains its own") {
  Sequential generator({3}, {named("g", Dense{.units = 3, .activation = "tanh"})}, "generator"),
      critic({3}, {named("c", Dense{.units = 4, .activation = "tanh"}), named("d", Dense{.units = 1})}, "critic");
  const auto trace = [&](bool judging) {
    return [&, judging](Scope& scope, const Inputs& inputs) {
      const Value made = call_model(scope, generator, {&inputs.at("x"), 1})[0];
      const Value verdict = call_model(scope, critic, {&made, 1})[0];
      const Value loss = reduce_mean(softplus(judging ? verdict : -verdict), {0, 1});
      minimize(scope, Adam{.learning_rate = 0.05}, loss, trainable_weights(scope, judging ? critic : generator));
      scope.graph().output("verdict", reduce_mean(verdict, {0, 1}));
    };
  };
  Program judge({generator, critic}, {{"x", rows_type}}, trace(true)),
      make({generator, critic}, {{"x", rows_type}}, trace(false));
  for (int turn = 0; turn < 3; ++turn) {
    auto g = copied(generator), c = copied(critic);
    const double before = judge.run({{"x", x}}).at("verdict").to_doubles()[0];
    CHECK(off(copied(generator), g).first == 0);
    for (const auto& [path, value] : copied(critic)) CHECK_MESSAGE(off(value, c.at(path)) > 0, path);
    c = copied(critic);
    const double judged = make.run({{"x", x}}).at("verdict").to_doubles()[0];
    CHECK(judged < before);  // the critic's step showed in the other program
    CHECK(off(copied(critic), c).first == 0);
    for (const auto& [path, value] : copied(generator)) CHECK_MESSAGE(off(value, g.at(path)) > 0, path);
  }
}

TEST_CASE("the trainable weights of a model are all of its layers', also of those another model holds") {
  const Layer shared = named("shared", Dense{.units = 3});
  Sequential first({3}, {shared, named("a", Dense{.units = 1})}, "first"),
      second({3}, {shared, named("b", Dense{.units = 1})}, "second");
  std::vector<std::string> of_second, frozen;
  Program program({first, second}, {{"x", rows_type}}, [&](Scope& scope, const Inputs& inputs) {
    (void)call_model(scope, first, {&inputs.at("x"), 1});
    const Value y = call_model(scope, second, {&inputs.at("x"), 1})[0];
    for (const auto& [path, _] : trainable_weights(scope, second)) of_second.push_back(path);
    for (const auto& [path, _] : trainable_weights(scope, second, {"b"})) frozen.push_back(path);
    minimize(scope, SGD{}, sum(y), trainable_weights(scope, second, {"shared"}));
  });
  const auto before = copied(second);
  program.run({{"x", x}});
  CHECK(of_second ==
        std::vector<std::string>{"first/shared/kernel", "first/shared/bias", "second/b/kernel", "second/b/bias"});
  CHECK(frozen == std::vector<std::string>{"first/shared/kernel", "first/shared/bias"});
  for (const auto& [path, value] : second.weights_by_path())
    CHECK_MESSAGE((off(value, before.at(path)) > 0) == path.starts_with("b/"), path);
}

TEST_CASE("a model in a program predicts as it does itself, and trains as it does with training on") {
  Sequential model({3}, {named("h", Dense{.units = 4}), BatchNormalization{}, Dropout{.rate = 0.5}}, "net");
  Program program({model}, {{"x", rows_type}}, [&](Scope& scope, const Inputs& inputs) {
    scope.graph().output("predicted", call_model(scope, model, {&inputs.at("x"), 1}, false)[0]);
    scope.graph().output("training", call_model(scope, model, {&inputs.at("x"), 1}, true)[0]);
  });
  const Tensor predicted = model.predict(x);
  const auto first = program.run({{"x", x}}), second = program.run({{"x", x}});
  CHECK(off(first.at("predicted"), predicted) < 1e-6);
  CHECK(off(first.at("training"), predicted) > 0.1);
  CHECK(off(second.at("predicted"), predicted) > 1e-3);  // the moving statistics have moved
}

TEST_CASE("a check that fails stops a program's run and changes nothing") {
  Program program({}, {{"x", {{2}, DType::float32}}}, [](Scope& scope, const Inputs& inputs) {
    const Value sum = scope.state("sum", {{2}, DType::float32});
    scope.next(sum, sum + inputs.at("x"));
    scope.check(reduce_all(greater(inputs.at("x"), full_like(inputs.at("x"), 0))), "x must be above 0");
    scope.graph().output("sum", sum);
  });
  program.run({{"x", Tensor({2}, std::vector<float>{1, 2})}});
  CHECK(message_of([&] {
          program.run({{"x", Tensor({2}, std::vector<float>{1, -2})}});
        }) == "program: x must be above 0; nothing was learnt from this batch");
  CHECK(program.run({{"x", Tensor({2}, std::vector<float>{1, 1})}}).at("sum").to_doubles() ==
        std::vector<double>{1, 2});
}

TEST_CASE("what a program is fed must be what it was made for") {
  Sequential model = net();
  Program program({model}, xy, squared_error(model, SGD{}));
  CHECK(message_of([&] { program.run({{"x", x}}); }) == "program: it takes 'y' (float32[4, 1]), which was not given");
  CHECK(message_of([&] { program.run({{"x", x}, {"Y", y}}); }) == "program: it takes no 'Y'; did you mean 'y'?");
  CHECK(message_of([&] {
          program.run({{"x", x}, {"y", y}, {"z", y}});
        }) == "program: it takes no 'z'; it takes x and y");
  CHECK(message_of([&] {
          program.run({{"x", x}, {"y", numbers({5, 1}, 1)}});
        }) == "program: 'y' is float32[5, 1], but it was made for float32[4, 1]");
  CHECK(message_of([&] {
          program.run({{"x", x}, {"y", numbers({4, 1}, 1, 0, 2, DType::int32)}});
        }) == "program: 'y' is int32[4, 1], but it was made for float32[4, 1]");
  CHECK(message_of([&] {
          Program lost({}, {{"x", rows_type}},
                       [&](Scope& scope, const Inputs&) { (void)trainable_weights(scope, model); });
          lost.run({{"x", x}});
        }) == "model 'net' has no weights here before call_model() has called it");
  CHECK(message_of([&] {
          Program({}, {}, {}, "float23");
        }).starts_with("there is no precision policy 'float23'; did you mean 'float32'?"));
  // A trace that failed leaves nothing half made.
  int traces = 0;
  Program second_time({}, {{"x", {{2}, DType::float32}}}, [&](Scope& scope, const Inputs& inputs) {
    if (++traces == 1) throw Error("not yet");
    scope.graph().output("y", inputs.at("x") * 2.0);
  });
  const Tensor one({2}, std::vector<float>{1, 2});
  CHECK(message_of([&] { second_time.run({{"x", one}}); }) == "not yet");
  CHECK(second_time.run({{"x", one}}).at("y").to_doubles() == std::vector<double>{2, 4});
}
