// SPDX-License-Identifier: Apache-2.0
// Layers that bring raw numbers into range.
#pragma once

#include <algorithm>
#include <cmath>

#include "strata/layer.h"

namespace strata::layers {

// One number for all, or a list that broadcasts against the last axis.
inline Value spread_numbers(Value x, const Doubles& numbers, std::string_view name) {
  const auto count = static_cast<std::int64_t>(numbers.values.size());
  if (count == 1) return full_like(x, numbers.values[0]);
  if (count != x.shape()[-1])
    throw Error(cat(name, " has ", count, " numbers, the last axis of ", x.shape(), " has ", x.shape()[-1]));
  return literal(*x.graph, numbers.values, {count}, x.dtype());
}

struct Rescaling {
  Doubles scale = 0;
  Doubles offset = 0;
  static Schema schema() {
    return Schema("Rescaling", "x * scale + offset.")
        .masking(Schema::Masking::passes)
        .arg("scale", &Rescaling::scale, "The factor, such as 1/255, or one for each channel.", not_zero())
        .arg("offset", &Rescaling::offset, "What is added, or one for each channel.")
        .example(+[] { return Rescaling{.scale = 0.5, .offset = -1}; }, {{3}})
        .example(
            +[] {
              return Rescaling{.scale = {0.5, -2}, .offset = {1, 0}};
            },
            {{3, 2}});
  }
  Value call(Scope&, Value x) const {
    Value y = x * spread_numbers(x, scale, "scale");
    return offset == Doubles(0) ? y : y + spread_numbers(x, offset, "offset");
  }
};

struct Normalization {
  Ints axis = -1;
  Optional<Doubles> mean = {}, variance = {};
  bool invert = false;
  static Schema schema() {
    return Schema("Normalization",
                  "(x - mean) / sqrt(variance), with the given numbers; without them as much as nothing is done until "
                  "weights are loaded.")
        .masking(Schema::Masking::passes)
        .arg("axis", &Normalization::axis,
             "The axes that have a mean and variance each, without the batch; an empty list: one for all.")
        .arg("mean", &Normalization::mean, "The mean, or one for each place along the axes.")
        .arg("variance", &Normalization::variance, "The variance, or one for each place along the axes.", at_least(0))
        .arg("invert", &Normalization::invert, "Whether to undo it: x * sqrt(variance) + mean.")
        .example(
            +[] {
              return Normalization{.mean = Doubles{0.5, -1}, .variance = Doubles{4, 0.25}};
            },
            {{3, 2}})
        .example(+[] { return Normalization{.axis = Ints{1}, .mean = 1.0, .variance = 4.0, .invert = true}; }, {{3, 2}})
        .example(+[] { return Normalization{}; }, {{3}});
  }
  Value call(Scope& s, Value x) const {
    if (static_cast<bool>(mean) != static_cast<bool>(variance))
      throw Error("takes mean and variance together, or neither");
    Shape across, kept;
    for (int i = 0; i < x.shape().rank(); ++i) {
      const bool in =
          std::ranges::any_of(axis.values, [&](std::int64_t a) { return x.shape().axis(static_cast<int>(a)) == i; });
      across = across.append(in ? x.shape()[i] : 1);
      if (in) kept = kept.append(x.shape()[i]);
    }
    Value centre, spread;
    if (mean) {
      centre = reshape(given(x, *mean, kept, "mean"), across);
      Doubles deviation;
      for (const double v : variance->values) deviation.values.push_back(std::max(std::sqrt(v), tiny));
      spread = reshape(given(x, deviation, kept, "variance"), across);
    } else {
      const WeightOptions first{.initializer = "zeros", .trainable = false},
          second{.initializer = "ones", .trainable = false};
      centre = reshape(s.weight("mean", kept, first), across);
      Value deviation = sqrt(reshape(s.weight("variance", kept, second), across));
      spread = maximum(deviation, full_like(deviation, tiny));
      s.state("count", {{}, DType::int32});  // Keras's files hold it
    }
    return invert ? centre + x * spread : (x - centre) / spread;
  }

 private:
  static constexpr double tiny = 1e-7;
  static Value given(Value x, const Doubles& numbers, const Shape& kept, std::string_view name) {
    std::vector<double> all = numbers.values;
    if (all.size() == 1) all.assign(static_cast<std::size_t>(kept.size()), all[0]);
    if (static_cast<std::int64_t>(all.size()) != kept.size())
      throw Error(
          cat(name, " has ", all.size(), " numbers, but the axes have ", kept.size(), " places in ", x.shape()));
    return literal(*x.graph, all, kept, x.dtype());
  }
};

inline void register_preprocessing(Registry<Layer>& r) {
  r.add<Rescaling>();
  r.add<Normalization>();
}

}  // namespace strata::layers
