// SPDX-License-Identifier: Apache-2.0
// IDX files, plain or gzipped: the format of MNIST and its kin.
#pragma once

#include "strata/dataset.h"

namespace strata::datasets {

struct IDX {
  std::string images = {}, labels = {}, directory = {};
  std::int64_t classes = 0;
  static Schema schema() {
    return Schema("IDX",
                  "Images and labels in IDX files, gzipped or not. Images of rank 2 a row get a channel axis of 1.")
        .arg("images", &IDX::images, "The file of images.")
        .arg("labels", &IDX::labels, "The file of labels; none when empty.")
        .arg("directory", &IDX::directory, "Where the files are; the current directory when empty.")
        .arg("classes", &IDX::classes, "How many classes; the largest label + 1 when 0.", at_least(0))
        .example(+[] { return IDX{.images = "train-images-idx3-ubyte.gz", .labels = "train-labels-idx1-ubyte.gz"}; })
        .example(
            +[] { return IDX{.images = "images", .labels = "labels", .directory = "data/digits", .classes = 10}; });
  }
  std::shared_ptr<const Reader> open() const;  // Error: what is wrong with the files
};

inline void register_idx(Registry<Dataset>& r) { r.add<IDX>(); }

}  // namespace strata::datasets
