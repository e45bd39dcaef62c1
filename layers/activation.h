// SPDX-License-Identifier: Apache-2.0
// Activations: Keras's activation layers, and a layer for each of its activation functions, so that `activation: gelu`
// and a layer of its own are the same thing.
#pragma once

#include <cmath>

#include "strata/layer.h"

namespace strata::layers {

inline constexpr double selu_alpha = 1.67326324235437, selu_scale = 1.05070098735548;

struct Linear {
  static Schema schema() {
    return Schema("Linear", "Its input.").masking(Schema::Masking::passes).example(+[] { return Linear{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x; }
};

struct ReLU {
  Optional<double> max_value = {};
  double negative_slope = 0, threshold = 0;
  static Schema schema() {
    return Schema("ReLU", "max(x, 0), with a slope below a threshold and a largest value if wanted.")
        .masking(Schema::Masking::passes)
        .alias("relu")
        .arg("max_value", &ReLU::max_value, "The largest output.", at_least(0))
        .arg("negative_slope", &ReLU::negative_slope, "The slope below the threshold.", at_least(0))
        .arg("threshold", &ReLU::threshold, "Below it values count as negative.", at_least(0))
        .example(+[] { return ReLU{}; }, {{3}})
        .example(+[] { return ReLU{.max_value = 0.4, .negative_slope = 0.1, .threshold = 0.2}; }, {{5}});
  }
  Value call(Scope&, Value x) const {
    if (!max_value && negative_slope == 0 && threshold == 0) return relu(x);
    Value above = greater(x, full_like(x, threshold));
    if (threshold == 0) above = greater_equal(x, full_like(x, 0));
    Value y = max_value ? minimum(x, full_like(x, *max_value)) : x;
    return select(above, y, (x - threshold) * negative_slope);
  }
};

struct Relu6 {
  static Schema schema() {
    return Schema("Relu6", "min(max(x, 0), 6).")
        .masking(Schema::Masking::passes)
        .example(+[] { return Relu6{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return minimum(relu(x), full_like(x, 6)); }
};

struct LeakyReLU {
  double negative_slope = 0.3;
  static Schema schema() {
    return Schema("LeakyReLU",
                  "x above 0, a small slope below. The word leaky_relu alone has slope 0.2, as Keras's function.")
        .masking(Schema::Masking::passes)
        .arg("negative_slope", &LeakyReLU::negative_slope, "The slope below 0.", at_least(0))
        .example(+[] { return LeakyReLU{.negative_slope = 0.1}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return select(greater_equal(x, full_like(x, 0)), x, x * negative_slope); }
};

struct PReLU {
  Initializer alpha_initializer = "Zeros";
  Optional<Regularizer> alpha_regularizer = {};
  Optional<Constraint> alpha_constraint = {};
  Optional<Ints> shared_axes = {};
  static Schema schema() {
    return Schema("PReLU", "x above 0, a learned slope below. He et al., 2015.")
        .masking(Schema::Masking::passes)
        .arg("alpha_initializer", &PReLU::alpha_initializer, "Of the slopes.")
        .arg("alpha_regularizer", &PReLU::alpha_regularizer, "Of the slopes.")
        .arg("alpha_constraint", &PReLU::alpha_constraint, "Of the slopes.")
        .arg("shared_axes", &PReLU::shared_axes, "Axes (1 is the first after the batch) along which the slope is one.")
        .example(+[] { return PReLU{.alpha_initializer = "RandomUniform"}; }, {{3}})
        .example(
            +[] {
              return PReLU{.alpha_initializer = "RandomUniform", .shared_axes = Ints{1, 2}};
            },
            {{2, 3, 2}});
  }
  Value call(Scope& s, Value x) const {
    Shape shape = x.shape().without(0);
    if (shared_axes)
      for (const auto axis : shared_axes->values) shape = shape.with(static_cast<int>(axis) - 1, 1);
    Value alpha =
        s.weight("alpha", shape,
                 {.initializer = alpha_initializer, .regularizer = alpha_regularizer, .constraint = alpha_constraint});
    return relu(x) - alpha * relu(negate(x));
  }
};

struct ELU {
  double alpha = 1;
  static Schema schema() {
    return Schema("ELU", "x above 0, alpha (exp(x) - 1) below. Clevert et al., 2016.")
        .masking(Schema::Masking::passes)
        .arg("alpha", &ELU::alpha, "The size of the largest negative output.")
        .example(+[] { return ELU{.alpha = 0.5}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    return select(greater(x, full_like(x, 0)), x, expm1(minimum(x, full_like(x, 0))) * alpha);
  }
};

struct Selu {
  static Schema schema() {
    return Schema("Selu", "The scaled ELU that keeps mean and variance. Klambauer et al., 2017.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Selu{}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    return select(greater(x, full_like(x, 0)), x, expm1(minimum(x, full_like(x, 0))) * selu_alpha) * selu_scale;
  }
};

struct Celu {
  double alpha = 1;
  static Schema schema() {
    return Schema("Celu", "x above 0, alpha (exp(x / alpha) - 1) below.")
        .masking(Schema::Masking::passes)
        .arg("alpha", &Celu::alpha, "The size of the largest negative output.", not_zero())
        .example(+[] { return Celu{.alpha = 0.5}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return relu(x) + expm1(minimum(x, full_like(x, 0)) / alpha) * alpha; }
};

struct Gelu {
  bool approximate = false;
  static Schema schema() {
    return Schema("Gelu", "x times the normal distribution at x. Hendrycks and Gimpel, 2016.")
        .masking(Schema::Masking::passes)
        .arg("approximate", &Gelu::approximate, "Whether to take the tanh form.")
        .example(+[] { return Gelu{}; }, {{3}})
        .example(+[] { return Gelu{.approximate = true}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    if (!approximate) return x * 0.5 * (1.0 + erf(x * 0.7071067811865476));
    return x * 0.5 * (1.0 + tanh((x + x * square(x) * 0.044715) * 0.7978845608028654));
  }
};

struct Sigmoid {
  static Schema schema() {
    return Schema("Sigmoid", "1 / (1 + exp(-x)).")
        .masking(Schema::Masking::passes)
        .example(+[] { return Sigmoid{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return sigmoid(x); }
};

struct LogSigmoid {
  static Schema schema() {
    return Schema("LogSigmoid", "log(sigmoid(x)).")
        .masking(Schema::Masking::passes)
        .example(+[] { return LogSigmoid{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return negate(softplus(negate(x))); }
};

inline Value hard_sigmoid_of(Value x) { return minimum(relu(x * (1.0 / 6) + 0.5), full_like(x, 1)); }

struct HardSigmoid {
  static Schema schema() {
    return Schema("HardSigmoid", "x / 6 + 1 / 2, between 0 and 1.")
        .masking(Schema::Masking::passes)
        .example(+[] { return HardSigmoid{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return hard_sigmoid_of(x); }
};

struct Silu {
  static Schema schema() {
    return Schema("Silu", "x sigmoid(x), also called swish.")
        .masking(Schema::Masking::passes)
        .alias("swish")
        .example(+[] { return Silu{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x * sigmoid(x); }
};

struct HardSilu {
  static Schema schema() {
    return Schema("HardSilu", "x hard_sigmoid(x), also called hard_swish.")
        .masking(Schema::Masking::passes)
        .alias("hard_swish")
        .example(+[] { return HardSilu{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x * hard_sigmoid_of(x); }
};

struct Tanh {
  static Schema schema() {
    return Schema("Tanh", "Hyperbolic tangent.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Tanh{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return tanh(x); }
};

struct HardTanh {
  static Schema schema() {
    return Schema("HardTanh", "x between -1 and 1.")
        .masking(Schema::Masking::passes)
        .example(+[] { return HardTanh{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return minimum(maximum(x, full_like(x, -1)), full_like(x, 1)); }
};

struct TanhShrink {
  static Schema schema() {
    return Schema("TanhShrink", "x - tanh(x).")
        .masking(Schema::Masking::passes)
        .example(+[] { return TanhShrink{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x - tanh(x); }
};

struct Softplus {
  static Schema schema() {
    return Schema("Softplus", "log(1 + exp(x)).")
        .masking(Schema::Masking::passes)
        .example(+[] { return Softplus{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return softplus(x); }
};

struct Softsign {
  static Schema schema() {
    return Schema("Softsign", "x / (1 + |x|).")
        .masking(Schema::Masking::passes)
        .example(+[] { return Softsign{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x / (absolute(x) + 1.0); }
};

struct Squareplus {
  double b = 4;
  static Schema schema() {
    return Schema("Squareplus", "(x + sqrt(x² + b)) / 2.")
        .masking(Schema::Masking::passes)
        .arg("b", &Squareplus::b, "How soft the bend is.", at_least(0))
        .example(+[] { return Squareplus{.b = 2}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return (x + sqrt(square(x) + b)) * 0.5; }
};

struct Mish {
  static Schema schema() {
    return Schema("Mish", "x tanh(softplus(x)). Misra, 2019.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Mish{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x * tanh(softplus(x)); }
};

struct Exponential {
  static Schema schema() {
    return Schema("Exponential", "exp(x).")
        .masking(Schema::Masking::passes)
        .example(+[] { return Exponential{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return exp(x); }
};

struct Softmax {
  Ints axis = -1;
  static Schema schema() {
    return Schema("Softmax", "exp(x) over its sum along an axis.")
        .masking(Schema::Masking::passes)
        .arg("axis", &Softmax::axis, "The axis, or axes taken together.")
        .example(+[] { return Softmax{}; }, {{4}})
        .example(+[] { return Softmax{.axis = 1}; }, {{3, 2}});
  }
  Value call(Scope& s, Value x) const {
    // 16-bit sums are too coarse: float32 inside, whatever the policy.
    Value wide = size_of(x.dtype()) < 4 ? cast(x, DType::float32) : x;
    Value mask = s.mask(x);
    if (mask && mask.shape() == x.shape()) wide = select(mask, wide, full_like(wide, -1e9));
    Value y;
    if (axis.values.size() == 1) {
      y = softmax(wide, static_cast<int>(axis.values[0]));
    } else {
      Value shifted = exp(wide - stop_gradient(reduce_max(wide, axis.values, true)));
      y = shifted / reduce_sum(shifted, axis.values, true);
    }
    if (mask && mask.shape() == x.shape()) y = select(mask, y, full_like(y, 0));
    return cast(y, x.dtype());
  }
};

struct LogSoftmax {
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("LogSoftmax", "The logarithm of softmax.")
        .masking(Schema::Masking::passes)
        .arg("axis", &LogSoftmax::axis, "The axis.")
        .example(+[] { return LogSoftmax{}; }, {{4}})
        .example(+[] { return LogSoftmax{.axis = 1}; }, {{3, 2}});
  }
  Value call(Scope&, Value x) const { return log_softmax(x, static_cast<int>(axis)); }
};

struct Sparsemax {
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("Sparsemax", "The nearest point of the probability simplex: many zeros. Martins and Astudillo, 2016.")
        .masking(Schema::Masking::passes)
        .arg("axis", &Sparsemax::axis, "The axis whose values become a distribution.")
        .example(+[] { return Sparsemax{}; }, {{4}})
        .example(+[] { return Sparsemax{.axis = 1}; }, {{3, 2}});
  }
  Value call(Scope&, Value x) const {
    const int last = x.shape().rank() - 1, at = x.shape().axis(static_cast<int>(axis));
    std::vector<std::int64_t> swapped;  // its own opposite
    for (int i = 0; i <= last; ++i) swapped.push_back(i == at ? last : i == last ? at : i);
    return at == last ? along_last(x) : transpose(along_last(transpose(x, swapped)), swapped);
  }
  static Value along_last(Value x) {
    const std::int64_t n = x.shape()[-1];
    std::vector<double> counting;
    for (std::int64_t k = 1; k <= n; ++k) counting.push_back(static_cast<double>(k));
    Value z = sort_descending(x), k = literal(*x.graph, counting, {n}, x.dtype()), sums = cumulative_sum(z);
    Value inside = cast(greater(1.0 + k * z, sums), x.dtype()), count = reduce_sum(inside, {-1}, true);
    Value tau = (reduce_sum(z * inside, {-1}, true) - 1.0) / count;
    return relu(x - tau);
  }
};

struct SparsePlus {
  static Schema schema() {
    return Schema("SparsePlus", "0 up to -1, x from 1, a parabola between.")
        .masking(Schema::Masking::passes)
        .example(+[] { return SparsePlus{}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    Value one = full_like(x, 1);
    return select(greater_equal(x, one), x,
                  select(less_equal(x, full_like(x, -1)), full_like(x, 0), square(x + 1.0) * 0.25));
  }
};

struct SparseSigmoid {
  static Schema schema() {
    return Schema("SparseSigmoid", "(x + 1) / 2, between 0 and 1.")
        .masking(Schema::Masking::passes)
        .example(+[] { return SparseSigmoid{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return minimum(relu((x + 1.0) * 0.5), full_like(x, 1)); }
};

struct SoftShrink {
  double threshold = 0.5;
  static Schema schema() {
    return Schema("SoftShrink", "x drawn towards 0 by a threshold.")
        .masking(Schema::Masking::passes)
        .arg("threshold", &SoftShrink::threshold, "By how much.", at_least(0))
        .example(+[] { return SoftShrink{.threshold = 0.3}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return relu(x - threshold) - relu(negate(x) - threshold); }
};

struct HardShrink {
  double threshold = 0.5;
  static Schema schema() {
    return Schema("HardShrink", "x, or 0 where it is within a threshold of 0.")
        .masking(Schema::Masking::passes)
        .arg("threshold", &HardShrink::threshold, "How near counts as 0.", at_least(0))
        .example(+[] { return HardShrink{.threshold = 0.3}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    return select(greater(absolute(x), full_like(x, threshold)), x, full_like(x, 0));
  }
};

struct Threshold {
  double threshold = 0, default_value = 0;
  static Schema schema() {
    return Schema("Threshold", "x above a threshold, a fixed value elsewhere.")
        .masking(Schema::Masking::passes)
        .arg("threshold", &Threshold::threshold, "The threshold.")
        .arg("default_value", &Threshold::default_value, "The value elsewhere.")
        .example(+[] { return Threshold{.threshold = 0.1, .default_value = -1}; }, {{3}});
  }
  Value call(Scope&, Value x) const {
    return select(greater(x, full_like(x, threshold)), x, full_like(x, default_value));
  }
};

struct Glu {
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("Glu", "The first half of an axis times the sigmoid of the second. Dauphin et al., 2017.")
        .arg("axis", &Glu::axis, "The axis that is halved.")
        .example(+[] { return Glu{}; }, {{4}})
        .example(+[] { return Glu{.axis = 1}; }, {{2, 3}});
  }
  Value call(Scope&, Value x) const {
    const int at = static_cast<int>(axis);
    const std::int64_t whole = x.shape()[at];
    if (whole % 2) throw Error(cat("Glu halves axis ", axis, " of ", x.shape(), ", which is odd"));
    return slice_axis(x, at, 0, whole / 2) * sigmoid(slice_axis(x, at, whole / 2, whole));
  }
};

inline void register_activation(Registry<Layer>& r) {
  r.add<Linear>();
  r.add<ReLU>();
  r.add<Relu6>();
  r.add<LeakyReLU>();
  r.add<PReLU>();
  r.add<ELU>();
  r.add<Selu>();
  r.add<Celu>();
  r.add<Gelu>();
  r.add<Sigmoid>();
  r.add<LogSigmoid>();
  r.add<HardSigmoid>();
  r.add<Silu>();
  r.add<HardSilu>();
  r.add<Tanh>();
  r.add<HardTanh>();
  r.add<TanhShrink>();
  r.add<Softplus>();
  r.add<Softsign>();
  r.add<Squareplus>();
  r.add<Mish>();
  r.add<Exponential>();
  r.add<Softmax>();
  r.add<LogSoftmax>();
  r.add<Sparsemax>();
  r.add<SparsePlus>();
  r.add<SparseSigmoid>();
  r.add<SoftShrink>();
  r.add<HardShrink>();
  r.add<Threshold>();
  r.add<Glu>();
  r.add_alias("leaky_relu", "LeakyReLU", [] { return Layer(LeakyReLU{.negative_slope = 0.2}); });
}

}  // namespace strata::layers
