// SPDX-License-Identifier: Apache-2.0
// Layers that bring raw numbers into range.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

struct Rescaling {
  double scale = 0;
  double offset = 0;
  static Schema schema() {
    return Schema("Rescaling", "x * scale + offset.")
        .masking(Schema::Masking::passes)
        .arg("scale", &Rescaling::scale, "The factor, such as 1/255.", not_zero())
        .arg("offset", &Rescaling::offset, "What is added.")
        .example(+[] { return Rescaling{.scale = 0.5, .offset = -1}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    Value y = x * scale;
    return offset == 0 ? y : y + offset;
  }
};

inline void register_preprocessing(Registry<Layer>& r) { r.add<Rescaling>(); }

}  // namespace strata::layers
