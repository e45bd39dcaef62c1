// SPDX-License-Identifier: Apache-2.0
// A label that is no class fails its step with a message that names it; the step has then never been.
#include <doctest/doctest.h>

#include "model/core.h"
#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

Sequential classifier(const CompileSettings& settings) {
  Sequential model({4}, {named("hidden", Dense{.units = 5, .activation = "tanh"}), named("logits", Dense{.units = 3})},
                   "net");
  model.compile(settings);
  return model;
}

CompileSettings settings(Optimizer optimizer = Adam{.learning_rate = 0.1}) {
  return {.optimizer = std::move(optimizer),
          .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
          .metrics = {"accuracy"}};
}

Tensor labels(std::vector<std::int32_t> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  return Tensor({rows}, values);
}

// Every state but the fault bits and the figures, which both are cleared.
std::map<std::string, Tensor> states(const Model& model) {
  std::map<std::string, Tensor> all;
  for (const auto& [path, _] : model.core().store.variables())
    if (!path.starts_with("metric/")) all[path] = model.core().store.read(path);
  return all;
}

bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  for (const auto& [path, value] : a)
    if (!b.count(path) || !same_bits(value, b.at(path))) return false;
  return a.size() == b.size();
}

constexpr const char* said = "model 'net': a label is outside [0, 3): ";
constexpr const char* end = "; nothing was learnt from this batch";

}  // namespace

TEST_CASE("one step on a label outside the classes changes no state and names label and row") {
  Sequential model = classifier(settings());
  const Tensor x = numbers({4, 4}, 1), good = labels({0, 1, 2, 1});
  model.train_on_batch({x}, {good});
  for (const auto& [bad, row, label] :
       {std::tuple(labels({0, 1, 3, 1}), 2, 3), std::tuple(labels({-1, 1, 2, 7}), 0, -1)}) {
    const auto before = states(model);
    CHECK(message_of([&] { model.train_on_batch({x}, {bad}); }) ==
          cat(said, label, " in row ", row, " of the batch", end));
    CHECK(same(states(model), before));
  }
  // The next step is the one that would have come without them.
  Sequential other = classifier(settings());
  set_weights(other, model.weights_by_path());
  model.compile(settings());
  const Figures after = model.train_on_batch({x}, {good}), alone = other.train_on_batch({x}, {good});
  CHECK(after == alone);
  CHECK(off(model.weights_by_path(), other.weights_by_path()).first == 0);
}

TEST_CASE("fit stops at the batch with the label: what came before is learnt, the batch is not") {
  const Tensor x = numbers({12, 4}, 1);
  const Tensor y = labels({0, 1, 2, 1, 2, 0, 2, 2, 1, 5, 0, 0});
  Sequential model = classifier(settings()), other = classifier(settings());
  set_weights(other, model.weights_by_path());
  const FitOptions options{.batch_size = 4, .verbose = "none", .shuffle = false};
  CHECK(message_of([&] { model.fit(x, y, options); }) == cat(said, "5 in row 1 of the batch", end));
  other.fit(x.rows(0, 8), y.rows(0, 8), options);
  CHECK(off(model.weights_by_path(), other.weights_by_path()).first == 0);
}

TEST_CASE("a wrong label in a later part of a step leaves nothing of the earlier parts behind") {
  const Tensor x = numbers({8, 4}, 1), good = labels({0, 1, 2, 1, 2, 0, 2, 2}), bad = labels({0, 1, 2, 1, 2, 0, 4, 2});
  const FitOptions options{.batch_size = 8, .verbose = "none", .shuffle = false, .micro_batches = 4};
  Sequential model = classifier(settings()), other = classifier(settings());
  set_weights(other, model.weights_by_path());
  CHECK(message_of([&] { model.fit(x, bad, options); }).starts_with(said));
  model.fit(x, good, options);
  other.fit(x, good, options);
  CHECK(off(model.weights_by_path(), other.weights_by_path()).first == 0);
}

TEST_CASE("a wrong label within an accumulation window is as if its batch had not been") {
  Optimizer optimizer = SGD{.learning_rate = 0.5};
  optimizer.common().gradient_accumulation_steps = 2;
  const Tensor x = numbers({4, 4}, 1), good = labels({0, 1, 2, 1}), bad = labels({0, 1, 9, 1});
  Sequential model = classifier(settings(optimizer)), other = classifier(settings(optimizer));
  set_weights(other, model.weights_by_path());
  model.train_on_batch({x}, {good});
  const auto before = states(model);
  CHECK(message_of([&] { model.train_on_batch({x}, {bad}); }).starts_with(said));
  CHECK(same(states(model), before));
  for (Sequential* each : {&model, &other}) each->train_on_batch({x}, {good});
  other.train_on_batch({x}, {good});
  CHECK(off(model.weights_by_path(), other.weights_by_path()).first == 0);
}

TEST_CASE("evaluation, and every replica, look at labels as training does") {
  const Tensor x = numbers({4, 4}, 1), bad = labels({0, 1, 2, 3});
  Sequential model = classifier(settings());
  CHECK(message_of([&] { model.evaluate(x, bad); }) ==
        "model 'net': a label is outside [0, 3): 3 in row 3 of the batch");
  CHECK(message_of([&] { model.test_on_batch({x}, {bad}); }).starts_with(said));
  CompileSettings mirrored = settings();
  mirrored.strategy = Strategy(MirroredStrategy{.devices = {"cpu:2"}});
  Sequential several = classifier(mirrored);
  const auto before = copied(several);
  CHECK(message_of([&] { several.train_on_batch({x}, {bad}); }) == cat(said, "3 in row 3 of the batch", end));
  CHECK(same(several.weights_by_path(), before));
}

TEST_CASE("the class that is ignored is none to complain of, and each output names its own labels") {
  const Symbol x = input({4}, "x");
  Model model(Symbols{x}, Symbols{x | named("left", Dense{.units = 2}), x | named("right", Dense{.units = 4})}, "two");
  model.compile(
      {.optimizer = SGD{},
       .loss = std::vector<Loss>{losses::SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = -1},
                                 losses::SparseCategoricalCrossentropy{.from_logits = true}}});
  const Tensor rows = numbers({3, 4}, 1);
  CHECK(message_of([&] { model.train_on_batch({rows}, {labels({-1, 1, 0}), labels({3, 2, 1})}); }) == "(no error)");
  CHECK(message_of([&] {
          model.train_on_batch({rows}, {labels({-1, 1, 0}), labels({3, 4, 1})});
        }) ==
        "model 'two': a label is outside [0, 4): 4 in row 1 of the batch, for output 'right'; nothing was learnt from "
        "this batch");
  CHECK(message_of([&] {
          model.train_on_batch({rows}, {labels({-1, 1, 2}), labels({3, 2, 1})});
        }) ==
        "model 'two': a label is outside [0, 2): 2 in row 2 of the batch, for output 'left'; nothing was learnt from "
        "this batch");
}
