// SPDX-License-Identifier: Apache-2.0
// Dense, Embedding, and the layers that hardly do a thing.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

struct Dense {
  std::int64_t units = 0;
  Optional<Layer> activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", bias_initializer = "zeros";
  Optional<Regularizer> kernel_regularizer = {}, bias_regularizer = {};
  Optional<Constraint> kernel_constraint = {}, bias_constraint = {};
  static Schema schema() {
    return Schema("Dense", "activation(x · kernel + bias) over the last axis.")
        .masking(Schema::Masking::passes)
        .arg("units", &Dense::units, "Width of the output.", at_least(1))
        .arg("activation", &Dense::activation, "Applied to the output.")
        .arg("use_bias", &Dense::use_bias, "Whether to add a bias.")
        .arg("kernel_initializer", &Dense::kernel_initializer, "First values of the kernel [in, units].")
        .arg("bias_initializer", &Dense::bias_initializer, "First values of the bias [units].")
        .arg("kernel_regularizer", &Dense::kernel_regularizer, "A penalty on the kernel.")
        .arg("bias_regularizer", &Dense::bias_regularizer, "A penalty on the bias.")
        .arg("kernel_constraint", &Dense::kernel_constraint, "What the kernel must satisfy.")
        .arg("bias_constraint", &Dense::bias_constraint, "What the bias must satisfy.")
        .example(+[] { return Dense{.units = 4}; }, {{3}})
        .example(+[] { return Dense{.units = 3, .activation = "tanh", .use_bias = false}; }, {{2, 3}});
  }
  Value call(Scope& s, Value x) const {
    if (x.shape().rank() < 2) throw Error(cat("takes at least [batch, features], got ", x.shape()));
    Value y = matmul(x, s.weight("kernel", {x.shape()[-1], units},
                                 {.initializer = kernel_initializer,
                                  .regularizer = kernel_regularizer,
                                  .constraint = kernel_constraint}));
    if (use_bias)
      y = y +
          s.weight("bias", {units},
                   {.initializer = bias_initializer, .regularizer = bias_regularizer, .constraint = bias_constraint});
    return activation ? call_layer(s, *activation, std::span<const Value>(&y, 1), "activation")[0] : y;
  }
};

struct Embedding {
  std::int64_t input_dim = 0, output_dim = 0;
  Initializer embeddings_initializer = "uniform";
  Optional<Regularizer> embeddings_regularizer = {};
  Optional<Constraint> embeddings_constraint = {};
  bool mask_zero = false;
  static Schema schema() {
    return Schema("Embedding", "A learned row for each whole number.")
        .keeps_dtype()
        .arg("input_dim", &Embedding::input_dim, "Numbers there are: inputs lie in [0, input_dim).", at_least(1))
        .arg("output_dim", &Embedding::output_dim, "Width of a row.", at_least(1))
        .arg("embeddings_initializer", &Embedding::embeddings_initializer, "First values of the rows.")
        .arg("embeddings_regularizer", &Embedding::embeddings_regularizer, "A penalty on the rows.")
        .arg("embeddings_constraint", &Embedding::embeddings_constraint, "What the rows must satisfy.")
        .arg("mask_zero", &Embedding::mask_zero, "Whether 0 stands for no step: later layers pass over it.")
        .example(
            +[] { return Embedding{.input_dim = 5, .output_dim = 3}; }, {{4}}, {DType::int32}, 5)
        .example(
            +[] { return Embedding{.input_dim = 5, .output_dim = 3, .mask_zero = true}; }, {{4}}, {DType::int32}, 5);
  }
  Value call(Scope& s, Value x) const {
    if (!is_integer(x.dtype())) x = cast(x, DType::int32);
    Value table = s.weight("embeddings", {input_dim, output_dim},
                           {.initializer = embeddings_initializer,
                            .regularizer = embeddings_regularizer,
                            .constraint = embeddings_constraint,
                            .autocast = false});
    Value inside =
        logical_and(greater_equal(x, full_like(x, 0)), less(x, full_like(x, static_cast<double>(input_dim))));
    if (s.training())
      s.check(reduce_all(inside), cat(s.path(), " (Embedding): an input is outside [0, ", input_dim, ")"));
    return cast(gather(table, x), s.precision().compute);
  }
  Value mask(Scope&, std::span<const Value> inputs, Value) const {
    return mask_zero ? not_equal(inputs[0], full_like(inputs[0], 0)) : Value{};
  }
};

struct Activation {
  Layer activation = {};
  static Schema schema() {
    return Schema("Activation", "An activation as a layer of its own.")
        .masking(Schema::Masking::passes)
        .arg("activation", &Activation::activation, "Which.")
        .example(+[] { return Activation{.activation = "relu"}; }, {{3}});
  }
  Value call(Scope& s, Value x) const {
    return call_layer(s, activation, std::span<const Value>(&x, 1), "activation")[0];
  }
};

struct Identity {
  static Schema schema() {
    return Schema("Identity", "Its input.").masking(Schema::Masking::passes).example(+[] { return Identity{}; }, {{3}});
  }
  Value call(Scope&, Value x) const { return x; }
};

struct Masking {
  double mask_value = 0;
  static Schema schema() {
    return Schema("Masking", "Steps all of whose features are one value are passed over by later layers.")
        .arg("mask_value", &Masking::mask_value, "The value.")
        .example(+[] { return Masking{.mask_value = -1}; }, {{4, 2}});
  }
  Value counts(Value x) const {
    Value other = cast(not_equal(x, full_like(x, mask_value)), DType::float32);
    Value any = reduce_max(other, {-1}, true);
    return greater(any, full_like(any, 0));
  }
  Value call(Scope&, Value x) const { return select(counts(x), x, full_like(x, 0)); }
  Value mask(Scope&, std::span<const Value> inputs, Value) const {
    return reshape(counts(inputs[0]), inputs[0].shape().without(-1));
  }
};

inline void register_core(Registry<Layer>& r) {
  r.add<Dense>();
  r.add<Embedding>();
  r.add<Activation>();
  r.add<Identity>();
  r.add<Masking>();
}

}  // namespace strata::layers
