// SPDX-License-Identifier: Apache-2.0
// A step in parts is the step of all its rows; a window of batches is one step on their mean. What else holds of sums:
// figures, weights of rows and classes, masks, windows that an epoch cuts.
#include <doctest/doctest.h>

#include "strata/strata.h"
#include "support/message.h"
#include "support/training.h"

using namespace strata;
using namespace strata::test;

namespace {

Optimizer in_windows(Optimizer optimizer, std::int64_t batches) {
  optimizer.common().gradient_accumulation_steps = batches;
  return optimizer;
}

Sequential classifier() {
  return Sequential({4}, {named("hidden", Dense{.units = 5, .activation = "tanh", .kernel_regularizer = L2{.l2 = 0.1}}),
                          named("logits", Dense{.units = 3})});
}

CompileSettings settings(Optimizer optimizer) {
  return {.optimizer = std::move(optimizer),
          .loss = losses::SparseCategoricalCrossentropy{.from_logits = true},
          .metrics = {"accuracy"},
          .weighted_metrics = {metrics::SparseCategoricalCrossentropy{.from_logits = true}},
          .precision = "float64"};
}

struct Outcome {
  History history;
  std::map<std::string, Tensor> weights;
};

Outcome trained(Model model, const CompileSettings& settings, const Dataset& data, FitOptions options) {
  model.compile(settings);
  options.verbose = "none";
  options.seed = 5;
  Outcome result;
  result.history = model.fit(data, options);
  result.weights = model.weights_by_path();
  return result;
}

void same(const Outcome& a, const Outcome& b) {
  const auto [most, path] = off(a.weights, b.weights);
  CHECK_MESSAGE(most < 1e-12, path);
  REQUIRE(a.history.figures.size() == b.history.figures.size());
  for (const auto& [name, values] : b.history.figures) {
    CAPTURE(name);
    REQUIRE(a.history[name].size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(a.history[name][i] == doctest::Approx(values[i]).epsilon(2e-6));
  }
}

Tensor positive(std::int64_t rows) { return numbers({rows}, 9, 0.1, 3); }

}  // namespace

TEST_CASE("a step in any number of parts is the step of the whole batch") {
  const std::int64_t rows = 11;  // batches of 8 and 3 rows
  const Tensor x = numbers({rows, 4}, 1), y = classes(rows, 3);
  struct Way {
    const char* name;
    Dataset data;
    std::map<std::int64_t, double> class_weight = {};
  };
  for (const Way& way : {Way{"plain", Arrays{.x = {x}, .y = {y}}},
                         Way{"weights of rows", Arrays{.x = {x}, .y = {y}, .sample_weight = positive(rows)}},
                         Way{"weights of classes", Arrays{.x = {x}, .y = {y}}, {{0, 2.0}, {2, 0.25}}}})
    for (const Optimizer& optimizer :
         {Optimizer(SGD{.learning_rate = 0.5, .momentum = 0.5}), Optimizer(Adam{.learning_rate = 0.05})}) {
      CAPTURE(way.name);
      CAPTURE(optimizer.name());
      const FitOptions options{.batch_size = 8, .epochs = 2, .class_weight = way.class_weight};
      const Outcome whole = trained(classifier(), settings(optimizer), way.data, options);
      // 8 and 3 rows in 2 parts, in 3 (3, 3, 2 and 1, 1, 1), in more than there are rows.
      for (const std::int64_t parts : {2, 3, 8, 20}) {
        CAPTURE(parts);
        FitOptions in_parts = options;
        in_parts.micro_batches = parts;
        same(trained(classifier(), settings(optimizer), way.data, in_parts), whole);
      }
    }
}

TEST_CASE("every reduction of a loss adds up over the parts of a step") {
  const Tensor x = numbers({7, 4}, 1), y = numbers({7, 2}, 2);
  for (const char* reduction : {"sum_over_batch_size", "sum", "mean_with_sample_weight"}) {
    CAPTURE(reduction);
    Loss loss = losses::MeanSquaredError{};
    loss.common().reduction = reduction;
    const CompileSettings compiled{.optimizer = SGD{.learning_rate = 0.1}, .loss = loss, .precision = "float64"};
    const Dataset data = Arrays{.x = {x}, .y = {y}, .sample_weight = positive(7)};
    const auto model = [] { return Sequential({4}, {Dense{.units = 3, .activation = "tanh"}, Dense{.units = 2}}); };
    same(trained(model(), compiled, data, {.batch_size = 7, .epochs = 2, .micro_batches = 3}),
         trained(model(), compiled, data, {.batch_size = 7, .epochs = 2}));
  }
}

TEST_CASE("parts with more steps under a mask than others weigh as their steps, not as their rows") {
  // Rows of 1 to 6 steps; the loss is of every step.
  std::vector<std::int32_t> tokens(6 * 6, 0), targets(6 * 6, 1);
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t t = 0; t <= r; ++t) tokens[r * 6 + t] = static_cast<std::int32_t>(1 + (r + t) % 4);
  const Dataset data = Arrays{.x = {Tensor({6, 6}, tokens)}, .y = {Tensor({6, 6}, targets)}};
  const auto model = [] {
    return Sequential({6},
                      {Embedding{.input_dim = 5, .output_dim = 3, .mask_zero = true},
                       LSTM{.units = 3, .return_sequences = true}, Dense{.units = 3}},
                      "", DType::int32);
  };
  const FitOptions options{.batch_size = 6, .epochs = 2, .shuffle = false};
  FitOptions in_parts = options;
  in_parts.micro_batches = 3;
  same(trained(model(), settings(SGD{.learning_rate = 0.5}), data, in_parts),
       trained(model(), settings(SGD{.learning_rate = 0.5}), data, options));
}

TEST_CASE("a part of which nothing counts adds nothing, and a step of which nothing counts learns nothing") {
  const CompileSettings compiled{.optimizer = SGD{.learning_rate = 0.5},
                                 .loss = losses::SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 0},
                                 .precision = "float64"};
  const auto model = [] { return Sequential({4}, {Dense{.units = 3}}); };
  const FitOptions options{.batch_size = 6, .epochs = 2, .shuffle = false};
  FitOptions in_parts = options;
  in_parts.micro_batches = 3;
  for (const auto& labels : {std::vector<std::int32_t>{0, 0, 1, 2, 0, 2}, {0, 0, 0, 0, 0, 0}}) {
    const Dataset data = Arrays{.x = {numbers({6, 4}, 1)}, .y = {Tensor({6}, labels)}};
    const Outcome whole = trained(model(), compiled, data, options);
    same(trained(model(), compiled, data, in_parts), whole);
    for (const double loss : whole.history["loss"]) CHECK((loss > 0) == (labels[2] > 0));
  }
}

TEST_CASE("two outputs, each with its own count, add up over the parts of a step") {
  const Symbol x = input({4}, "x");
  const auto model = [&] {
    const Symbol h = x | named("h", Dense{.units = 4, .activation = "tanh"});
    return Model(Symbols{x}, Symbols{h | named("kind", Dense{.units = 3}), h | named("size", Dense{.units = 1})});
  };
  const CompileSettings compiled{
      .optimizer = Adam{.learning_rate = 0.05},
      .loss = std::map<std::string, Loss>{{"kind", losses::SparseCategoricalCrossentropy{.from_logits = true,
                                                                                         .ignore_class = 0}},
                                          {"size", losses::MeanAbsoluteError{}}},
      .loss_weights = {{"kind", 0.5}, {"size", 2.0}},
      .precision = "float64"};
  const Dataset data = Arrays{.x = {numbers({9, 4}, 1)}, .y = {classes(9, 3), numbers({9, 1}, 2)}};
  const FitOptions options{.batch_size = 9, .epochs = 2};
  FitOptions in_parts = options;
  in_parts.micro_batches = 4;
  same(trained(model(), compiled, data, in_parts), trained(model(), compiled, data, options));
}

TEST_CASE("a window of equal batches is one step of all their rows") {
  const Tensor x = numbers({12, 4}, 1), y = classes(12, 3);
  for (const Optimizer& optimizer :
       {Optimizer(SGD{.learning_rate = 0.5, .momentum = 0.5}), Optimizer(Adam{.learning_rate = 0.05})}) {
    CAPTURE(optimizer.name());
    const Outcome whole = trained(classifier(), settings(optimizer), Arrays{.x = {x}, .y = {y}},
                                  {.batch_size = 12, .epochs = 3, .shuffle = false});
    const Outcome window = trained(classifier(), settings(in_windows(optimizer, 3)), Arrays{.x = {x}, .y = {y}},
                                   {.batch_size = 4, .epochs = 3, .shuffle = false});
    const auto [most, path] = off(window.weights, whole.weights);
    CHECK_MESSAGE(most < 1e-12, path);
  }
}

TEST_CASE("a window that an epoch cuts goes on in the next; a partial batch counts as a batch, as in Keras") {
  // Batches of 4, 4, 2 rows, windows of 2: {4, 4}, {2, 4}, {4, 2}, ... The gradient is the mean of the batches' own.
  const Tensor x = numbers({10, 4}, 1), y = classes(10, 3);
  const double rate = 0.5;
  Sequential model = classifier(), by_hand = classifier();
  model.compile(settings(in_windows(SGD{.learning_rate = rate}, 2)));
  by_hand.compile(settings(SGD{.learning_rate = rate}));
  set_weights(by_hand, model.weights_by_path());
  std::vector<std::map<std::string, Tensor>> after;
  std::vector<std::int64_t> updates;
  model.fit(x, y,
            {.batch_size = 4,
             .epochs = 2,
             .verbose = "none",
             .callbacks = {LambdaCallback{.on_step_end =
                                              [&](Training& t) {
                                                after.push_back(copied(model));
                                                updates.push_back(t.updates());
                                              }}},
             .shuffle = false});
  CHECK(updates == std::vector<std::int64_t>{0, 1, 1, 2, 2, 3});
  const std::vector<std::pair<std::int64_t, std::int64_t>> batches{{0, 4}, {4, 8}, {8, 10}};
  for (std::size_t step = 0; step < 6; step += 2) {
    // The mean of two steps from the same weights is the step of the mean gradient.
    const auto begin = copied(by_hand);
    std::vector<std::map<std::string, Tensor>> stepped;
    for (const std::size_t b : {step % 3, (step + 1) % 3}) {
      set_weights(by_hand, begin);
      by_hand.train_on_batch({x.rows(batches[b].first, batches[b].second)},
                             {y.rows(batches[b].first, batches[b].second)});
      stepped.push_back(copied(by_hand));
    }
    std::map<std::string, Tensor> mean;
    for (const auto& [path, value] : stepped[0]) {
      auto a = value.to_doubles();
      const auto b = stepped[1].at(path).to_doubles();
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = (a[i] + b[i]) / 2;
      mean[path] = Tensor::from_doubles(value.type(), a);
    }
    set_weights(by_hand, mean);
    CAPTURE(step);
    CHECK(off(after[step], begin).first < 1e-12);  // nothing changes within a window
    CHECK(off(after[step + 1], mean).first < 1e-12);
  }
}

TEST_CASE("a window left open by one fit is closed by the next, and a new compile begins anew") {
  const Tensor x = numbers({4, 4}, 1), y = classes(4, 3), x2 = numbers({4, 4}, 2), y2 = classes(4, 3, 8);
  const auto in_window = settings(in_windows(SGD{.learning_rate = 0.5}, 2));
  Sequential two = classifier(), one = classifier();
  two.compile(in_window);
  one.compile(in_window);
  set_weights(two, one.weights_by_path());
  two.fit(x, y, {.batch_size = 4, .verbose = "none", .shuffle = false});
  two.fit(x2, y2, {.batch_size = 4, .verbose = "none", .shuffle = false});
  one.train_on_batch({x}, {y});
  one.train_on_batch({x2}, {y2});
  CHECK(off(two.weights_by_path(), one.weights_by_path()).first == 0);

  Sequential left = classifier(), fresh = classifier();
  left.compile(in_window);
  left.train_on_batch({x2}, {y2});
  left.compile(in_window);
  fresh.compile(in_window);
  set_weights(fresh, left.weights_by_path());
  for (Sequential* model : {&left, &fresh}) {
    model->train_on_batch({x}, {y});
    model->train_on_batch({x2}, {y2});
  }
  CHECK(off(left.weights_by_path(), fresh.weights_by_path()).first == 0);
}

TEST_CASE("parts and windows exclude each other") {
  Sequential model = classifier();
  model.compile(settings(in_windows(SGD{}, 2)));
  CHECK(message_of([&] {
          model.fit(numbers({4, 4}, 1), classes(4, 3), {.verbose = "none", .micro_batches = 2});
        }) == "fit: micro_batches and the optimizer's gradient_accumulation_steps exclude each other; take one");
}

TEST_CASE("callbacks read and set the rate when steps are in parts, too") {
  Sequential model = classifier();
  model.compile(settings(SGD{.learning_rate = 0.5}));
  const History history =
      model.fit(numbers({8, 4}, 1), classes(8, 3),
                {.batch_size = 8,
                 .epochs = 3,
                 .verbose = "none",
                 .callbacks = {ReduceLROnPlateau{.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 100}},
                 .micro_batches = 2});
  CHECK(history["learning_rate"] == std::vector<double>{0.5, 0.5, 0.25});
}
