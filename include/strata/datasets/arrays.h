// SPDX-License-Identifier: Apache-2.0
// Arrays in memory.
#pragma once

#include "strata/dataset.h"

namespace strata::datasets {

// From C++ only: tensors stand in no file. Inputs are named x0, x1, … and targets y0, … unless names are given.
struct Arrays {
  std::vector<Tensor> x = {}, y = {};
  Tensor sample_weight = {};
  std::vector<std::string> input_names = {}, target_names = {};
  static Schema schema() { return Schema("Arrays", "Arrays in memory; made in C++ only."); }
  std::shared_ptr<const Reader> open() const;  // Error: row counts that differ, names that are taken
};

inline void register_arrays(Registry<Dataset>&) {}  // tensors stand in no file

}  // namespace strata::datasets
