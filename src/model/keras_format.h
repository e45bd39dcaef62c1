// SPDX-License-Identifier: Apache-2.0
// Keras 3's .weights.h5: which dataset holds which weight. Groups are named by class and counted within their container,
// in Keras's layer order; within a layer the trainable weights come first.
#pragma once

#include <string>
#include <vector>

#include "model/core.h"

namespace strata {

struct KerasDataset {
  std::string dataset;  // "layers/conv2d_1/vars/0", "layers/lstm/cell/vars/2"
  std::string path;     // of the state: "features/kernel"
  Type type;
};
struct KerasGroup {
  std::string group;  // "layers/conv2d_1/vars": written even when empty
  std::string name;   // its attribute: the layer's name
};
struct KerasLayout {
  std::vector<KerasGroup> groups;
  std::vector<KerasDataset> datasets;
};

KerasLayout keras_layout(const Topology& topology, const std::map<std::string, StateDeclaration>& states,
                         const std::vector<std::string>& order);

}  // namespace strata
