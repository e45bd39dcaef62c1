// SPDX-License-Identifier: Apache-2.0
// Normalization. All of it computes in float32 at least, whatever the policy.
#pragma once

#include <algorithm>
#include <tuple>

#include "strata/layer.h"

namespace strata::layers {

struct BatchNormalization {
  std::int64_t axis = -1;
  double momentum = 0.99, epsilon = 0.001;
  bool center = true, scale = true;
  Initializer beta_initializer = "zeros", gamma_initializer = "ones", moving_mean_initializer = "zeros",
              moving_variance_initializer = "ones";
  Optional<Regularizer> beta_regularizer = {}, gamma_regularizer = {};
  Optional<Constraint> beta_constraint = {}, gamma_constraint = {};
  static Schema schema() {
    return Schema("BatchNormalization",
                  "Each channel brought to mean 0 and variance 1 over the batch, times gamma plus beta; outside "
                  "training by moving averages. Ioffe and Szegedy, 2015. "
                  "Frozen, it uses its averages in training too. Statistics are over the whole batch, all replicas "
                  "together.")
        .computes(DType::float32)
        .masking(Schema::Masking::passes)
        .arg("axis", &BatchNormalization::axis, "The axis of the channels.")
        .arg("momentum", &BatchNormalization::momentum, "How much of the averages stays at each step.", between(0, 1))
        .arg("epsilon", &BatchNormalization::epsilon, "Added to the variance.", at_least(0))
        .arg("center", &BatchNormalization::center, "Whether to add beta.")
        .arg("scale", &BatchNormalization::scale, "Whether to multiply by gamma.")
        .arg("beta_initializer", &BatchNormalization::beta_initializer, "First values of beta.")
        .arg("gamma_initializer", &BatchNormalization::gamma_initializer, "First values of gamma.")
        .arg("moving_mean_initializer", &BatchNormalization::moving_mean_initializer, "First moving mean.")
        .arg("moving_variance_initializer", &BatchNormalization::moving_variance_initializer, "First moving variance.")
        .arg("beta_regularizer", &BatchNormalization::beta_regularizer, "A penalty on beta.")
        .arg("gamma_regularizer", &BatchNormalization::gamma_regularizer, "A penalty on gamma.")
        .arg("beta_constraint", &BatchNormalization::beta_constraint, "What beta must satisfy.")
        .arg("gamma_constraint", &BatchNormalization::gamma_constraint, "What gamma must satisfy.")
        .example(+[] { return BatchNormalization{}; }, {{3}})
        .example(+[] { return BatchNormalization{.axis = 1, .momentum = 0.8, .scale = false}; }, {{2, 3}})
        .example(+[] { return BatchNormalization{.center = false}; }, {{2, 2, 3}});
  }

  Value call(Scope& s, Value x) const {
    const int rank = x.shape().rank(), at = x.shape().axis(static_cast<int>(axis));
    if (rank < 2 || at == 0) throw Error(cat("needs a batch and channels, got ", x.shape(), " with axis ", axis));
    std::vector<std::int64_t> order, back;
    if (at != rank - 1) {
      for (int i = 0; i < rank; ++i)
        if (i != at) order.push_back(i);
      order.push_back(at);
      back.resize(order.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
      x = transpose(x, order);
    }
    const Shape channels{x.shape()[-1]};
    const DType dtype = s.precision().variable == DType::float64 ? DType::float64 : DType::float32;
    auto weight = [&](const char* name, const Initializer& first, const Optional<Regularizer>& r,
                      const Optional<Constraint>& c) {
      return cast(
          s.weight(name, channels, {.initializer = first, .regularizer = r, .constraint = c, .autocast = false}),
          x.dtype());
    };
    Value gamma = scale ? weight("gamma", gamma_initializer, gamma_regularizer, gamma_constraint) : Value{};
    Value beta = center ? weight("beta", beta_initializer, beta_regularizer, beta_constraint) : Value{};
    Value mean = s.state("moving_mean", {channels, dtype}, moving_mean_initializer),
          variance = s.state("moving_variance", {channels, dtype}, moving_variance_initializer);
    Value y;
    if (s.training() && s.trainable()) {
      Value batch_mean, batch_variance;
      if (Value mask = s.mask(x); mask && mask.shape().rank() < x.shape().rank()) {
        std::tie(batch_mean, batch_variance) = masked_moments(x, mask);
        y = normalized(x, batch_mean, batch_variance, gamma, beta);
      } else {
        const Values all = batch_norm(x, gamma, beta, epsilon);
        y = all[0];
        batch_mean = all[1];
        batch_variance = all[2];
      }
      s.next(mean, mean * momentum + cast(stop_gradient(batch_mean), dtype) * (1 - momentum));
      s.next(variance, variance * momentum + cast(stop_gradient(batch_variance), dtype) * (1 - momentum));
    } else {
      y = normalized(x, cast(mean, x.dtype()), cast(variance, x.dtype()), gamma, beta);
    }
    return back.empty() ? y : transpose(y, back);
  }

  Value normalized(Value x, Value mean, Value variance, Value gamma, Value beta) const {
    Value factor = rsqrt(variance + epsilon);
    if (gamma) factor = factor * gamma;
    Value y = x * factor - mean * factor;
    return beta ? y + beta : y;
  }

  // Moments over the steps that count.
  static std::pair<Value, Value> masked_moments(Value x, Value mask) {
    Shape shape = mask.shape();
    while (shape.rank() < x.shape().rank()) shape = shape.append(1);
    Value w = broadcast_to(cast(reshape(mask, shape), x.dtype()), x.shape());
    std::vector<std::int64_t> axes;
    for (int i = 0; i + 1 < x.shape().rank(); ++i) axes.push_back(i);
    Value count = reduce_sum(w, axes) + 1e-7, mean = reduce_sum(x * w, axes) / count;
    return {mean, reduce_sum(w * square(x - mean), axes) / count};
  }
};

struct LayerNormalization {
  Ints axis = -1;
  double epsilon = 0.001;
  bool center = true, scale = true;
  Initializer beta_initializer = "zeros", gamma_initializer = "ones";
  Optional<Regularizer> beta_regularizer = {}, gamma_regularizer = {};
  Optional<Constraint> beta_constraint = {}, gamma_constraint = {};
  static Schema schema() {
    return Schema(
               "LayerNormalization",
               "Each sample brought to mean 0 and variance 1 along some axes, times gamma plus beta. Ba et al., 2016.")
        .computes(DType::float32)
        .masking(Schema::Masking::passes)
        .arg("axis", &LayerNormalization::axis, "The axis, or axes taken together.")
        .arg("epsilon", &LayerNormalization::epsilon, "Added to the variance.", at_least(0))
        .arg("center", &LayerNormalization::center, "Whether to add beta.")
        .arg("scale", &LayerNormalization::scale, "Whether to multiply by gamma.")
        .arg("beta_initializer", &LayerNormalization::beta_initializer, "First values of beta.")
        .arg("gamma_initializer", &LayerNormalization::gamma_initializer, "First values of gamma.")
        .arg("beta_regularizer", &LayerNormalization::beta_regularizer, "A penalty on beta.")
        .arg("gamma_regularizer", &LayerNormalization::gamma_regularizer, "A penalty on gamma.")
        .arg("beta_constraint", &LayerNormalization::beta_constraint, "What beta must satisfy.")
        .arg("gamma_constraint", &LayerNormalization::gamma_constraint, "What gamma must satisfy.")
        .example(+[] { return LayerNormalization{}; }, {{4}})
        .example(
            +[] {
              return LayerNormalization{.axis = Ints{1, 2}, .center = false};
            },
            {{2, 3}})
        .example(+[] { return LayerNormalization{.axis = 1, .scale = false}; }, {{3, 2}});
  }
  Value call(Scope& s, Value x) const {
    const int rank = x.shape().rank();
    std::vector<std::int64_t> axes;
    for (const auto a : axis.values) axes.push_back(x.shape().axis(static_cast<int>(a)));
    std::sort(axes.begin(), axes.end());
    Shape own;
    for (const auto a : axes) own = own.append(x.shape()[static_cast<int>(a)]);
    auto weight = [&](const char* name, const Initializer& first, const Optional<Regularizer>& r,
                      const Optional<Constraint>& c) {
      return cast(s.weight(name, own, {.initializer = first, .regularizer = r, .constraint = c, .autocast = false}),
                  x.dtype());
    };
    Value gamma = scale ? weight("gamma", gamma_initializer, gamma_regularizer, gamma_constraint) : Value{};
    Value beta = center ? weight("beta", beta_initializer, beta_regularizer, beta_constraint) : Value{};
    if (axes.size() == 1 && axes[0] == rank - 1) return layer_norm(x, gamma, beta, epsilon);
    Value mean = reduce_mean(x, axes, true), variance = reduce_mean(square(x - mean), axes, true),
          y = (x - mean) * rsqrt(variance + epsilon);
    Shape across;
    for (int i = 0; i < rank; ++i)
      across = across.append(std::find(axes.begin(), axes.end(), i) != axes.end() ? x.shape()[i] : 1);
    if (gamma) y = y * reshape(gamma, across);
    return beta ? y + reshape(beta, across) : y;
  }
};

struct RMSNormalization {
  Ints axis = -1;
  double epsilon = 1e-6;
  static Schema schema() {
    return Schema("RMSNormalization",
                  "Each sample divided by its root mean square along some axes, times a learned scale. Zhang and "
                  "Sennrich, 2019.")
        .computes(DType::float32)
        .masking(Schema::Masking::passes)
        .arg("axis", &RMSNormalization::axis, "The axis, or axes taken together.")
        .arg("epsilon", &RMSNormalization::epsilon, "Added to the mean square.", at_least(0))
        .example(+[] { return RMSNormalization{}; }, {{4}})
        .example(
            +[] {
              return RMSNormalization{.axis = Ints{1, 2}};
            },
            {{2, 3}});
  }
  Value call(Scope& s, Value x) const {
    Shape own, across;
    for (int i = 0; i < x.shape().rank(); ++i) {
      const bool in = std::any_of(axis.values.begin(), axis.values.end(),
                                  [&](std::int64_t a) { return x.shape().axis(static_cast<int>(a)) == i; });
      if (in) own = own.append(x.shape()[i]);
      across = across.append(in ? x.shape()[i] : 1);
    }
    Value scale = cast(s.weight("scale", own, {.initializer = "ones", .autocast = false}), x.dtype());
    return x * rsqrt(reduce_mean(square(x), axis.values, true) + epsilon) * reshape(scale, across);
  }
};

struct GroupNormalization {
  std::int64_t groups = 32, axis = -1;
  double epsilon = 0.001;
  bool center = true, scale = true;
  Initializer beta_initializer = "zeros", gamma_initializer = "ones";
  Optional<Regularizer> beta_regularizer = {}, gamma_regularizer = {};
  Optional<Constraint> beta_constraint = {}, gamma_constraint = {};
  static Schema schema() {
    return Schema("GroupNormalization",
                  "Each group of a sample's channels brought to mean 0 and variance 1, times gamma plus beta. Wu and "
                  "He, 2018.")
        .computes(DType::float32)
        .masking(Schema::Masking::passes)
        .arg("groups", &GroupNormalization::groups, "How many groups; -1: each channel is one.", at_least(-1))
        .arg("axis", &GroupNormalization::axis, "The axis of the channels.")
        .arg("epsilon", &GroupNormalization::epsilon, "Added to the variance.", at_least(0))
        .arg("center", &GroupNormalization::center, "Whether to add beta.")
        .arg("scale", &GroupNormalization::scale, "Whether to multiply by gamma.")
        .arg("beta_initializer", &GroupNormalization::beta_initializer, "First values of beta.")
        .arg("gamma_initializer", &GroupNormalization::gamma_initializer, "First values of gamma.")
        .arg("beta_regularizer", &GroupNormalization::beta_regularizer, "A penalty on beta.")
        .arg("gamma_regularizer", &GroupNormalization::gamma_regularizer, "A penalty on gamma.")
        .arg("beta_constraint", &GroupNormalization::beta_constraint, "What beta must satisfy.")
        .arg("gamma_constraint", &GroupNormalization::gamma_constraint, "What gamma must satisfy.")
        .example(+[] { return GroupNormalization{.groups = 2}; }, {{3, 4}})
        .example(+[] { return GroupNormalization{.groups = -1, .axis = 1, .center = false}; }, {{2, 3}})
        .example(+[] { return GroupNormalization{.groups = 1, .scale = false}; }, {{2, 2, 3}});
  }
  Value call(Scope& s, Value x) const {
    const int at = x.shape().axis(static_cast<int>(axis));
    const std::int64_t channels = x.shape()[at], parts = groups == -1 ? channels : groups;
    if (parts < 1 || channels % parts)
      throw Error(cat("groups ", parts, " must divide the ", channels, " channels of ", x.shape()));
    Shape apart, across;  // the channels as [groups, channels / groups]
    std::vector<std::int64_t> axes;
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (i == at) apart = apart.append(parts);
      if (i > 0) axes.push_back(i < at ? i : i + 1);
      apart = apart.append(i == at ? channels / parts : x.shape()[i]);
      across = across.append(i == at ? channels : 1);
    }
    const Value seen = reshape(x, apart), mean = reduce_mean(seen, axes, true),
                variance = reduce_mean(square(seen - mean), axes, true);
    Value y = reshape((seen - mean) * rsqrt(variance + epsilon), x.shape());
    auto weight = [&](const char* name, const Initializer& first, const Optional<Regularizer>& r,
                      const Optional<Constraint>& c) {
      const WeightOptions options{.initializer = first, .regularizer = r, .constraint = c, .autocast = false};
      return reshape(cast(s.weight(name, {channels}, options), x.dtype()), across);
    };
    if (scale) y = y * weight("gamma", gamma_initializer, gamma_regularizer, gamma_constraint);
    return center ? y + weight("beta", beta_initializer, beta_regularizer, beta_constraint) : y;
  }
};

inline void register_normalization(Registry<Layer>& r) {
  r.add<GroupNormalization>();
  r.add<BatchNormalization>();
  r.add<LayerNormalization>();
  r.add<RMSNormalization>();
}

}  // namespace strata::layers
