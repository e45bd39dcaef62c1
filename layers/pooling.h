// SPDX-License-Identifier: Apache-2.0
// Pooling.
#pragma once

#include "strata/layers/convolution.h"

namespace strata::layers {

inline Pooling pooling_of(const Shape& x, Pair window, Optional<Pair> strides, const std::string& padding) {
  if (x.rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x));
  Pooling p{.window = window, .strides = strides ? *strides : window, .pad_low = 0, .pad_high = 0};
  if (padding == "same") {
    const auto [top, bottom] = same_padding(x[1], window.first, p.strides.first, 1);
    const auto [left, right] = same_padding(x[2], window.second, p.strides.second, 1);
    p.pad_low = Pair(top, left);
    p.pad_high = Pair(bottom, right);
  }
  return p;
}

struct MaxPooling2D {
  Pair pool_size = 2;
  Optional<Pair> strides = {};
  std::string padding = "valid", data_format = "channels_last";
  static Schema schema() {
    return Schema("MaxPooling2D", "The largest of each window.")
        .alias("MaxPool2D")
        .arg("pool_size", &MaxPooling2D::pool_size, "Height and width of the window.", at_least(1))
        .arg("strides", &MaxPooling2D::strides, "Steps down and across; the window's size when not given.", at_least(1))
        .arg("padding", &MaxPooling2D::padding, "same: windows over the edge count what is there.",
             one_of({"valid", "same"}))
        .arg("data_format", &MaxPooling2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return MaxPooling2D{}; }, {{4, 4, 2}})
        .example(+[] { return MaxPooling2D{.pool_size = Pair(3, 2), .strides = 2, .padding = "same"}; }, {{5, 5, 1}});
  }
  Value call(Scope&, Value x) const {
    x = to_channels_last(x, data_format);
    return from_channels_last(max_pool2d(x, pooling_of(x.shape(), pool_size, strides, padding)), data_format);
  }
};

struct AveragePooling2D {
  Pair pool_size = 2;
  Optional<Pair> strides = {};
  std::string padding = "valid", data_format = "channels_last";
  static Schema schema() {
    return Schema("AveragePooling2D", "The mean of each window; with same padding of what is really there.")
        .alias("AvgPool2D")
        .arg("pool_size", &AveragePooling2D::pool_size, "Height and width of the window.", at_least(1))
        .arg("strides", &AveragePooling2D::strides, "Steps down and across; the window's size when not given.",
             at_least(1))
        .arg("padding", &AveragePooling2D::padding, "same: windows over the edge count what is there.",
             one_of({"valid", "same"}))
        .arg("data_format", &AveragePooling2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return AveragePooling2D{}; }, {{4, 4, 2}})
        .example(+[] { return AveragePooling2D{.pool_size = 3, .strides = 2, .padding = "same"}; }, {{5, 4, 1}});
  }
  Value call(Scope&, Value x) const {
    x = to_channels_last(x, data_format);
    return from_channels_last(average_pool2d(x, pooling_of(x.shape(), pool_size, strides, padding)), data_format);
  }
};

inline std::vector<std::int64_t> image_axes(const std::string& data_format) {
  return data_format == "channels_first" ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{1, 2};
}

struct GlobalAveragePooling2D {
  std::string data_format = "channels_last";
  bool keepdims = false;
  static Schema schema() {
    return Schema("GlobalAveragePooling2D", "The mean over the whole image.")
        .alias("GlobalAvgPool2D")
        .arg("data_format", &GlobalAveragePooling2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("keepdims", &GlobalAveragePooling2D::keepdims, "Whether height and width stay, as 1.")
        .example(+[] { return GlobalAveragePooling2D{}; }, {{3, 2, 2}})
        .example(+[] { return GlobalAveragePooling2D{.keepdims = true}; }, {{2, 2, 3}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    return reduce_mean(x, image_axes(data_format), keepdims);
  }
};

struct GlobalMaxPooling2D {
  std::string data_format = "channels_last";
  bool keepdims = false;
  static Schema schema() {
    return Schema("GlobalMaxPooling2D", "The largest over the whole image.")
        .alias("GlobalMaxPool2D")
        .arg("data_format", &GlobalMaxPooling2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("keepdims", &GlobalMaxPooling2D::keepdims, "Whether height and width stay, as 1.")
        .example(+[] { return GlobalMaxPooling2D{}; }, {{3, 2, 2}})
        .example(+[] { return GlobalMaxPooling2D{.data_format = "channels_first", .keepdims = true}; }, {{3, 2, 2}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    return reduce_max(x, image_axes(data_format), keepdims);
  }
};

inline void register_pooling(Registry<Layer>& r) {
  r.add<MaxPooling2D>();
  r.add<AveragePooling2D>();
  r.add<GlobalAveragePooling2D>();
  r.add<GlobalMaxPooling2D>();
}

}  // namespace strata::layers
