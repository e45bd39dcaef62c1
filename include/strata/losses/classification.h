// SPDX-License-Identifier: Apache-2.0
// Cross-entropies.
#pragma once

#include "strata/loss.h"

namespace strata::losses {

inline constexpr double tiny = 1e-7;  // Keras's epsilon: probabilities are kept this far from 0 and 1

// x between two bounds; where it is cut (or on a bound) it has no gradient.
inline Value cut(Value x, double low, double high) {
  Value below = less_equal(x, full_like(x, low)), above = greater_equal(x, full_like(x, high));
  return select(below, full_like(x, low), select(above, full_like(x, high), x));
}

// Probabilities brought to sum 1 along an axis and away from 0 and 1, as Keras does before taking logarithms.
inline Value safe_probabilities(Value p, int axis) {
  p = p / reduce_sum(p, {axis}, true);
  return cut(p, tiny, 1 - tiny);
}

// The axis of the classes brought to the end.
inline Value classes_last(Value x, std::int64_t axis) {
  const int from = x.shape().axis(static_cast<int>(axis)), rank = x.shape().rank();
  if (from == rank - 1) return x;
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i)
    if (i != from) order.push_back(i);
  order.push_back(from);
  return transpose(x, order);
}

struct SparseCategoricalCrossentropy {
  bool from_logits = false;
  Optional<std::int64_t> ignore_class = {};
  std::int64_t axis = -1;
  static constexpr Target target = Target::classes;
  static Schema schema() {
    return Schema("SparseCategoricalCrossentropy",
                  "-log of the probability of the class, for targets that are class numbers.")
        .arg("from_logits", &SparseCategoricalCrossentropy::from_logits,
             "Whether predictions are logits, not probabilities.")
        .arg("ignore_class", &SparseCategoricalCrossentropy::ignore_class, "Samples of this class do not count.")
        .arg("axis", &SparseCategoricalCrossentropy::axis, "The axis of the classes.")
        .example(+[] { return SparseCategoricalCrossentropy{.from_logits = true}; })
        .example(+[] { return SparseCategoricalCrossentropy{.ignore_class = 1, .axis = 1}; });
  }
  Value of(Scope& s, Value predicted, Value labels) const {
    Value x = classes_last(predicted, axis);
    if (!is_integer(labels.dtype())) labels = cast(labels, DType::int32);
    const std::int64_t classes = x.shape()[-1];
    if (!(labels.shape() == x.shape().without(-1)))
      throw Error(cat("SparseCategoricalCrossentropy needs one class number for each prediction\n    predicted  ",
                      predicted.shape(), "\n    target     ", labels.shape(),
                      "\n  for one-hot targets take CategoricalCrossentropy"));
    Value inside = logical_and(greater_equal(labels, full_like(labels, 0)),
                               less(labels, full_like(labels, static_cast<double>(classes))));
    if (ignore_class) inside = logical_or(inside, equal(labels, full_like(labels, static_cast<double>(*ignore_class))));
    s.check(reduce_all(inside), cat("a label is outside [0, ", classes, ")"));
    if (from_logits) return softmax_cross_entropy(x, labels);
    return negate(reduce_sum(log(safe_probabilities(x, -1)) * one_hot(labels, classes, x.dtype()), {-1}));
  }
  Value counted(Scope&, Value labels) const {
    if (!ignore_class) return {};
    return not_equal(labels, full_like(labels, static_cast<double>(*ignore_class)));
  }
};

struct CategoricalCrossentropy {
  bool from_logits = false;
  double label_smoothing = 0;
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("CategoricalCrossentropy", "-log of the probability of the class, for one-hot targets.")
        .arg("from_logits", &CategoricalCrossentropy::from_logits, "Whether predictions are logits, not probabilities.")
        .arg("label_smoothing", &CategoricalCrossentropy::label_smoothing,
             "How much of each target is spread over all classes.", between(0, 1))
        .arg("axis", &CategoricalCrossentropy::axis, "The axis of the classes.")
        .example(+[] { return CategoricalCrossentropy{.from_logits = true, .label_smoothing = 0.1}; })
        .example(+[] { return CategoricalCrossentropy{.axis = 1}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    const int at = static_cast<int>(axis);
    if (label_smoothing != 0)
      target = target * (1 - label_smoothing) + label_smoothing / static_cast<double>(predicted.shape()[at]);
    Value logs = from_logits ? log_softmax(predicted, at) : log(safe_probabilities(predicted, at));
    return negate(reduce_sum(target * logs, {axis}));
  }
};

struct BinaryCrossentropy {
  bool from_logits = false;
  double label_smoothing = 0;
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("BinaryCrossentropy", "Cross-entropy of independent yes-or-no targets, the mean over an axis.")
        .alias("bce")
        .alias("BCE")
        .arg("from_logits", &BinaryCrossentropy::from_logits, "Whether predictions are logits, not probabilities.")
        .arg("label_smoothing", &BinaryCrossentropy::label_smoothing, "How far targets are drawn towards one half.",
             between(0, 1))
        .arg("axis", &BinaryCrossentropy::axis, "The axis that is averaged.")
        .example(+[] { return BinaryCrossentropy{.from_logits = true, .label_smoothing = 0.2}; })
        .example(+[] { return BinaryCrossentropy{.axis = 1}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    if (label_smoothing != 0) target = target * (1 - label_smoothing) + label_smoothing / 2;
    Value each;
    if (from_logits) {
      each = relu(predicted) - predicted * target + softplus(negate(absolute(predicted)));
    } else {
      Value p = cut(predicted, tiny, 1 - tiny);
      each = negate(target * log(p) + (1.0 - target) * log(1.0 - p));
    }
    return reduce_mean(each, {axis});
  }
};

inline void register_classification(Registry<Loss>& r) {
  r.add<SparseCategoricalCrossentropy>();
  r.add<CategoricalCrossentropy>();
  r.add<BinaryCrossentropy>();
}

}  // namespace strata::losses
