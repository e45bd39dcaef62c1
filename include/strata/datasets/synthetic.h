// SPDX-License-Identifier: Apache-2.0
// Made-up data, a function of its seed and the row: for trying things out and for tests.
#pragma once

#include "strata/dataset.h"

namespace strata::datasets {

struct Synthetic {
  std::int64_t rows = 1000;
  Shape shape = {8};
  std::int64_t classes = 4;
  std::string kind = "blobs";
  std::int64_t seed = 0;
  static Schema schema() {
    return Schema("Synthetic",
                  "Made-up data. blobs: a cloud around a centre for each class; regression: a smooth function of the "
                  "input with noise; noise: nothing to learn.")
        .arg("rows", &Synthetic::rows, "How many rows.", at_least(0))
        .arg("shape", &Synthetic::shape, "Shape of a row.")
        .arg("classes", &Synthetic::classes, "Classes, or numbers to predict for regression.", at_least(1))
        .arg("kind", &Synthetic::kind, "What it is.", one_of({"blobs", "regression", "noise"}))
        .arg("seed", &Synthetic::seed, "Another seed, other data.")
        .example(+[] { return Synthetic{.rows = 20}; })
        .example(+[] {
          return Synthetic{.rows = 20, .shape = {4, 4, 1}, .classes = 2, .kind = "regression", .seed = 7};
        });
  }
  std::shared_ptr<const Reader> open() const;
};

inline void register_synthetic(Registry<Dataset>& r) { r.add<Synthetic>(); }

}  // namespace strata::datasets
