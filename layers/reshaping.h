// SPDX-License-Identifier: Apache-2.0
// Layers that only move elements.
#pragma once

#include "strata/layers/convolution.h"

namespace strata::layers {

struct Flatten {
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("Flatten", "Each row as one list.")
        .arg("data_format", &Flatten::data_format, "channels_first: channels are moved last before.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return Flatten{}; }, {{2, 3}})
        .example(+[] { return Flatten{.data_format = "channels_first"}; }, {{2, 3, 2}});
  }
  Value call(Scope&, Value x) const {
    const int rank = x.shape().rank();
    if (data_format == "channels_first" && rank > 2) {
      std::vector<std::int64_t> order{0};
      for (int i = 2; i < rank; ++i) order.push_back(i);
      order.push_back(1);
      x = transpose(x, order);
    }
    const std::int64_t rows = x.shape()[0];
    return reshape(x, {rows, rows ? x.shape().size() / rows : Shape(x.shape().slice(1, rank)).size()});
  }
};

struct Reshape {
  std::vector<std::int64_t> target_shape = {-2};
  static Schema schema() {
    return Schema("Reshape", "Each row under another shape.")
        .arg("target_shape", &Reshape::target_shape, "The shape of a row; one extent may be -1: what is left.",
             at_least(-1))
        .example(
            +[] {
              return Reshape{.target_shape = {3, 2}};
            },
            {{6}})
        .example(
            +[] {
              return Reshape{.target_shape = {-1, 2}};
            },
            {{4, 3}});
  }
  Value call(Scope&, Value x) const {
    const std::int64_t rows = x.shape()[0], size = x.shape().slice(1, x.shape().rank()).size();
    std::int64_t known = 1;
    int open = 0;
    for (const auto extent : target_shape) extent == -1 ? void(++open) : void(known *= extent);
    if (open > 1) throw Error("target_shape may have one -1 only");
    Shape shape{rows};
    for (const auto extent : target_shape) shape = shape.append(extent != -1 ? extent : known ? size / known : 0);
    if (shape.slice(1, shape.rank()).size() != size)
      throw Error(cat("cannot make rows of ", Shape(std::span(shape.begin() + 1, shape.end())), " from rows of ",
                      x.shape().slice(1, x.shape().rank()), ": ", known, " does not fit ", size, " elements"));
    return reshape(x, shape);
  }
};

struct Permute {
  std::vector<std::int64_t> dims = {0};
  static Schema schema() {
    return Schema("Permute", "The axes of a row in another order.")
        .arg("dims", &Permute::dims, "For each axis of the result, the input's; 1 is the first after the batch.",
             at_least(1))
        .example(
            +[] {
              return Permute{.dims = {2, 1}};
            },
            {{2, 3}});
  }
  Value call(Scope&, Value x) const {
    std::vector<std::int64_t> order{0};
    order.insert(order.end(), dims.begin(), dims.end());
    return transpose(x, order);
  }
};

struct RepeatVector {
  std::int64_t n = 0;
  static Schema schema() {
    return Schema("RepeatVector", "Each row n times: [batch, n, features].")
        .arg("n", &RepeatVector::n, "How often.", at_least(1))
        .example(+[] { return RepeatVector{.n = 3}; }, {{2}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 2) throw Error(cat("takes [batch, features], got ", x.shape()));
    return broadcast_to(reshape(x, {x.shape()[0], 1, x.shape()[1]}), {x.shape()[0], n, x.shape()[1]});
  }
};

struct ZeroPadding2D {
  Pair padding = 1;
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("ZeroPadding2D", "Rows and columns of zeros around images.")
        .arg("padding", &ZeroPadding2D::padding, "Rows above and below, columns left and right.", at_least(0))
        .arg("data_format", &ZeroPadding2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return ZeroPadding2D{.padding = Pair(1, 2)}; }, {{2, 2, 1}});
  }
  Value call(Scope&, Value x) const {
    x = to_channels_last(x, data_format);
    return from_channels_last(pad(x, {0, padding.first, padding.second, 0}, {0, padding.first, padding.second, 0}),
                              data_format);
  }
};

inline void register_reshaping(Registry<Layer>& r) {
  r.add<Flatten>();
  r.add<Reshape>();
  r.add<Permute>();
  r.add<RepeatVector>();
  r.add<ZeroPadding2D>();
}

}  // namespace strata::layers
