// SPDX-License-Identifier: Apache-2.0
// Means over samples, and the metric that "accuracy" stands for.
#include "strata/metric.h"

namespace strata {

std::string accuracy_word(const Type& predicted, const Type& target);

Schema MetricCommon::schema() {
  return Schema("metric", "What every metric takes.")
      .arg("name", &MetricCommon::name, "Its name among the figures.")
      .arg("dtype", &MetricCommon::dtype, "The dtype it computes in: float32, said or not.",
           or_empty(one_of({"float32"})));
}

Value weights_like(Value weight, const Shape& values) {
  Shape shape = weight.shape();
  if (shape.rank() > values.rank() && shape[-1] == 1) shape = shape.without(-1);
  // Values a sample, weights a step: a sample's value counts with its steps' mean weight.
  weight = cast(reshape(weight, shape), DType::float32);
  while (weight.shape().rank() > values.rank()) weight = reduce_mean(weight, {-1});
  shape = weight.shape();
  while (shape.rank() < values.rank()) shape = shape.append(1);
  return broadcast_to(reshape(weight, shape), values);
}

Values mean_statistics(Scope& scope, Value values, Value weight) {
  values = cast(values, DType::float32);
  if (!weight) return {sum(values), full(scope.graph(), static_cast<double>(values.shape().size()))};
  weight = weights_like(weight, values.shape());
  return {sum(values * weight), sum(weight)};
}

double mean_result(std::span<const Array> totals) {
  const double count = totals[1].data[0];
  return count == 0 ? 0 : totals[0].data[0] / count;
}

Metric accuracy_for(const Type& predicted, const Type& target) { return accuracy_word(predicted, target); }

}  // namespace strata
