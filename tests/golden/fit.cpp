// SPDX-License-Identifier: Apache-2.0
// Whole small trainings against real Keras: histories, final weights, predictions, evaluations.
#include "model/core.h"
#include "model/run_file.h"
#include "strata/datasets/arrays.h"
#include "support/golden.h"

using namespace strata;
using namespace strata::test;

namespace {

Tensor tensor_of(const json& value, DType dtype) {
  const Array array = array_of(value);
  return Tensor::from_doubles({array.shape, dtype}, array.data);
}

Model model_of(const json& c) {
  Mistakes mistakes;
  std::map<std::string, Where> places;
  const auto model = read_model(config_of(c["model"]), "golden", mistakes, places);
  mistakes.raise();
  return *model;
}

// Keras names a weight within its layer; layers are named.
std::string path_of(const Model& model, const std::string& layer, const std::string& name) {
  for (const auto& entry : model.weights())
    if (entry.path.starts_with(layer + "/") && entry.path.ends_with("/" + name)) return entry.path;
  return "";
}

CompileSettings settings_of(const json& c) {
  CompileSettings settings;
  settings.optimizer = parts<Optimizer>().make(c["optimizer"].begin().key(), config_of(c["optimizer"].begin().value()));
  settings.loss = parts<Loss>().make(c["loss"].begin().key(), config_of(c["loss"].begin().value()));
  const auto list = [](const json& names) {
    std::vector<Metric> metrics;
    if (!names.is_null())
      for (const auto& name : names) metrics.emplace_back(name.get<std::string>());
    return MetricList(metrics);
  };
  settings.metrics = list(c["metrics"]);
  settings.weighted_metrics = list(c["weighted_metrics"]);
  settings.precision = "float64";
  return settings;
}

void check_case(const json& c) {
  Model model = model_of(c);
  model.compile(settings_of(c));
  for (const auto& [layer, weights] : c["initial_weights"].items())
    for (const auto& weight : weights) {
      const std::string path = path_of(model, layer, weight["name"]);
      REQUIRE(!path.empty());
      model.set_weight(path, tensor_of(weight["tensor"], DType::float64));
    }
  const bool classes = c["loss"].begin().key() == "SparseCategoricalCrossentropy";
  const DType target = classes ? DType::int32 : DType::float64;
  const Tensor x = tensor_of(c["x"], DType::float64), y = tensor_of(c["y"], target);
  datasets::Arrays data{.x = {x}, .y = {y}};
  if (c.contains("sample_weight") && !c["sample_weight"].is_null())
    data.sample_weight = tensor_of(c["sample_weight"], DType::float64);
  FitOptions options{.batch_size = c["batch_size"], .epochs = c["epochs"], .verbose = "none", .shuffle = c["shuffle"]};
  if (c.contains("validation_split")) options.validation_split = c["validation_split"];
  if (c.contains("validation_data"))
    options.validation_data = datasets::Arrays{.x = {tensor_of(c["validation_data"][0], DType::float64)},
                                               .y = {tensor_of(c["validation_data"][1], target)}};
  if (c.contains("class_weight"))
    for (const auto& [label, weight] : c["class_weight"].items()) options.class_weight[std::stoll(label)] = weight;
  const History history = model.fit(data, options);
  CHECK(history.figures.size() == c["history"].size());
  for (const auto& [figure, values] : c["history"].items()) {
    CAPTURE(figure);
    REQUIRE(history.figures.count(figure));
    REQUIRE(history[figure].size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(history[figure][i] == doctest::Approx(values[i].get<double>()).epsilon(1e-5));
  }
  for (const auto& [layer, weights] : c["final_weights"].items())
    for (const auto& weight : weights) {
      const std::string path = path_of(model, layer, weight["name"]);
      CAPTURE(path);
      const Tensor own = model.weight(path);
      CHECK(off(Array(own.shape(), own.to_doubles()), array_of(weight["tensor"])) < 1e-6);
    }
  const Tensor predicted = model.predict(x, {.batch_size = 4});
  CHECK(off(Array(predicted.shape(), predicted.to_doubles()), array_of(c["predict"])) < 1e-5);
  const Figures evaluated = model.evaluate(x, y, {.batch_size = 4});
  for (const auto& [figure, value] : c["evaluate"].items()) {
    CAPTURE(figure);
    REQUIRE(evaluated.count(figure));
    CHECK(evaluated.at(figure) == doctest::Approx(value.get<double>()).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("fit follows Keras from the first epoch to the last weight") {
  const json file = golden("fit");
  int checked = 0;
  for (const auto& c : file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    try {
      check_case(c);
      ++checked;
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
  CHECK(checked == 19);
}
