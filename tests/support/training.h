// SPDX-License-Identifier: Apache-2.0
// Small data for small trainings, and how alike two results are.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "strata/model.h"
#include "support/arrays.h"

namespace strata::test {

inline Tensor tensor_of(const Array& array, DType dtype = DType::float32) {
  return Tensor::from_doubles({array.shape, dtype}, array.data);
}
inline Array array_of(const Tensor& tensor) { return {tensor.shape(), tensor.to_doubles()}; }

// Made-up numbers in [low, high), the same every time.
inline Tensor numbers(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1,
                      DType dtype = DType::float32) {
  return tensor_of(drawn({{shape, dtype}, low, high}, seed), dtype);
}
inline Tensor classes(std::int64_t rows, int count, std::uint64_t seed = 3) {
  return numbers({rows}, seed, 0, count, DType::int32);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.host_data(), b.host_data(), a.bytes()) == 0;
}

// The largest difference relative to the larger of 1 and the values; infinite when types differ.
inline double off(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() ? difference(array_of(a), array_of(b)) : HUGE_VAL;
}

// The path that differs most, and by how much.
inline std::pair<double, std::string> off(const std::map<std::string, Tensor>& a,
                                          const std::map<std::string, Tensor>& b) {
  if (a.size() != b.size()) return {HUGE_VAL, "the number of weights"};
  std::pair<double, std::string> most{0, ""};
  for (const auto& [path, value] : a) {
    const double by = b.count(path) ? off(value, b.at(path)) : HUGE_VAL;
    if (by > most.first) most = {by, path};
  }
  return most;
}

inline std::map<std::string, Tensor> copied(const Model& model) {
  std::map<std::string, Tensor> copies;
  for (const auto& [path, value] : model.weights_by_path()) copies[path] = value.clone();
  return copies;
}
inline void set_weights(Model& model, const std::map<std::string, Tensor>& weights) {
  for (const auto& [path, value] : weights) model.set_weight(path, value);
}

}  // namespace strata::test
