// SPDX-License-Identifier: Apache-2.0
// Convolutions.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

// Zeros before and after so that `same` gives ceil(in / stride) outputs; the odd one goes behind, as in TensorFlow.
inline std::pair<std::int64_t, std::int64_t> same_padding(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                                                          std::int64_t dilation) {
  const std::int64_t span = (kernel - 1) * dilation + 1, out = (in + stride - 1) / stride;
  const std::int64_t all = std::max<std::int64_t>(0, (out - 1) * stride + span - in);
  return {all / 2, all - all / 2};
}

// channels_first is turned to channels last on the way in, and back on the way out.
inline Value to_channels_last(Value x, const std::string& data_format) {
  return data_format == "channels_first" ? transpose(x, {0, 2, 3, 1}) : x;
}
inline Value from_channels_last(Value x, const std::string& data_format) {
  return data_format == "channels_first" ? transpose(x, {0, 3, 1, 2}) : x;
}

struct Conv2D {
  std::int64_t filters = 0;
  Pair kernel_size = 0;
  Pair strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
  Pair dilation_rate = 1;
  std::int64_t groups = 1;
  Optional<Layer> activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", bias_initializer = "zeros";
  Optional<Regularizer> kernel_regularizer = {}, bias_regularizer = {};
  Optional<Constraint> kernel_constraint = {}, bias_constraint = {};
  static Schema schema() {
    return Schema("Conv2D", "Two-dimensional convolution with a learned kernel [height, width, in / groups, filters].")
        .arg("filters", &Conv2D::filters, "Channels of the output.", at_least(1))
        .arg("kernel_size", &Conv2D::kernel_size, "Height and width of the window.", at_least(1))
        .arg("strides", &Conv2D::strides, "Steps down and across.", at_least(1))
        .arg("padding", &Conv2D::padding, "valid: none; same: zeros, so that stride 1 keeps the size.",
             one_of({"valid", "same"}))
        .arg("data_format", &Conv2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("dilation_rate", &Conv2D::dilation_rate, "Distance of the window's elements.", at_least(1))
        .arg("groups", &Conv2D::groups, "Groups of channels that are convolved apart.", at_least(1))
        .arg("activation", &Conv2D::activation, "Applied to the output.")
        .arg("use_bias", &Conv2D::use_bias, "Whether to add a bias a channel.")
        .arg("kernel_initializer", &Conv2D::kernel_initializer, "First values of the kernel.")
        .arg("bias_initializer", &Conv2D::bias_initializer, "First values of the bias.")
        .arg("kernel_regularizer", &Conv2D::kernel_regularizer, "A penalty on the kernel.")
        .arg("bias_regularizer", &Conv2D::bias_regularizer, "A penalty on the bias.")
        .arg("kernel_constraint", &Conv2D::kernel_constraint, "What the kernel must satisfy.")
        .arg("bias_constraint", &Conv2D::bias_constraint, "What the bias must satisfy.")
        .example(+[] { return Conv2D{.filters = 3, .kernel_size = 2}; }, {{4, 4, 2}})
        .example(
            +[] {
              return Conv2D{.filters = 2, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "tanh"};
            },
            {{5, 4, 1}})
        .example(
            +[] { return Conv2D{.filters = 4, .kernel_size = 2, .dilation_rate = 2, .groups = 2, .use_bias = false}; },
            {{4, 4, 2}})
        .example(+[] { return Conv2D{.filters = 2, .kernel_size = 2, .data_format = "channels_first"}; }, {{2, 3, 3}});
  }
  Value call(Scope& s, Value x) const {
    if (x.shape().rank() != 4)
      throw Error(cat("takes images [batch, height, width, channels], got ", x.shape(),
                      x.shape().rank() == 3 ? "; give the input a channel axis: shape [height, width, 1]" : ""));
    x = to_channels_last(x, data_format);
    const std::int64_t channels = x.shape()[3];
    if (channels % groups || filters % groups)
      throw Error(cat("groups ", groups, " must divide the ", channels, " channels and the ", filters, " filters"));
    Convolution c{.strides = strides, .dilation = dilation_rate, .pad_low = 0, .pad_high = 0, .groups = groups};
    if (padding == "same") {
      const auto [top, bottom] = same_padding(x.shape()[1], kernel_size.first, strides.first, dilation_rate.first);
      const auto [left, right] = same_padding(x.shape()[2], kernel_size.second, strides.second, dilation_rate.second);
      c.pad_low = Pair(top, left);
      c.pad_high = Pair(bottom, right);
    }
    Value kernel = s.weight(
        "kernel", {kernel_size.first, kernel_size.second, channels / groups, filters},
        {.initializer = kernel_initializer, .regularizer = kernel_regularizer, .constraint = kernel_constraint});
    Value y = conv2d(x, kernel, c);
    if (use_bias)
      y = y +
          s.weight("bias", {filters},
                   {.initializer = bias_initializer, .regularizer = bias_regularizer, .constraint = bias_constraint});
    y = from_channels_last(y, data_format);
    return activation ? call_layer(s, *activation, std::span<const Value>(&y, 1), "activation")[0] : y;
  }
};

inline void register_convolution(Registry<Layer>& r) {
  r.add<Conv2D>();
  r.add_alias("Convolution2D", "Conv2D", [] { return Layer(Conv2D{}); });
}

}  // namespace strata::layers
