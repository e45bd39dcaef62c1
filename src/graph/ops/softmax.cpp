// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm, and the cross-entropy of logits in one pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/rules.h"

namespace strata {

namespace {

using rules::floats;

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.as<Axis>().axis); }

// For each row along the axis: f(largest, log of the sum of exp(x - largest), index of its first element, step).
template <class F> void each_row(const Array& x, int axis, F f) {
  const rules::AxisView view(x.shape, axis);
  for (std::size_t o = 0; o < view.outer; ++o)
    for (std::size_t i = 0; i < view.inner; ++i) {
      const std::size_t first = o * view.length * view.inner + i;
      double most = -std::numeric_limits<double>::infinity(), total = 0;
      for (std::size_t l = 0; l < view.length; ++l) most = std::max(most, x.data[first + l * view.inner]);
      for (std::size_t l = 0; l < view.length; ++l) total += std::exp(x.data[first + l * view.inner] - most);
      f(most, std::log(total), first, view.inner, view.length);
    }
}

constinit const OpDef softmax_op{
    .name = "softmax",
    .doc = "exp(x) over its sum along an axis.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = [](const Inference& in) -> Types {
      rules::want_floating(in.inputs[0], "softmax", "x");
      (void)in.inputs[0].shape.axis(axis_of(in.attributes));
      return {in.inputs[0]};
    },
    .vjp = [](const Vjp& v) -> Values {
      Value y = v.outputs[0], gy = v.gradients[0] * y;
      return {gy - y * reduce_sum(gy, {v.attributes.as<Axis>().axis}, true)};
    },
    .reference =
        [](const Reference& r) {
          each_row(*r.inputs[0], axis_of(r.attributes),
                   [&](double most, double log_total, std::size_t first, std::size_t step, std::size_t length) {
                     for (std::size_t l = 0; l < length; ++l)
                       r.outputs[0].data[first + l * step] =
                           std::exp(r.inputs[0]->data[first + l * step] - most - log_total);
                   });
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the last axis",
               {floats({3, 5}, -3, 3)},
               [](std::span<const Value> x) -> Values { return {softmax(x[0])}; }},
              {"the first axis", {floats({3, 2}, -3, 3)}, [](std::span<const Value> x) -> Values {
                 return {softmax(x[0], 0)};
               }}};
    },
    .shard = &shard::along_axis};

constinit const OpDef log_softmax_op{
    .name = "log_softmax",
    .doc = "The logarithm of softmax, right for large differences.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = [](const Inference& in) -> Types {
      rules::want_floating(in.inputs[0], "log_softmax", "x");
      (void)in.inputs[0].shape.axis(axis_of(in.attributes));
      return {in.inputs[0]};
    },
    .vjp = [](const Vjp& v) -> Values {
      Value g = v.gradients[0];
      return {g - exp(v.outputs[0]) * reduce_sum(g, {v.attributes.as<Axis>().axis}, true)};
    },
    .reference =
        [](const Reference& r) {
          each_row(*r.inputs[0], axis_of(r.attributes),
                   [&](double most, double log_total, std::size_t first, std::size_t step, std::size_t length) {
                     for (std::size_t l = 0; l < length; ++l)
                       r.outputs[0].data[first + l * step] = r.inputs[0]->data[first + l * step] - most - log_total;
                   });
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the last axis",
               {floats({3, 5}, -3, 3)},
               [](std::span<const Value> x) -> Values { return {log_softmax(x[0])}; }},
              {"the middle axis", {floats({2, 3, 2}, -3, 3)}, [](std::span<const Value> x) -> Values {
                 return {log_softmax(x[0], 1)};
               }}};
    },
    .shard = &shard::along_axis};

bool label_in_range(double label, std::size_t classes) { return label >= 0 && label < static_cast<double>(classes); }

constinit const OpDef softmax_cross_entropy_gradient_op{
    .name = "softmax_cross_entropy_gradient",
    .doc = "(softmax - one hot) times the rows' gradients; rows whose label is no class get 0.",
    .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
    .reference =
        [](const Reference& r) {
          each_row(*r.inputs[0], -1,
                   [&](double most, double log_total, std::size_t first, std::size_t, std::size_t length) {
                     const std::size_t row = first / length;
                     const double label = r.inputs[1]->data[row],
                                  g = label_in_range(label, length) ? r.inputs[2]->data[row] : 0;
                     for (std::size_t l = 0; l < length; ++l)
                       r.outputs[0].data[first + l] = g * (std::exp(r.inputs[0]->data[first + l] - most - log_total) -
                                                           (static_cast<double>(l) == label ? 1 : 0));
                   });
        },
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      const std::int64_t classes = in[0].shape()[-1];
      Value hot = one_hot(in[1], classes, in[0].dtype()), known = reduce_sum(hot, {-1});
      return {(softmax(in[0]) - hot) * reshape(in[2] * known, in[2].shape().append(1))};
    },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows",
               {floats({4, 5}, -3, 3), rules::integers({4}, 0, 5), floats({4})},
               [](std::span<const Value> x) -> Values {
                 Value loss = softmax_cross_entropy(x[0], x[1]);
                 return gradients(sum(loss * x[2]), std::span<const Value>(&x[0], 1));
               }}};
    },
    .shard = &shard::keeps_rows};

constinit const OpDef softmax_cross_entropy_op{
    .name = "softmax_cross_entropy",
    .doc = "-log softmax(logits) at each row's label; 0 for a label that is no class.",
    .infer = [](const Inference& in) -> Types {
      const Type &logits = in.inputs[0], &labels = in.inputs[1];
      rules::want_floating(logits, "softmax_cross_entropy", "logits");
      if (logits.shape.rank() < 1 || !(labels.shape == logits.shape.without(-1)))
        throw Error(
            cat("softmax_cross_entropy needs a label for each row: logits ", logits.shape, ", labels ", labels.shape));
      if (!is_integer(labels.dtype))
        throw Error(cat("softmax_cross_entropy needs integer labels, got ", labels, "; cast them"));
      return {{labels.shape, logits.dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {v.gradients[0].graph->add(softmax_cross_entropy_gradient_op, {v.inputs[0], v.inputs[1], v.gradients[0]}),
              Value{}};
    },
    .reference =
        [](const Reference& r) {
          each_row(*r.inputs[0], -1,
                   [&](double most, double log_total, std::size_t first, std::size_t, std::size_t length) {
                     const double label = r.inputs[1]->data[first / length];
                     if (label_in_range(label, length))
                       r.outputs[0].data[first / length] =
                           most + log_total - r.inputs[0]->data[first + static_cast<std::size_t>(label)];
                   });
        },
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      return {negate(reduce_sum(log_softmax(in[0]) * one_hot(in[1], in[0].shape()[-1], in[0].dtype()), {-1}))};
    },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows",
               {floats({4, 5}, -3, 3), rules::integers({4}, 0, 5)},
               [](std::span<const Value> x) -> Values { return {softmax_cross_entropy(x[0], x[1])}; }},
              {"some labels are no class",
               {floats({3, 4}), rules::integers({3}, -1, 6)},
               [](std::span<const Value> x) -> Values { return {softmax_cross_entropy(x[0], x[1])}; }},
              {"sequences", {floats({2, 3, 4}), rules::integers({2, 3}, 0, 4)}, [](std::span<const Value> x) -> Values {
                 return {softmax_cross_entropy(x[0], x[1])};
               }}};
    },
    .shard = &shard::keeps_rows};

}  // namespace

Value softmax(Value x, int axis) { return x.graph->add(softmax_op, {x}, Axis{axis}); }
Value log_softmax(Value x, int axis) { return x.graph->add(log_softmax_op, {x}, Axis{axis}); }
Value softmax_cross_entropy(Value logits, Value labels) {
  return logits.graph->add(softmax_cross_entropy_op, {logits, labels});
}

void ops_softmax(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&softmax_op, &log_softmax_op, &softmax_cross_entropy_op, &softmax_cross_entropy_gradient_op});
}

}  // namespace strata
