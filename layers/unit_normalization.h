// SPDX-License-Identifier: Apache-2.0
// Brings each sample to length one.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

struct UnitNormalization {
  Ints axis = -1;

  static Schema schema() {
    return Schema("UnitNormalization", "Each sample divided by its Euclidean length along some axes.")
        .masking(Schema::Masking::passes)
        .arg("axis", &UnitNormalization::axis, "The axis, or axes taken together.")
        .example([] { return UnitNormalization{}; }, {{4}})
        .example(
            [] {
              return UnitNormalization{.axis = Ints{1, 2}};
            },
            {{2, 3}});
  }

  Value call(Scope&, Value x) const {
    Value squares = reduce_sum(square(x), axis.values, true);
    return x * rsqrt(maximum(squares, full_like(squares, 1e-12)));
  }
};

inline void register_unit_normalization(Registry<Layer>& r) { r.add<UnitNormalization>(); }

}  // namespace strata::layers
