// SPDX-License-Identifier: Apache-2.0
// The golden values of tests/golden, read for tests.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "strata/layer.h"
#include "strata/precision.h"

namespace strata::test {

using nlohmann::json;

inline json golden(const std::string& name) {
  std::ifstream in(std::string(STRATA_SOURCE_DIR "/tests/golden/") + name + ".json");
  REQUIRE(in);
  return json::parse(in);
}

inline Array array_of(const json& tensor) {
  const std::vector<std::int64_t> shape = tensor["shape"];
  return {Shape(shape), tensor["data"].get<std::vector<double>>()};
}

inline Config config_of(const json& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return Config(value.get<bool>());
  if (value.is_number_integer()) return Config(value.get<std::int64_t>());
  if (value.is_number()) return Config(value.get<double>());
  if (value.is_string()) return Config(value.get<std::string>());
  if (value.is_array()) {
    Config::List list;
    for (const auto& item : value) list.push_back(config_of(item));
    return Config(std::move(list));
  }
  Config map(Config::Map{});
  for (const auto& [key, item] : value.items()) map.set_entry(key, config_of(item));
  return map;
}

// The largest difference relative to the larger of 1 and the golden value; infinite when shapes differ.
inline double off(const Array& ours, const Array& golden) {
  if (!(ours.shape == golden.shape) || ours.data.size() != golden.data.size()) return HUGE_VAL;
  double most = 0;
  for (std::size_t i = 0; i < golden.data.size(); ++i) {
    const double difference = std::abs(ours.data[i] - golden.data[i]) / std::max(1.0, std::abs(golden.data[i]));
    if (std::isnan(difference)) return HUGE_VAL;
    most = std::max(most, difference);
  }
  return most;
}

inline const Array& at(const std::vector<std::vector<Array>>& values, const Value& value) {
  return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

// A graph traced in float64, with its feeds.
struct Traced {
  Graph graph;
  Trace trace;
  std::map<std::string, Array> feeds;

  explicit Traced(bool training, std::int64_t rows) {
    trace.graph = &graph;
    trace.training = training;
    trace.rows = rows;
    trace.precision = precision_named("float64");
    feeds[names::seed] = Array(Shape{});
    feeds[names::step] = Array(Shape{});
    feeds[names::faults] = Array(Shape{});
    feeds[names::first_row] = Array(Shape{});
  }
  Scope scope() { return {trace, "", trace.precision}; }
  Value input(const std::string& name, const Array& value, DType dtype = DType::float64) {
    feeds[name] = value;
    return graph.input(name, {value.shape, dtype});
  }
};

}  // namespace strata::test
