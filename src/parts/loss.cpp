// SPDX-License-Identifier: Apache-2.0
// Reducing losses, and the losses that "crossentropy" stands for.
#include "strata/loss.h"

#include <algorithm>
#include <tuple>

namespace strata {

Schema LossCommon::schema() {
  return Schema("loss", "What every loss takes.")
      .arg("reduction", &LossCommon::reduction, "How the samples' losses become one number.",
           one_of({"sum_over_batch_size", "mean", "sum", "mean_with_sample_weight", "none"}))
      .arg("name", &LossCommon::name, "Its name in messages.")
      .arg("dtype", &LossCommon::dtype, "The dtype it computes in; float32 when empty.",
           or_empty(one_of({"float32", "float64"})));
}

namespace {

// Weights of fewer axes than the values get axes of extent 1 behind.
Value aligned(Value weight, const Shape& values, const char* what) {
  Shape shape = weight.shape();
  if (shape.rank() > values.rank() && shape[-1] == 1) shape = shape.without(-1);
  while (shape.rank() < values.rank()) shape = shape.append(1);
  bool fits = shape.rank() == values.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] == values[i] || shape[i] == 1;
  if (!fits)
    throw Error(
        cat(what, " ", weight.shape(), " does not fit values of ", values, ": one number a sample, or one a step"));
  return reshape(weight, shape);
}

}  // namespace

std::pair<Value, Value> fitted(Value predicted, Value target, const std::string& name, Target kind) {
  const Shape &p = predicted.shape(), &t = target.shape();
  if (kind == Target::classes) {
    if (t.rank() == p.rank() && t[-1] == 1 && t.without(-1) == p.without(-1))
      return {predicted, reshape(target, t.without(-1))};
    return {predicted, target};
  }
  if (kind == Target::any || p == t) return {predicted, target};
  if (p.rank() == t.rank() + 1 && p[-1] == 1 && p.without(-1) == t) return {predicted, reshape(target, p)};
  if (t.rank() == p.rank() + 1 && t[-1] == 1 && t.without(-1) == p) return {predicted, reshape(target, p)};
  const std::string cure =
      p.rank() == t.rank() + 1 && t == p.without(-1)
          ? "; for class numbers take SparseCategoricalCrossentropy, for one number a row give the last layer 1 unit"
          : cat("; reshape the target, or give the last layer ", t.rank() ? t[-1] : 1, " units");
  throw Error(cat(name, " needs a target shaped as the prediction\n    predicted  ", p, "\n    target     ", t,
                  "\n  they would broadcast silently", cure));
}

Reduced reduce_loss(Scope& scope, const Loss& loss, Value predicted, Value target, Value sample_weight, Value mask) {
  const DType dtype =
      predicted.dtype() == DType::float64 || loss.common().dtype == "float64" ? DType::float64 : DType::float32;
  predicted = cast(predicted, dtype);
  if (is_floating(target.dtype()) || loss->target() == Target::like_prediction) target = cast(target, dtype);
  std::tie(predicted, target) = fitted(predicted, target, loss.name(), loss->target());
  Value values = loss->of(scope, predicted, target);
  Graph& graph = scope.graph();
  Value weight = sample_weight ? aligned(cast(sample_weight, dtype), values.shape(), "sample weight") : Value{};
  Value counted = loss->counted(scope, target);
  Value valid = mask && mask.shape().rank() <= values.shape().rank() ? aligned(mask, values.shape(), "mask") : Value{};
  if (counted) valid = valid ? logical_and(valid, counted) : counted;
  Reduced reduced;
  const auto& reduction = loss.common().reduction;
  const double size = static_cast<double>(std::max<std::int64_t>(1, values.shape().size()));
  Value valid_number = valid ? broadcast_to(cast(valid, dtype), values.shape()) : Value{};
  // Values under a mask do not count however they came out, NaN included.
  if (valid) values = select(broadcast_to(valid, values.shape()), values, full_like(values, 0));
  reduced.per_sample = weight ? values * weight : values;
  reduced.numerator = sum(reduced.per_sample);
  if (reduction == "sum" || reduction == "none") {
    reduced.denominator = full(graph, 1, {}, dtype);
  } else if (reduction == "mean_with_sample_weight") {
    Value total = weight ? broadcast_to(weight, values.shape()) : full(graph, 1, values.shape(), dtype);
    if (valid_number) total = total * valid_number;
    reduced.denominator = sum(total);
  } else {
    reduced.denominator = valid_number ? sum(valid_number) : full(graph, size, {}, dtype);
  }
  if (reduction != "sum" && reduction != "none") reduced.count = reduced.denominator;
  if (valid || reduction == "mean_with_sample_weight") {
    // Nothing counted: the loss is 0, not 0 / 0.
    Value none = equal(reduced.denominator, full_like(reduced.denominator, 0));
    reduced.denominator = select(none, full_like(reduced.denominator, 1), reduced.denominator);
  }
  return reduced;
}

namespace {

bool one_number(const Type& predicted) { return predicted.shape.rank() > 0 && predicted.shape[-1] == 1; }
bool class_numbers(const Type& predicted, const Type& target) {
  return target.shape.rank() < predicted.shape.rank() ||
         (target.shape.rank() > 0 && target.shape[-1] == 1 && predicted.shape[-1] > 1);
}

}  // namespace

Loss crossentropy_for(const Type& predicted, const Type& target) {
  if (one_number(predicted)) return "BinaryCrossentropy";
  return class_numbers(predicted, target) ? "SparseCategoricalCrossentropy" : "CategoricalCrossentropy";
}

std::string accuracy_word(const Type& predicted, const Type& target) {
  if (one_number(predicted)) return "BinaryAccuracy";
  return class_numbers(predicted, target) ? "SparseCategoricalAccuracy" : "CategoricalAccuracy";
}

}  // namespace strata
