// SPDX-License-Identifier: Apache-2.0
// Constraints: what a weight must satisfy after each update. A part here is a struct with
//   Value apply(Value weight) const      the weight, mended, in graph ops
#pragma once

#include "strata/graph.h"
#include "strata/part.h"

namespace strata {

struct ConstraintKind {
  static constexpr std::string_view word = "constraint";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, Value x) {
    { t.apply(x) } -> std::same_as<Value>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    Value apply(Value x) const override { return part.apply(x); }
  };
  virtual ~ConstraintKind() = default;
  virtual Value apply(Value x) const = 0;
};

using Constraint = Part<ConstraintKind>;
template <> struct FieldTypeOf<Constraint> { static const FieldType& get(); };

}  // namespace strata
