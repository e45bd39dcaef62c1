// SPDX-License-Identifier: Apache-2.0
// Regularizers: a penalty on a weight or an output, added to the loss. A part here is a struct with
//   Value of(Value x) const      a scalar, in graph ops
#pragma once

#include "strata/graph.h"
#include "strata/part.h"

namespace strata {

struct RegularizerKind {
  static constexpr std::string_view word = "regularizer";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, Value x) {
    { t.of(x) } -> std::same_as<Value>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    Value of(Value x) const override { return part.of(x); }
  };
  virtual ~RegularizerKind() = default;
  virtual Value of(Value x) const = 0;
};

using Regularizer = Part<RegularizerKind>;
template <> struct FieldTypeOf<Regularizer> { static const FieldType& get(); };

}  // namespace strata
