// SPDX-License-Identifier: Apache-2.0
// Datasets and callbacks as arguments of parts.
#include "strata/callback.h"
#include "strata/dataset.h"

namespace strata {

const FieldType& FieldTypeOf<Dataset>::get() {
  static const FieldType type = part_field<Dataset>(DatasetKind::word);
  return type;
}

const FieldType& FieldTypeOf<Callback>::get() {
  static const FieldType type = part_field<Callback>(CallbackKind::word);
  return type;
}

}  // namespace strata
