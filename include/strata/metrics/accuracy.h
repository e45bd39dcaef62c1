// SPDX-License-Identifier: Apache-2.0
// How often predictions are right.
#pragma once

#include <tuple>

#include "strata/metric.h"

namespace strata::metrics {

inline Value as_number(Value condition) { return cast(condition, DType::float32); }
// The target as one class number for each prediction, of which the last axis is the classes.
inline Value labels_of(Value predicted, Value target, const std::string& name) {
  const Shape rows = predicted.shape().without(-1);
  if (!(target.shape() == rows) && !(target.shape() == rows.append(1)))
    throw Error(cat(name, " needs one class number for each prediction\n    predicted  ", predicted.shape(),
                    "\n    target     ", target.shape(), "\n  for one-hot targets take ", name.substr(6)));
  if (!is_integer(target.dtype())) target = cast(target, DType::int32);
  return reshape(target, rows);
}
// The class that a one-hot target stands for.
inline Value hot_of(Value predicted, Value target, const std::string& name) {
  if (!(target.shape() == predicted.shape()))
    throw Error(cat(name, " needs a target shaped as the prediction\n    predicted  ", predicted.shape(),
                    "\n    target     ", target.shape(), "\n  for class numbers take Sparse", name));
  return argmax(cast(target, DType::float32));
}

struct Accuracy {
  static constexpr bool up = true;
  static Schema schema() {
    return Schema("Accuracy",
                  "How often prediction and target are equal. The bare word accuracy means the kind that fits the "
                  "output's shape.")
        .alias("acc")
        .example(+[] { return Accuracy{}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    Value p = cast(predicted, DType::float32), t = cast(target, DType::float32);
    if (!(p.shape() == t.shape())) std::tie(p, t) = fitted(p, t, "Accuracy", Target::like_prediction);
    return as_number(equal(p, t));
  }
};

struct BinaryAccuracy {
  double threshold = 0.5;
  static constexpr bool up = true;
  static Schema schema() {
    return Schema("BinaryAccuracy", "How often a prediction is on the right side of a threshold.")
        .arg("threshold", &BinaryAccuracy::threshold, "Predictions above it are 1.")
        .example(+[] { return BinaryAccuracy{.threshold = 0.4}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    Value p = cast(predicted, DType::float32), t = cast(target, DType::float32);
    std::tie(p, t) = fitted(p, t, "BinaryAccuracy", Target::like_prediction);
    return reduce_mean(as_number(equal(as_number(greater(p, full_like(p, threshold))), t)), {-1});
  }
};

struct CategoricalAccuracy {
  static constexpr bool up = true;
  static Schema schema() {
    return Schema("CategoricalAccuracy", "How often the largest prediction is the target's largest.").example(+[] {
      return CategoricalAccuracy{};
    });
  }
  Value of(Scope&, Value predicted, Value target) const {
    return as_number(equal(argmax(predicted), hot_of(predicted, target, "CategoricalAccuracy")));
  }
};

struct SparseCategoricalAccuracy {
  static constexpr bool up = true;
  static constexpr Target target = Target::classes;
  static Schema schema() {
    return Schema("SparseCategoricalAccuracy", "How often the largest prediction is the class, for class numbers.")
        .example(+[] { return SparseCategoricalAccuracy{}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    const Value labels = labels_of(predicted, target, "SparseCategoricalAccuracy");
    return as_number(equal(argmax(predicted), cast(labels, DType::int32)));
  }
};

// Whether fewer than k predictions are larger than the class's own.
inline Value in_top(Value predicted, Value labels, std::int64_t k) {
  Value hot = one_hot(labels, predicted.shape()[-1], predicted.dtype());
  Value own = reduce_sum(predicted * hot, {-1}, true);
  Value larger = reduce_sum(as_number(greater(predicted, own)), {-1});
  return as_number(less(larger, full_like(larger, static_cast<double>(k))));
}

struct TopKCategoricalAccuracy {
  std::int64_t k = 5;
  static constexpr bool up = true;
  static Schema schema() {
    return Schema("TopKCategoricalAccuracy",
                  "How often the target is among the k largest predictions, for one-hot targets.")
        .arg("k", &TopKCategoricalAccuracy::k, "How many count.", at_least(1))
        .example(+[] { return TopKCategoricalAccuracy{.k = 2}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    return in_top(predicted, hot_of(predicted, target, "TopKCategoricalAccuracy"), k);
  }
};

struct SparseTopKCategoricalAccuracy {
  std::int64_t k = 5;
  static constexpr bool up = true;
  static constexpr Target target = Target::classes;
  static Schema schema() {
    return Schema("SparseTopKCategoricalAccuracy",
                  "How often the class is among the k largest predictions, for class numbers.")
        .arg("k", &SparseTopKCategoricalAccuracy::k, "How many count.", at_least(1))
        .example(+[] { return SparseTopKCategoricalAccuracy{.k = 2}; });
  }
  Value of(Scope&, Value predicted, Value target) const {
    return in_top(predicted, labels_of(predicted, target, "SparseTopKCategoricalAccuracy"), k);
  }
};

inline void register_accuracy(Registry<Metric>& r) {
  r.add<Accuracy>();
  r.add<BinaryAccuracy>();
  r.add<CategoricalAccuracy>();
  r.add<SparseCategoricalAccuracy>();
  r.add<TopKCategoricalAccuracy>();
  r.add<SparseTopKCategoricalAccuracy>();
}

}  // namespace strata::metrics
