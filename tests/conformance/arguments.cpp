// SPDX-License-Identifier: Apache-2.0
// Every argument of every layer has its effect: those that layers share, here, whatever the layer; the others in a case
// against Keras, or in a test of this file. None is left out.
#include <numeric>
#include <set>

#include "strata/layers.h"
#include "strata/ops.h"
#include "support/arrays.h"
#include "support/catalogues.h"
#include "support/golden.h"
#include "support/graph_run.h"
#include "support/layer_example.h"
#include "support/training.h"

namespace strata::test {
namespace {

// Arguments that have a test of their own below.
const std::set<std::string> here{"Dropout.noise_shape",         "LSTM.dropout",
                                 "LSTM.recurrent_dropout",      "GRU.dropout",
                                 "GRU.recurrent_dropout",       "SimpleRNN.dropout",
                                 "SimpleRNN.recurrent_dropout", "SpatialDropout1D.rate",
                                 "SpatialDropout2D.rate",       "GaussianNoise.stddev",
                                 "GaussianDropout.rate",        "ActivityRegularization.l1",
                                 "ActivityRegularization.l2",   "GlobalMaxPooling2D.keepdims",
                                 "Masking.mask_value"};

bool ends(const std::string& text, const std::string& end) { return text.ends_with(end); }

// Arguments that mean the same in every layer and are tested for all of them.
bool shared(const std::string& arg) {
  return ends(arg, "_initializer") || ends(arg, "_regularizer") || ends(arg, "_constraint") || arg == "seed" ||
         arg == "data_format";
}

Layer with(const Layer& layer, const Schema::Example& example, const std::string& arg, const Config& value) {
  Config args = example.args();
  args.set(arg, value);
  return parts<Layer>().make(layer.name(), args);
}

// The weight that "kernel_initializer" or "recurrent_constraint" speaks of.
bool speaks_of(const std::string& arg, const std::string& path) {
  const std::string stem = arg.substr(0, arg.rfind('_')), name = path.substr(path.rfind('/') + 1);
  return name == stem || name == stem + "_kernel";
}

// Calls f(layer, example, arg) for every argument with this ending, in examples whose layer makes the weight.
template <class F> void each_weight_argument(const std::string& ending, F f) {
  each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
    for (const auto& arg : layer.schema().args) {
      if (!ends(arg.name, ending)) continue;
      const auto t = traced(layer, example, 2, true);
      for (const auto& [path, _] : t->trace.states)
        if (speaks_of(arg.name, path)) {
          CAPTURE(arg.name);
          f(layer, example, arg.name, path);
        }
    }
  });
}

double penalty_of(LayerTrace& t) {
  Value total;
  for (const Value& penalty : t.trace.penalties) {
    const Value own = cast(penalty, DType::float64);
    total = total ? total + own : own;
  }
  return total ? result(evaluate(t.graph, t.feeds), total).data[0] : 0;
}

// Every output of a layer on these inputs, with weights around 1.
std::vector<Array> outputs_of(const Layer& layer, const Schema::Example& example, bool training,
                              const std::function<void(Arrays&)>& change = {}) {
  const auto t = traced(layer, example, 3, training);
  if (change) change(t->feeds);
  const auto values = evaluate(t->graph, t->feeds);
  std::vector<Array> outputs;
  for (const Value& output : t->outputs) outputs.push_back(result(values, output));
  return outputs;
}

bool near(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b, [](const Array& x, const Array& y) { return difference(x, y) < 1e-12; });
}

// [batch, channels, …] from [batch, …, channels] (or back).
Array turned(const Array& array, bool to_first) {
  std::vector<std::int64_t> order{0};
  const int rank = array.shape.rank();
  if (to_first) order.push_back(rank - 1);
  for (int i = 1; i + 1 < rank; ++i) order.push_back(to_first ? i : i + 1);
  if (!to_first) order.push_back(1);
  Graph graph;
  const Value y = transpose(graph.input("x", {array.shape, DType::float64}), order);
  return result(evaluate(graph, {{"x", array}}), y);
}
Shape turned(const Shape& row) {  // a row's shape, channels first
  Shape first{row[-1]};
  for (int i = 0; i + 1 < row.rank(); ++i) first = first.append(row[i]);
  return first;
}

Layer made(const std::string& text) {
  Mistakes mistakes;
  const Layer layer = parts<Layer>().read(parse_flow(text), "it", mistakes);
  mistakes.raise();
  return layer;
}

// A layer on ones [rows, …], in training.
Array on_ones(const std::string& text, const Shape& shape) {
  Schema::Example example;
  example.inputs = {shape.without(0)};
  const auto t = traced(made(text), example, shape[0], true);
  t->feeds["x0"] = Array(shape, std::vector<double>(static_cast<std::size_t>(shape.size()), 1.0));
  return result(evaluate(t->graph, t->feeds), t->outputs[0]);
}

}  // namespace

TEST_CASE("every argument of every layer is varied: shared by layers, against Keras, or in a test here") {
  std::map<std::string, std::set<std::string>> varied;
  for (const char* file : {"layers", "activations"}) {
    const json cases = golden(file);
    for (const auto& c : cases["cases"]) {
      const std::string word = c["kind"];
      if (!parts<Layer>().has(word)) continue;
      const Schema& schema = parts<Layer>().schema(word);
      for (const auto& [arg, value] : c["args"].items())
        if (const auto* known = schema.find(arg); known && (known->required || !(config_of(value) == known->fallback)))
          varied[schema.name].insert(arg);
    }
  }
  std::set<std::string> unused = here;
  for (const std::string& name : parts<Layer>().names())
    for (const auto& arg : parts<Layer>().schema(name).args) {
      const std::string both = cat(name, ".", arg.name);
      if (shared(arg.name) || varied[name].count(arg.name)) continue;
      CHECK_MESSAGE(unused.erase(both) == 1, both << " is varied nowhere");
    }
  for (const std::string& both : unused) FAIL_CHECK(both << " needs no mention here");
}

TEST_CASE("every …_initializer makes the first values of its weight, and of no other") {
  int met = 0;
  each_weight_argument("_initializer", [&](const Layer& layer, const Schema::Example& example, const std::string& arg,
                                           const std::string& path) {
    ++met;
    const auto usual = traced(layer, example, 2, true),
               t = traced(with(layer, example, arg, parse_flow("{Constant: {value: 0.625}}")), example, 2, true);
    auto first = [](LayerTrace& of, const std::string& at) {
      const StateDeclaration& declared = of.trace.states.at(at);
      std::vector<double> values(static_cast<std::size_t>(declared.type.size()));
      declared.initializer->make(Fill{declared.type.shape, 1, at}, values);
      return values;
    };
    // The forget gate's quarter of an LSTM's bias begins at 1 all the same.
    const auto values = first(*t, path);
    for (const double value : values) CHECK((value == 0.625 || (value == 1 && layer.name() == "LSTM")));
    CHECK(std::ranges::count(values, 0.625) >= static_cast<std::ptrdiff_t>(values.size()) / 2);
    for (const auto& [other, _] : usual->trace.states)
      if (other != path) CHECK_MESSAGE(first(*usual, other) == first(*t, other), other);
  });
  CHECK(met > 40);
}

TEST_CASE("every …_regularizer adds the penalty of its weight to the loss") {
  int met = 0;
  each_weight_argument("_regularizer", [&](const Layer& layer, const Schema::Example& example, const std::string& arg,
                                           const std::string& path) {
    ++met;
    const auto usual = traced(layer, example, 2, true),
               t = traced(with(layer, example, arg, parse_flow("{L2: {l2: 0.5}}")), example, 2, true);
    // The engine adds a weight's own penalty when it puts the loss together.
    const StateDeclaration& declared = t->trace.states.at(path);
    REQUIRE(declared.regularizer);
    CHECK(declared.regularizer->write() == parse_flow("{l2: 0.5}"));
    CHECK(penalty_of(*t) == doctest::Approx(penalty_of(*usual)));
    for (const auto& [other, state] : t->trace.states) CHECK_MESSAGE((other == path || !state.regularizer), other);

    auto loss = [&](const Layer& of) {
      Model model = model_of(of, example);
      model.compile({.loss = "mse"});
      for (const StateEntry& entry : model.weights())
        if (is_floating(entry.type.dtype))
          model.set_weight(entry.path, tensor_of(uniform(entry.type.shape, 7, 0.3, 1.2), entry.type.dtype));
      const std::vector<Tensor> x = rows_for(example, 2);
      std::vector<Tensor> y;
      for (const Tensor& out : model.predict(x)) y.push_back(numbers(out.shape(), 60 + y.size()));
      double squares = 0;
      for (const StateEntry& entry : model.weights())
        if (speaks_of(arg, entry.path))
          for (const double value : model.weight(entry.path).to_doubles()) squares += value * value;
      return std::pair(model.test_on_batch(x, y).at("loss"), squares);
    };
    const auto [plain, squares] = loss(layer.clone());
    CHECK(loss(with(layer, example, arg, parse_flow("{L2: {l2: 0.5}}"))).first - plain ==
          doctest::Approx(0.5 * squares).epsilon(1e-4));
  });
  CHECK(met > 25);
}

TEST_CASE("every …_constraint holds for its weight after a step, and for no other") {
  int met = 0;
  each_weight_argument("_constraint", [&](const Layer& layer, const Schema::Example& example, const std::string& arg,
                                          const std::string& path) {
    ++met;
    const auto t = traced(with(layer, example, arg, Config("non_neg")), example, 2, true);
    for (const auto& [other, state] : t->trace.states)
      CHECK_MESSAGE(static_cast<bool>(state.constraint) == (other == path), other);

    // From weights of which half are negative, by steps of next to nothing.
    Model model = model_of(with(layer, example, arg, Config("non_neg")), example);
    model.compile({.optimizer = parts<Optimizer>().make("SGD", parse_flow("{learning_rate: 1e-6}")), .loss = "mse"});
    for (const StateEntry& entry : model.weights())
      if (entry.trainable) model.set_weight(entry.path, numbers(entry.type.shape, 7));
    const std::vector<Tensor> x = rows_for(example, 2);
    std::vector<Tensor> y;
    for (const Tensor& out : model.predict(x)) y.push_back(numbers(out.shape(), 60 + y.size()));
    model.train_on_batch(x, y);
    for (const StateEntry& entry : model.weights()) {
      if (!entry.trainable) continue;
      const auto values = model.weight(entry.path).to_doubles();
      const bool negative = std::ranges::any_of(values, [](double value) { return value < 0; });
      CHECK_MESSAGE(negative != speaks_of(arg, entry.path), entry.path);
    }
  });
  CHECK(met > 25);
}

TEST_CASE("every layer with data_format gives the same with channels first as last, moved") {
  std::set<std::string> met;
  each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
    if (!layer.schema().find("data_format") || example.args().find("data_format")) return;
    met.insert(layer.name());
    Schema::Example moved = example;
    for (Shape& row : moved.inputs) row = turned(row);
    const Layer first = with(layer, example, "data_format", Config("channels_first"));
    for (const bool training : {false, true}) {
      const auto last_inputs = traced(layer, example, 3, training)->feeds;
      const auto a = outputs_of(layer, example, training),
                 b = outputs_of(first, moved, training, [&](Arrays&feeds) {
                   for (std::size_t i = 0; i < example.inputs.size(); ++i)
                     feeds[cat("x", i)] = turned(last_inputs.at(cat("x", i)), true);
                 });
      REQUIRE(a.size() == b.size());
      for (std::size_t o = 0; o < a.size(); ++o) {
        const bool flat = a[o].shape.rank() != example.inputs[0].rank() + 1;
        CHECK(difference(a[o], flat ? b[o] : turned(b[o], false)) < 1e-12);
      }
    }
  });
  for (const std::string& name : parts<Layer>().names())
    if (parts<Layer>().schema(name).find("data_format")) CHECK_MESSAGE(met.count(name) == 1, name);
}

TEST_CASE("every layer's seed: equal ones draw the same, others something else") {
  int met = 0;
  each_example<Layer>([&](const Layer& layer, const Schema::Example& example) {
    if (!layer.schema().find("seed")) return;
    const auto unseeded = outputs_of(layer, example, true);
    if (near(unseeded, outputs_of(layer, example, false))) return;  // nothing is drawn in this example
    ++met;
    const auto one = outputs_of(with(layer, example, "seed", Config(1)), example, true);
    CHECK(near(one, outputs_of(with(layer, example, "seed", Config(1)), example, true)));
    // Few elements may be drawn alike once, not for every seed.
    int others = 0;
    for (const int seed : {2, 3, 4})
      others += !near(one, outputs_of(with(layer, example, "seed", Config(seed)), example, true));
    CHECK(others > 0);
  });
  CHECK(met > 8);
}

TEST_CASE("every layer's activity_regularizer, dtype and trainable act whatever the layer") {
  each_example<Layer>([](const Layer& layer, const Schema::Example& example) {
    Layer own = parts<Layer>().make(layer.name(), example.args());
    own.common().activity_regularizer = parts<Regularizer>().make("L2", parse_flow("{l2: 0.5}"));
    const auto usual = traced(layer, example, 4, false), t = traced(own, example, 4, false);
    const auto values = evaluate(t->graph, t->feeds);
    double squares = 0;
    for (const double value : result(values, t->outputs[0]).data) squares += value * value;
    // Of float32 numbers, over the batch's rows.
    CHECK(penalty_of(*t) - penalty_of(*usual) == doctest::Approx(0.5 * squares / 4).epsilon(1e-5));

    Layer wide = parts<Layer>().make(layer.name(), example.args());
    wide.common().dtype = "float64";
    const auto w = traced(wide, example, 4, false, "float32");
    for (const auto& [path, state] : w->trace.states)
      if (state.trainable) CHECK_MESSAGE(state.type.dtype == DType::float64, path);
    for (const Value& output : w->outputs) CHECK(output.dtype() == DType::float64);
  });
}

TEST_CASE("a rate is the part that is dropped; what stays is scaled so that the mean does; noise_shape is shared") {
  for (const double rate : {0.25, 0.6}) {
    CAPTURE(rate);
    for (const char* form : {"{Dropout: {rate: ", "{SpatialDropout1D: {rate: ", "{SpatialDropout2D: {rate: "}) {
      CAPTURE(std::string(form));
      const bool spatial = std::string(form).find("Spatial") != std::string::npos,
                 flat = std::string(form).find("2D") == std::string::npos;
      const Array y = on_ones(cat(form, rate, "}}"), flat ? Shape{40, 5, 60} : Shape{40, 2, 3, 60});
      double dropped = 0;
      for (const double value : y.data) {
        CHECK((value == 0 || value == doctest::Approx(1 / (1 - rate))));
        dropped += value == 0;
      }
      CHECK(dropped / static_cast<double>(y.data.size()) == doctest::Approx(rate).epsilon(spatial ? 0.1 : 0.05));
      const std::size_t places = flat ? 5 : 6;
      std::size_t alike = 0;  // a channel with its neighbour place
      for (std::size_t row = 0; row < 40; ++row)
        for (std::size_t c = 0; c < 60; ++c)
          alike += y.data[(row * places) * 60 + c] == y.data[(row * places + 1) * 60 + c];
      if (spatial) CHECK(alike == 40 * 60);
      else CHECK(alike < 40 * 60 * 7 / 10);
    }
  }
  const Array y = on_ones("{Dropout: {rate: 0.5, noise_shape: [-1, 1, -1]}}", {10, 4, 50});
  for (std::size_t row = 0; row < 10; ++row)
    for (std::size_t c = 0; c < 50; ++c)
      for (std::size_t place = 1; place < 4; ++place)
        CHECK(y.data[(row * 4 + place) * 50 + c] == y.data[row * 4 * 50 + c]);
  CHECK(std::set(y.data.begin(), y.data.end()) == std::set<double>{0, 2});
}

TEST_CASE("noise has the deviation asked for, about 0 or as a factor about 1") {
  auto moments = [](const Array& y) {
    const auto n = static_cast<double>(y.data.size());
    const double mean = std::accumulate(y.data.begin(), y.data.end(), 0.0) / n;
    double squares = 0;
    for (const double value : y.data) squares += (value - mean) * (value - mean);
    return std::pair(mean, std::sqrt(squares / n));
  };
  const auto [mean, deviation] = moments(on_ones("{GaussianNoise: {stddev: 0.3}}", {100, 200}));
  CHECK(mean == doctest::Approx(1).epsilon(0.01));
  CHECK(deviation == doctest::Approx(0.3).epsilon(0.03));
  const auto [factor, spread] = moments(on_ones("{GaussianDropout: {rate: 0.2}}", {100, 200}));
  CHECK(factor == doctest::Approx(1).epsilon(0.02));
  CHECK(spread == doctest::Approx(0.5).epsilon(0.03));  // sqrt(rate / (1 - rate))
}

TEST_CASE("recurrent layers: dropout takes inputs away, recurrent_dropout the state on its way into the gates") {
  for (const char* name : {"LSTM", "GRU", "SimpleRNN"}) {
    CAPTURE(std::string(name));
    Schema::Example example;
    example.inputs = {{4, 3}};
    // All but one in ten million are dropped: all of them here.
    auto run = [&](const std::string& more, bool training, const std::function<void(Arrays&)>& change = {}) {
      return outputs_of(made(cat("{", name, ": {units: 2, return_sequences: true", more, "}}")), example, training,
                        change);
    };
    auto without = [](const std::string& ending) {
      return [ending](Arrays& feeds) {
        for (auto& [path, value] : feeds)
          if (path.ends_with(ending)) value = Array(value.shape);
      };
    };
    CHECK(near(run(", dropout: 0.9999999", true), run("", true, without("x0"))));
    CHECK_FALSE(near(run("", true), run("", true, without("x0"))));
    CHECK(near(run(", dropout: 0.9999999, recurrent_dropout: 0.9999999", false), run("", false)));
    CHECK_FALSE(near(run("", true), run("", true, without("/recurrent_kernel"))));
    CHECK(near(run(", recurrent_dropout: 0.9999999", true), run("", true, without("/recurrent_kernel"))));
    CHECK_FALSE(near(run(", dropout: 0.3, seed: 1", true), run(", dropout: 0.6, seed: 1", true)));
  }
}

TEST_CASE("ActivityRegularization's factors, GlobalMaxPooling2D's kept axes, Masking's value") {
  Schema::Example flat;
  flat.inputs = {{3}};
  const auto t = traced(made("{ActivityRegularization: {l1: 0.5, l2: 0.25}}"), flat, 2, true);
  t->feeds["x0"] = Array(Shape{2, 3}, {1, -2, 0, 0.5, 1, -1});
  CHECK(penalty_of(*t) == doctest::Approx((0.5 * 5.5 + 0.25 * 7.25) / 2));

  Schema::Example image;
  image.inputs = {{3, 2, 2}};
  auto pooled = [&](const char* text) { return outputs_of(made(text), image, false)[0]; };
  const Array kept = pooled("{GlobalMaxPooling2D: {keepdims: true}}"), gone = pooled("GlobalMaxPooling2D");
  CHECK(kept.shape == Shape{3, 1, 1, 2});
  CHECK(gone.shape == Shape{3, 2});
  CHECK(kept.data == gone.data);

  Schema::Example steps;
  steps.inputs = {{3, 2}};
  const auto m = traced(made("{Masking: {mask_value: 7}}"), steps, 1, false);
  m->feeds["x0"] = Array(Shape{1, 3, 2}, {7, 7, 7, 1, 0, 0});
  Scope scope(m->trace, "", {});
  const Value mask = scope.mask(m->outputs[0]);
  REQUIRE(mask);
  const auto values = evaluate(m->graph, m->feeds);
  CHECK(result(values, mask).data == std::vector<double>{0, 1, 1});
  CHECK(result(values, m->outputs[0]).data == std::vector<double>{0, 0, 7, 1, 0, 0});
}

}  // namespace strata::test
