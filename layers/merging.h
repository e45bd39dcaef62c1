// SPDX-License-Identifier: Apache-2.0
// Layers of several inputs.
#pragma once

#include "strata/layer.h"

namespace strata::layers {

// Combines two at a time; inputs of lower rank get axes of 1 after the batch.
template <class F> Value merged(std::span<const Value> inputs, std::string_view name, F f) {
  if (inputs.size() < 2) throw Error(cat(name, " takes at least two inputs, got ", inputs.size()));
  Value result = inputs[0];
  for (const Value& input : inputs.subspan(1)) {
    if (input.shape().rank() != result.shape().rank())
      throw Error(cat(name, " takes inputs of one rank, got ", result.shape(), " and ", input.shape()));
    result = f(result, input);
  }
  return result;
}

struct Add {
  static Schema schema() {
    return Schema("Add", "The sum of its inputs.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Add{}; }, {{3}, {3}})
        .example(+[] { return Add{}; }, {{2, 3}, {1, 3}, {2, 1}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    return merged(x, "Add", [](Value a, Value b) { return a + b; });
  }
};

struct Subtract {
  static Schema schema() {
    return Schema("Subtract", "The first input less the second.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Subtract{}; }, {{3}, {3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    if (x.size() != 2) throw Error(cat("Subtract takes two inputs, got ", x.size()));
    return x[0] - x[1];
  }
};

struct Multiply {
  static Schema schema() {
    return Schema("Multiply", "The product of its inputs, element by element.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Multiply{}; }, {{3}, {3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    return merged(x, "Multiply", [](Value a, Value b) { return a * b; });
  }
};

struct Average {
  static Schema schema() {
    return Schema("Average", "The mean of its inputs.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Average{}; }, {{3}, {3}, {3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    return merged(x, "Average", [](Value a, Value b) { return a + b; }) / static_cast<double>(x.size());
  }
};

struct Maximum {
  static Schema schema() {
    return Schema("Maximum", "The largest of its inputs, element by element.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Maximum{}; }, {{3}, {3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    return merged(x, "Maximum", [](Value a, Value b) { return maximum(a, b); });
  }
};

struct Minimum {
  static Schema schema() {
    return Schema("Minimum", "The smallest of its inputs, element by element.")
        .masking(Schema::Masking::passes)
        .example(+[] { return Minimum{}; }, {{3}, {3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    return merged(x, "Minimum", [](Value a, Value b) { return minimum(a, b); });
  }
};

struct Concatenate {
  std::int64_t axis = -1;
  static Schema schema() {
    return Schema("Concatenate", "Its inputs one after the other along an axis.")
        .masking(Schema::Masking::passes)
        .arg("axis", &Concatenate::axis, "The axis; 0 is the batch.")
        .example(+[] { return Concatenate{}; }, {{3}, {2}})
        .example(+[] { return Concatenate{.axis = 1}; }, {{2, 3}, {1, 3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    if (x.size() < 2) throw Error(cat("Concatenate takes at least two inputs, got ", x.size()));
    return concatenate({x.begin(), x.end()}, static_cast<int>(axis));
  }
};

inline void register_merging(Registry<Layer>& r) {
  r.add<Add>();
  r.add<Subtract>();
  r.add<Multiply>();
  r.add<Average>();
  r.add<Maximum>();
  r.add<Minimum>();
  r.add<Concatenate>();
}

}  // namespace strata::layers
