// SPDX-License-Identifier: Apache-2.0
// Numbers that are not finite: found in their step, named, and without a trace in the model.
#include <doctest/doctest.h>

#include <cmath>

#include "base/file.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/temporary.h"
#include "support/training.h"

namespace strata::test {
namespace {

// A layer of this test alone.
struct SquareRoot {
  static Schema schema() {
    return Schema("SquareRoot", "The root.").example(+[] { return SquareRoot{}; }, {Shape{4}});
  }
  Value call(Scope&, Value x) const { return sqrt(x); }
};

Model small(const Optimizer& optimizer = SGD{.learning_rate = 0.1}) {
  Sequential model({4}, {named("fc1", Dense{.units = 8, .activation = "relu"}), named("fc2", Dense{.units = 3})});
  model.compile({.optimizer = optimizer, .loss = SparseCategoricalCrossentropy{.from_logits = true}});
  return model;
}

Tensor spoilt(std::int64_t rows, std::int64_t row, double value) {
  Tensor x = numbers({rows, 4}, 3);
  x.as<float>()[static_cast<std::size_t>(row * 4 + 1)] = static_cast<float>(value);
  return x;
}

bool holds(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a NaN in the data is named with the input and the row, and nothing is learnt from it") {
  Model model = small();
  (void)model.train_on_batch({numbers({6, 4}, 3)}, {classes(6, 3)});
  const auto before = copied(model);
  const std::string said = message_of([&] { (void)model.train_on_batch({spoilt(6, 4, NAN)}, {classes(6, 3)}); });
  CHECK(said ==
        "model 'sequential': loss is nan; first in the data of 'input', sample 4 of the batch; these rows must be "
        "mended or left out");
  CHECK(off(before, copied(model)).first == 0);
  // The model is as good as before.
  CHECK(std::isfinite(model.train_on_batch({numbers({6, 4}, 3)}, {classes(6, 3)}).at("loss")));
}

TEST_CASE("an overflow in a layer is named with the layer and the rows that had it") {
  Model model = small();
  model.build();
  model.set_weight("fc2/kernel", numbers({8, 3}, 2, 1e38, 3e38));
  holds(message_of([&] { (void)model.train_on_batch({spoilt(6, 2, 1e6)}, {classes(6, 3)}); }), "; first in fc2 (");
}

TEST_CASE("a state that was spoilt before is named as such") {
  Model model = small();
  model.build();
  Tensor kernel = numbers({4, 8}, 2);
  kernel.as<float>()[3] = INFINITY;
  model.set_weight("fc1/kernel", kernel);
  holds(message_of([&] {
          (void)model.train_on_batch({numbers({6, 4}, 3)}, {classes(6, 3)});
        }),
        "; first in the state fc1/kernel, before the step");
}

TEST_CASE("a gradient that is not finite under a finite loss is found in the same step") {
  // The root's slope at 0 is infinite; its value is not.
  Sequential model({4}, {named("fc1", Dense{.units = 4, .kernel_initializer = "zeros"}), SquareRoot{},
                         named("fc2", Dense{.units = 1})});
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = "mse"});
  const auto before = copied(model);
  const std::string said = message_of([&] { (void)model.train_on_batch({numbers({6, 4}, 3)}, {numbers({6, 1}, 4)}); });
  holds(said, "the gradient of fc1/");
  CHECK(off(before, copied(model)).first == 0);
}

TEST_CASE("fit names the step, keeps the last good checkpoint and saves the state before the step") {
  const TemporaryFolder folder;
  const Tensor x = spoilt(20, 13, NAN);
  FitOptions options;
  options.batch_size = 4;
  options.epochs = 2;
  options.verbose = "none";
  options.shuffle = false;
  options.checkpoint = {.directory = folder.path(), .every = {"1 step"}};
  const auto run = [&] { return message_of([&] { (void)small().fit(x, classes(20, 3), options); }); };
  const std::string said = run();
  holds(said, "step 4 (epoch 1): loss is nan; first in the data of 'input', sample 1 of the batch");
  holds(said, "last good checkpoint: " + folder / "checkpoint-3.h5");
  CHECK(exists(folder / "failed-3.h5"));
  CHECK(!exists(folder / "checkpoint-4.h5"));
  // From the state before the step the same step fails, not the one after it.
  options.checkpoint.resume = folder / "failed-3.h5";
  holds(run(), "step 4 (epoch 1): loss is nan; first in the data of 'input', sample 1 of the batch");
  options.checkpoint.resume = "auto";
  // The same command fails in the same way, too.
  holds(run(), "step 4 (epoch 1): loss is nan; first in the data of 'input', sample 1 of the batch");
}

TEST_CASE("too large a learning rate ends in a message, not in weights") {
  Model model = small(SGD{.learning_rate = 1e30});
  const std::string said = message_of([&] {
    (void)model.fit(numbers({40, 4}, 3), classes(40, 3), {.batch_size = 4, .epochs = 3, .verbose = "none"});
  });
  holds(said, "a smaller learning_rate, or clipnorm, usually cures this");
  for (const auto& [path, weight] : copied(model))
    for (const double value : weight.to_doubles()) CHECK(std::isfinite(value));
}

}  // namespace strata::test
