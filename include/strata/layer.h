// SPDX-License-Identifier: Apache-2.0
// Layers. A part here is a struct with one of
//   Value call(Scope&, Value x) const
//   Value call(Scope&, std::span<const Value> inputs) const        several inputs
//   Values call(Scope&, std::span<const Value> inputs) const       several outputs
// and, when it makes or changes masks,  Value mask(Scope&, std::span<const Value> inputs, Value output) const.
#pragma once

#include "strata/part.h"
#include "strata/scope.h"

namespace strata {

// The arguments every layer takes beside its own.
struct LayerCommon {
  std::string name = {};  // default: the class name in snake case, numbered within the model
  bool trainable = true;
  std::string dtype = {};  // a precision policy of its own: "float32", "mixed_bfloat16"
  Optional<Regularizer> activity_regularizer = {};
  static Schema schema();
};

struct LayerKind {
  static constexpr std::string_view word = "layer";
  using Common = LayerCommon;
  template <class T> static constexpr bool one = requires(const T& t, Scope& s, Value x) {
    { t.call(s, x) } -> std::same_as<Value>;
  };
  template <class T> static constexpr bool many = requires(const T& t, Scope& s, std::span<const Value> x) {
    t.call(s, x);
  };
  template <class T> static constexpr bool fits = one<T> || many<T>;
  template <class T, class Base> struct Holds : Base {
    T part;
    using LayerKind::call;
    Values call(Scope& scope, std::span<const Value> inputs) const override {
      if constexpr (many<T>) {
        if constexpr (requires {
                        { part.call(scope, inputs) } -> std::same_as<Values>;
                      })
          return part.call(scope, inputs);
        else return {part.call(scope, inputs)};
      } else {
        if (inputs.size() != 1)
          throw Error(cat(scope.path(), " (", schema_of<T>().name, "): takes one input, got ", inputs.size()));
        return {part.call(scope, inputs[0])};
      }
    }
    bool masks() const override { return requires_mask; }
    Value mask(Scope& scope, std::span<const Value> inputs, Value output) const override {
      if constexpr (requires_mask) return part.mask(scope, inputs, output);
      else return {};
    }
    static constexpr bool requires_mask = requires(const T& t, Scope& s, std::span<const Value> in, Value y) {
      { t.mask(s, in, y) } -> std::same_as<Value>;
    };
  };
  virtual ~LayerKind() = default;
  virtual Values call(Scope& scope, std::span<const Value> inputs) const = 0;
  Value call(Scope& scope, Value x) const { return call(scope, std::span<const Value>(&x, 1))[0]; }
  virtual bool masks() const = 0;  // whether mask() is the part's own
  virtual Value mask(Scope& scope, std::span<const Value> inputs, Value output) const = 0;
};

// A handle with identity: copies share weights, clone() does not.
using Layer = Part<LayerKind>;
template <> struct FieldTypeOf<Layer> { static const FieldType& get(); };

template <class T> Layer named(std::string name, T part) { return Layer(std::move(part), {.name = std::move(name)}); }

// Calls a layer as the engine does: at path `scope.path()/name` (where it was first called, when it is shared), inputs
// cast to its compute dtype, masks carried on, its activity regularizer added. For layers that hold layers: `name` is
// then Keras's attribute ("cell", "forward_layer"), so that weights map to Keras's files.
Values call_layer(Scope& scope, const Layer& layer, std::span<const Value> inputs, std::string_view name);

}  // namespace strata
