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

struct Dot {
  Ints axes = {};
  bool normalize = false;
  static Schema schema() {
    return Schema("Dot", "The products of two inputs' rows, summed along one axis of each.")
        .arg("axes", &Dot::axes, "The axis of each input that is summed; one number for both.", not_empty())
        .arg("normalize", &Dot::normalize, "Whether to divide by the norms along these axes: the cosine.")
        .example(+[] { return Dot{.axes = 1}; }, {{3}, {3}})
        .example(
            +[] {
              return Dot{.axes = Ints{2, 1}};
            },
            {{2, 3}, {3, 4}})
        .example(
            +[] {
              return Dot{.axes = Ints{1, -1}, .normalize = true};
            },
            {{3, 2}, {4, 3}});
  }
  Value call(Scope&, std::span<const Value> x) const {
    if (x.size() != 2 || axes.values.size() > 2)
      throw Error(
          cat("Dot takes two inputs and an axis of each, got ", x.size(), " and ", axes.values.size(), " axes"));
    const int a = x[0].shape().axis(static_cast<int>(axes.values.front())),
              b = x[1].shape().axis(static_cast<int>(axes.values.back()));
    if (a == 0 || b == 0 || x[0].shape()[a] != x[1].shape()[b])
      throw Error(cat("Dot sums axis ", a, " of ", x[0].shape(), " with axis ", b, " of ", x[1].shape(),
                      ": both need one extent, and 0 is the batch"));
    // Each as [batch, what stays, the axis], multiplied; then what stays of the one by what stays of the other.
    const Value left = rows_last(x[0], a), right = rows_last(x[1], b);
    const Value y = matmul(left, right, false, true);
    Shape shape = x[0].shape().without(a), other = x[1].shape().without(b);
    for (int i = 1; i < other.rank(); ++i) shape = shape.append(other[i]);
    return reshape(y, shape.rank() == 1 ? shape.append(1) : shape);
  }

 private:
  Value rows_last(Value x, int axis) const {
    if (normalize) {
      Value squares = reduce_sum(square(x), {axis}, true);
      x = x * rsqrt(maximum(squares, full_like(squares, 1e-12)));
    }
    std::vector<std::int64_t> order;
    for (int i = 0; i < x.shape().rank(); ++i)
      if (i != axis) order.push_back(i);
    order.push_back(axis);
    const std::int64_t batch = x.shape()[0], along = x.shape()[axis];
    const std::int64_t rest = x.shape().without(axis).without(0).size();
    return reshape(transpose(x, order), {batch, rest, along});
  }
};

inline void register_merging(Registry<Layer>& r) {
  r.add<Dot>();
  r.add<Add>();
  r.add<Subtract>();
  r.add<Multiply>();
  r.add<Average>();
  r.add<Maximum>();
  r.add<Minimum>();
  r.add<Concatenate>();
}

}  // namespace strata::layers
