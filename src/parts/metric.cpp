// SPDX-License-Identifier: Apache-2.0
// Means over samples, and the metric that "accuracy" stands for.
#include "strata/metric.h"

namespace strata {

std::string accuracy_word(const Type& predicted, const Type& target);

Schema MetricCommon::schema() {
  return Schema("metric", "What every metric takes.")
      .arg("name", &MetricCommon::name, "Its name among the figures.")
      .arg("dtype", &MetricCommon::dtype, "The dtype it computes in; float32 when empty.");
}

Values mean_statistics(Scope& scope, Value values, Value weight) {
  values = cast(values, DType::float32);
  if (!weight) return {sum(values), full(scope.graph(), static_cast<double>(values.shape().size()))};
  Shape shape = weight.shape();
  if (shape.rank() > values.shape().rank() && shape[-1] == 1) shape = shape.without(-1);
  // Values a sample, weights a step: a sample's value counts with its steps' mean weight.
  Value w = cast(reshape(weight, shape), DType::float32);
  while (w.shape().rank() > values.shape().rank()) w = reduce_mean(w, {-1});
  shape = w.shape();
  while (shape.rank() < values.shape().rank()) shape = shape.append(1);
  w = broadcast_to(reshape(w, shape), values.shape());
  return {sum(values * w), sum(w)};
}

double mean_result(std::span<const Array> totals) {
  const double count = totals[1].data[0];
  return count == 0 ? 0 : totals[0].data[0] / count;
}

Metric accuracy_for(const Type& predicted, const Type& target) { return accuracy_word(predicted, target); }

}  // namespace strata
