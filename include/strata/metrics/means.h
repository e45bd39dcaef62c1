// SPDX-License-Identifier: Apache-2.0
// Means: of predictions, of differences, of losses.
#pragma once

#include <cmath>
#include <tuple>

#include "strata/losses/classification.h"
#include "strata/losses/regression.h"
#include "strata/metric.h"

namespace strata::metrics {

struct Mean {
  static constexpr Target target = Target::any;
  static Schema schema() {
    return Schema("Mean", "The weighted mean of the predictions themselves.").example(+[] { return Mean{}; });
  }
  Value of(Scope&, Value predicted, Value) const { return predicted; }
};

// A loss, per sample, as a figure.
template <class L> Value loss_of(const L& loss, Scope& scope, Value predicted, Value target, std::string_view name) {
  predicted = cast(predicted, DType::float32);
  constexpr Target kind = requires { L::target; }
  ? Target::classes : Target::like_prediction;
  if (kind == Target::like_prediction) target = cast(target, DType::float32);
  std::tie(predicted, target) = fitted(predicted, target, std::string(name), kind);
  return loss.of(scope, predicted, target);
}

struct MeanSquaredError {
  static constexpr bool up = false;
  static Schema schema() {
    return Schema("MeanSquaredError", "The mean of squared differences.").alias("mse").alias("MSE").example(+[] {
      return MeanSquaredError{};
    });
  }
  Value of(Scope& s, Value predicted, Value target) const {
    return loss_of(losses::MeanSquaredError{}, s, predicted, target, "MeanSquaredError");
  }
};

struct MeanAbsoluteError {
  static constexpr bool up = false;
  static Schema schema() {
    return Schema("MeanAbsoluteError", "The mean size of the differences.").alias("mae").alias("MAE").example(+[] {
      return MeanAbsoluteError{};
    });
  }
  Value of(Scope& s, Value predicted, Value target) const {
    return loss_of(losses::MeanAbsoluteError{}, s, predicted, target, "MeanAbsoluteError");
  }
};

struct RootMeanSquaredError {
  static constexpr bool up = false;
  static Schema schema() {
    return Schema("RootMeanSquaredError", "The root of the mean squared difference over all samples.").example(+[] {
      return RootMeanSquaredError{};
    });
  }
  Values statistics(Scope& s, Value predicted, Value target, Value weight) const {
    predicted = cast(predicted, DType::float32);
    target = cast(target, DType::float32);
    std::tie(predicted, target) = fitted(predicted, target, "RootMeanSquaredError", Target::like_prediction);
    return mean_statistics(s, square(predicted - target), weight);
  }
  double result(std::span<const Array> totals) const { return std::sqrt(mean_result(totals)); }
};

struct BinaryCrossentropy {
  bool from_logits = false;
  double label_smoothing = 0;
  static constexpr bool up = false;
  static Schema schema() {
    return Schema("BinaryCrossentropy", "The binary cross-entropy.")
        .alias("bce")
        .alias("BCE")
        .arg("from_logits", &BinaryCrossentropy::from_logits, "Whether predictions are logits.")
        .arg("label_smoothing", &BinaryCrossentropy::label_smoothing, "How far targets are drawn towards one half.",
             between(0, 1))
        .example(+[] { return BinaryCrossentropy{.from_logits = true, .label_smoothing = 0.1}; });
  }
  Value of(Scope& s, Value predicted, Value target) const {
    return loss_of(losses::BinaryCrossentropy{.from_logits = from_logits, .label_smoothing = label_smoothing}, s,
                   predicted, target, "BinaryCrossentropy");
  }
};

struct CategoricalCrossentropy {
  bool from_logits = false;
  double label_smoothing = 0;
  std::int64_t axis = -1;
  static constexpr bool up = false;
  static Schema schema() {
    return Schema("CategoricalCrossentropy", "The cross-entropy, for one-hot targets.")
        .arg("from_logits", &CategoricalCrossentropy::from_logits, "Whether predictions are logits.")
        .arg("label_smoothing", &CategoricalCrossentropy::label_smoothing,
             "How much of each target is spread over all classes.", between(0, 1))
        .arg("axis", &CategoricalCrossentropy::axis, "The axis of the classes.")
        .example(+[] { return CategoricalCrossentropy{.from_logits = true, .label_smoothing = 0.1, .axis = 1}; });
  }
  Value of(Scope& s, Value predicted, Value target) const {
    return loss_of(
        losses::CategoricalCrossentropy{.from_logits = from_logits, .label_smoothing = label_smoothing, .axis = axis},
        s, predicted, target, "CategoricalCrossentropy");
  }
};

struct SparseCategoricalCrossentropy {
  bool from_logits = false;
  Optional<std::int64_t> ignore_class = {};
  std::int64_t axis = -1;
  static constexpr bool up = false;
  static constexpr Target target = Target::classes;
  static Schema schema() {
    return Schema("SparseCategoricalCrossentropy", "The cross-entropy, for class numbers.")
        .arg("from_logits", &SparseCategoricalCrossentropy::from_logits, "Whether predictions are logits.")
        .arg("ignore_class", &SparseCategoricalCrossentropy::ignore_class, "Samples of this class do not count.")
        .arg("axis", &SparseCategoricalCrossentropy::axis, "The axis of the classes.")
        .example(+[] { return SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 0, .axis = 1}; });
  }
  Values statistics(Scope& s, Value predicted, Value labels, Value weight) const {
    const losses::SparseCategoricalCrossentropy loss{
        .from_logits = from_logits, .ignore_class = ignore_class, .axis = axis};
    Value values = loss_of(loss, s, predicted, labels, "SparseCategoricalCrossentropy");
    if (!ignore_class) return mean_statistics(s, values, weight);
    // As Keras counts: without weights what is ignored adds nothing but is counted; with weights it has none.
    Value counted = loss.counted(s, reshape(labels, values.shape()));
    values = select(counted, values, full_like(values, 0));
    if (weight) weight = weights_like(weight, values.shape()) * cast(counted, DType::float32);
    return mean_statistics(s, values, weight);
  }
};

inline void register_means(Registry<Metric>& r) {
  r.add<Mean>();
  r.add<MeanSquaredError>();
  r.add<MeanAbsoluteError>();
  r.add<RootMeanSquaredError>();
  r.add<BinaryCrossentropy>();
  r.add<CategoricalCrossentropy>();
  r.add<SparseCategoricalCrossentropy>();
}

}  // namespace strata::metrics
