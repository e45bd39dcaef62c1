// SPDX-License-Identifier: Apache-2.0
// The logarithm of a sum of exponentials: the normalizer of softmax, for losses of one's own.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/rules.h"

namespace strata {

namespace {

constinit const OpDef log_sum_exp_op{
    .name = "log_sum_exp",
    .doc = "log of the sum of exp(x) along an axis, right for large x.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = [](const Inference& in) -> Types {
      rules::want_floating(in.inputs[0], "log_sum_exp", "x");
      return {{in.inputs[0].shape.without(static_cast<int>(in.attributes.as<Axis>().axis)), in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      const int axis = v.inputs[0].shape().axis(static_cast<int>(v.attributes.as<Axis>().axis));
      const Shape kept = v.inputs[0].shape().with(axis, 1);
      return {reshape(v.gradients[0], kept) * exp(v.inputs[0] - reshape(v.outputs[0], kept))};
    },
    .reference =
        [](const Reference& r) {
          const rules::AxisView view(r.inputs[0]->shape, static_cast<int>(r.attributes.as<Axis>().axis));
          for (std::size_t o = 0; o < view.outer; ++o)
            for (std::size_t i = 0; i < view.inner; ++i) {
              const double* first = r.inputs[0]->data.data() + o * view.length * view.inner + i;
              double most = -std::numeric_limits<double>::infinity(), total = 0;
              for (std::size_t l = 0; l < view.length; ++l) most = std::max(most, first[l * view.inner]);
              for (std::size_t l = 0; l < view.length; ++l) total += std::exp(first[l * view.inner] - most);
              r.outputs[0].data[o * view.inner + i] = most + std::log(total);
            }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the last axis",
               {rules::floats({3, 5}, -3, 3)},
               [](std::span<const Value> x) -> Values { return {log_sum_exp(x[0])}; }},
              {"the first axis, large numbers",
               {rules::floats({4, 2}, 40, 60)},
               [](std::span<const Value> x) -> Values { return {log_sum_exp(x[0], 0)}; }}};
    },
    .shard = &shard::along_axis};

}  // namespace

Value log_sum_exp(Value x, int axis) { return x.graph->add(log_sum_exp_op, {x}, Axis{axis}); }

void ops_log_sum_exp(std::vector<const OpDef*>& all) { all.push_back(&log_sum_exp_op); }

}  // namespace strata
