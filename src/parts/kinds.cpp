// SPDX-License-Identifier: Apache-2.0
// Each kind of part as an argument of another.
#include "strata/layer.h"
#include "strata/metric.h"
#include "strata/optimizer.h"
#include "strata/strategy.h"

namespace strata {

namespace {

template <class Kind> const FieldType& kind_field() {
  static const FieldType type = part_field<Part<Kind>>(Kind::word);
  return type;
}

}  // namespace

const FieldType& FieldTypeOf<Initializer>::get() { return kind_field<InitializerKind>(); }
const FieldType& FieldTypeOf<Regularizer>::get() { return kind_field<RegularizerKind>(); }
const FieldType& FieldTypeOf<Constraint>::get() { return kind_field<ConstraintKind>(); }
const FieldType& FieldTypeOf<Layer>::get() { return kind_field<LayerKind>(); }
const FieldType& FieldTypeOf<Schedule>::get() { return kind_field<ScheduleKind>(); }
const FieldType& FieldTypeOf<Optimizer>::get() { return kind_field<OptimizerKind>(); }
const FieldType& FieldTypeOf<Loss>::get() { return kind_field<LossKind>(); }
const FieldType& FieldTypeOf<Metric>::get() { return kind_field<MetricKind>(); }
const FieldType& FieldTypeOf<Strategy>::get() { return kind_field<StrategyKind>(); }

}  // namespace strata
