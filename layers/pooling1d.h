// SPDX-License-Identifier: Apache-2.0
// Pooling of sequences [batch, time, channels].
#pragma once

#include "strata/layers/pooling.h"

namespace strata::layers {

// channels_first is turned to [batch, time, channels] and back.
inline Value sequence_last(Value x, const std::string& data_format) {
  if (x.shape().rank() != 3) throw Error(cat("takes sequences [batch, time, channels], got ", x.shape()));
  return data_format == "channels_first" ? transpose(x, {0, 2, 1}) : x;
}

// A sequence pooled as an image of width 1.
template <class F>
Value pooled_sequence(Value x, std::int64_t window, const Optional<std::int64_t>& strides, const std::string& padding,
                      const std::string& data_format, F pool) {
  x = sequence_last(x, data_format);
  const Shape& shape = x.shape();
  x = reshape(x, {shape[0], shape[1], 1, shape[2]});
  x = pool(x, pooling_of(x.shape(), Pair(window, 1), Pair(strides ? *strides : window, 1), padding));
  return sequence_last(reshape(x, x.shape().without(2)), data_format);
}

struct MaxPooling1D {
  std::int64_t pool_size = 2;
  Optional<std::int64_t> strides = {};
  std::string padding = "valid", data_format = "channels_last";
  static Schema schema() {
    return Schema("MaxPooling1D", "The largest of each window of steps.")
        .alias("MaxPool1D")
        .arg("pool_size", &MaxPooling1D::pool_size, "Steps of the window.", at_least(1))
        .arg("strides", &MaxPooling1D::strides, "Steps from window to window; its size when not given.", at_least(1))
        .arg("padding", &MaxPooling1D::padding, "same: windows over the end count what is there.",
             one_of({"valid", "same"}))
        .arg("data_format", &MaxPooling1D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return MaxPooling1D{}; }, {{4, 2}})
        .example(+[] { return MaxPooling1D{.pool_size = 3, .strides = 2, .padding = "same"}; }, {{6, 2}});
  }
  Value call(Scope&, Value x) const { return pooled_sequence(x, pool_size, strides, padding, data_format, max_pool2d); }
};

struct AveragePooling1D {
  std::int64_t pool_size = 2;
  Optional<std::int64_t> strides = {};
  std::string padding = "valid", data_format = "channels_last";
  static Schema schema() {
    return Schema("AveragePooling1D", "The mean of each window of steps; with same padding of what is really there.")
        .alias("AvgPool1D")
        .arg("pool_size", &AveragePooling1D::pool_size, "Steps of the window.", at_least(1))
        .arg("strides", &AveragePooling1D::strides, "Steps from window to window; its size when not given.",
             at_least(1))
        .arg("padding", &AveragePooling1D::padding, "same: windows over the end count what is there.",
             one_of({"valid", "same"}))
        .arg("data_format", &AveragePooling1D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return AveragePooling1D{}; }, {{4, 2}})
        .example(+[] { return AveragePooling1D{.pool_size = 3, .strides = 2, .padding = "same"}; }, {{6, 2}});
  }
  Value call(Scope&, Value x) const {
    return pooled_sequence(x, pool_size, strides, padding, data_format, average_pool2d);
  }
};

struct GlobalAveragePooling1D {
  std::string data_format = "channels_last";
  bool keepdims = false;
  static Schema schema() {
    return Schema("GlobalAveragePooling1D", "The mean over all steps, or over those that count.")
        .alias("GlobalAvgPool1D")
        .masking(Schema::Masking::uses)
        .arg("data_format", &GlobalAveragePooling1D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("keepdims", &GlobalAveragePooling1D::keepdims, "Whether the steps' axis stays, as 1.")
        .example(+[] { return GlobalAveragePooling1D{}; }, {{3, 2}})
        .example(+[] { return GlobalAveragePooling1D{.data_format = "channels_first", .keepdims = true}; }, {{2, 3}});
  }
  Value call(Scope& s, Value x) const {
    const std::int64_t steps = data_format == "channels_first" ? 2 : 1;
    if (x.shape().rank() != 3) throw Error(cat("takes sequences [batch, time, channels], got ", x.shape()));
    const Value mask = s.mask(x);
    if (!mask) return reduce_mean(x, {steps}, keepdims);
    const Shape& m = mask.shape();
    const Value counts = reshape(mask, steps == 1 ? m.append(1) : Shape{m[0], 1, m[1]});
    const Value kept = select(counts, x, full_like(x, 0)), number = cast(counts, x.dtype());
    return reduce_sum(kept, {steps}, keepdims) / reduce_sum(number, {steps}, keepdims);
  }
  Value mask(Scope&, std::span<const Value>, Value) const { return {}; }
};

struct GlobalMaxPooling1D {
  std::string data_format = "channels_last";
  bool keepdims = false;
  static Schema schema() {
    return Schema("GlobalMaxPooling1D", "The largest over all steps.")
        .alias("GlobalMaxPool1D")
        .arg("data_format", &GlobalMaxPooling1D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .arg("keepdims", &GlobalMaxPooling1D::keepdims, "Whether the steps' axis stays, as 1.")
        .example(+[] { return GlobalMaxPooling1D{}; }, {{3, 2}})
        .example(+[] { return GlobalMaxPooling1D{.data_format = "channels_first", .keepdims = true}; }, {{2, 3}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 3) throw Error(cat("takes sequences [batch, time, channels], got ", x.shape()));
    return reduce_max(x, {data_format == "channels_first" ? 2 : 1}, keepdims);
  }
};

inline void register_pooling1d(Registry<Layer>& r) {
  r.add<MaxPooling1D>();
  r.add<AveragePooling1D>();
  r.add<GlobalAveragePooling1D>();
  r.add<GlobalMaxPooling1D>();
}

}  // namespace strata::layers
