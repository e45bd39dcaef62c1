// SPDX-License-Identifier: Apache-2.0
// Sums, largest values, and what looks along an axis.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/rules.h"

namespace strata {

Schema Reduction::schema() {
  return Schema("reduction", "Axes that go.")
      .arg("axes", &Reduction::axes, "Which.")
      .arg("keepdims", &Reduction::keepdims, "Whether they stay with extent 1.");
}

namespace {

using rules::floats;

Shape reduced(const Shape& x, const Reduction& r) {
  std::array<bool, Shape::max_rank> gone{};
  for (const auto axis : r.axes) gone[static_cast<std::size_t>(x.axis(static_cast<int>(axis)))] = true;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!gone[static_cast<std::size_t>(i)]) shape = shape.append(x[i]);
    else if (r.keepdims) shape = shape.append(1);
  }
  return shape;
}

// The reduced shape with its axes kept, to broadcast back.
Shape kept(const Shape& x, const Reduction& r) { return reduced(x, {r.axes, true}); }

Types infer(const Inference& in) {
  return {{reduced(in.inputs[0].shape, in.attributes.as<Reduction>()), in.inputs[0].dtype}};
}

template <class F> void each(const Reference& r, F f) {
  const rules::BroadcastIndex to(kept(r.inputs[0]->shape, r.attributes.as<Reduction>()), r.inputs[0]->shape);
  for (std::size_t i = 0; i < r.inputs[0]->data.size(); ++i) f(r.outputs[0].data[to(i)], r.inputs[0]->data[i]);
}

constinit const OpDef reduce_sum_op{
    .name = "reduce_sum",
    .doc = "The sum over axes.",
    .attributes = &schema_of<Reduction>,
    .read = &read_attributes<Reduction>,
    .infer = infer,
    .vjp = [](const Vjp& v) -> Values {
      const Shape& x = v.inputs[0].shape();
      return {broadcast_to(reshape(v.gradients[0], kept(x, v.attributes.as<Reduction>())), x)};
    },
    .reference = [](const Reference& r) { each(r, [](double& sum, double x) { sum += x; }); },
    .examples = []() -> std::vector<OpExample> {
      return {
          {"over rows", {floats({4, 3})}, [](std::span<const Value> x) -> Values { return {reduce_sum(x[0], {0})}; }},
          {"over the last axis, kept",
           {floats({2, 3, 4})},
           [](std::span<const Value> x) -> Values { return {reduce_sum(x[0], {-1}, true)}; }},
          {"over the outer axes",
           {floats({2, 3, 4})},
           [](std::span<const Value> x) -> Values {
             return {reduce_sum(x[0], {0, 1})};
           }},
          {"over everything", {floats({2, 3})}, [](std::span<const Value> x) -> Values { return {sum(x[0])}; }}};
    },
    .shard = &shard::reduce};

constinit const OpDef reduce_max_op{
    .name = "reduce_max",
    .doc = "The largest over axes; its gradient is shared by equals.",
    .attributes = &schema_of<Reduction>,
    .read = &read_attributes<Reduction>,
    .infer = infer,
    .vjp = [](const Vjp& v) -> Values {
      auto& r = v.attributes.as<Reduction>();
      const Shape& x = v.inputs[0].shape();
      Value hit = cast(equal(v.inputs[0], reshape(v.outputs[0], kept(x, r))), v.inputs[0].dtype());
      Value share = reshape(v.gradients[0], kept(x, r)) / reduce_sum(hit, r.axes, true);
      return {hit * share};
    },
    .reference =
        [](const Reference& r) {
          std::ranges::fill(r.outputs[0].data, -std::numeric_limits<double>::infinity());
          each(r, [](double& most, double x) {
            if (!(x <= most)) most = x;
          });
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"over the last axis",
               {floats({3, 4})},
               [](std::span<const Value> x) -> Values { return {reduce_max(x[0], {-1})}; }},
              {"over two axes, kept", {floats({2, 3, 4})}, [](std::span<const Value> x) -> Values {
                 return {reduce_max(x[0], {0, 2}, true)};
               }}};
    },
    .shard = &shard::reduce_other};

constinit const OpDef reduce_all_op{
    .name = "reduce_all",
    .doc = "Whether every element holds.",
    .infer = [](const Inference& in) -> Types {
      if (in.inputs[0].dtype != DType::boolean) throw Error(cat("reduce_all needs a bool array, got ", in.inputs[0]));
      return {{{}, DType::boolean}};
    },
    .vjp = [](const Vjp&) -> Values { return {Value{}}; },
    .reference =
        [](const Reference& r) {
          r.outputs[0].data[0] = std::ranges::all_of(r.inputs[0]->data, [](double x) { return x != 0; });
        },
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      Value failures = sum(cast(logical_not(in[0]), DType::float32));
      return {equal(failures, full_like(failures, 0))};
    },
    .examples = []() -> std::vector<OpExample> {
      return {{"some fail",
               {rules::bools({3, 2})},
               [](std::span<const Value> x) -> Values { return {reduce_all(x[0])}; },
               1,
               false},
              {"all hold",
               {floats({4}, 1, 2)},
               [](std::span<const Value> x) -> Values { return {reduce_all(greater(x[0], full_like(x[0], 0)))}; },
               1,
               false}};
    }};

constinit const OpDef argmax_op{
    .name = "argmax",
    .doc = "Where the largest stands along an axis; the first of equals.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = [](const Inference& in) -> Types {
      return {{in.inputs[0].shape.without(static_cast<int>(in.attributes.as<Axis>().axis)), DType::int32}};
    },
    .vjp = [](const Vjp&) -> Values { return {Value{}}; },
    .reference =
        [](const Reference& r) {
          const rules::AxisView view(r.inputs[0]->shape, static_cast<int>(r.attributes.as<Axis>().axis));
          for (std::size_t o = 0; o < view.outer; ++o)
            for (std::size_t i = 0; i < view.inner; ++i) {
              std::size_t best = 0;
              for (std::size_t l = 1; l < view.length; ++l)
                if (r.inputs[0]->data[(o * view.length + l) * view.inner + i] >
                    r.inputs[0]->data[(o * view.length + best) * view.inner + i])
                  best = l;
              r.outputs[0].data[o * view.inner + i] = static_cast<double>(best);
            }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the last axis",
               {floats({3, 5})},
               [](std::span<const Value> x) -> Values { return {argmax(x[0])}; },
               1,
               false},
              {"the first axis, equals",
               {rules::integers({4, 3}, 0, 2, DType::int32)},
               [](std::span<const Value> x) -> Values { return {argmax(x[0], 0)}; },
               1,
               false}};
    },
    .shard = &shard::along_axis};

constinit const OpDef cumulative_sum_op{
    .name = "cumulative_sum",
    .doc = "The sum so far along an axis.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = rules::along_axis,
    .vjp = [](const Vjp& v) -> Values {
      const int axis = static_cast<int>(v.attributes.as<Axis>().axis);
      return {reverse(cumulative_sum(reverse(v.gradients[0], axis), axis), axis)};
    },
    .reference =
        [](const Reference& r) {
          const rules::AxisView view(r.inputs[0]->shape, static_cast<int>(r.attributes.as<Axis>().axis));
          for (std::size_t o = 0; o < view.outer; ++o)
            for (std::size_t i = 0; i < view.inner; ++i) {
              double total = 0;
              for (std::size_t l = 0; l < view.length; ++l) {
                const std::size_t at = (o * view.length + l) * view.inner + i;
                r.outputs[0].data[at] = total += r.inputs[0]->data[at];
              }
            }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the last axis",
               {floats({2, 4})},
               [](std::span<const Value> x) -> Values { return {cumulative_sum(x[0])}; }},
              {"the first axis", {floats({3, 2})}, [](std::span<const Value> x) -> Values {
                 return {cumulative_sum(x[0], 0)};
               }}};
    },
    .shard = &shard::along_axis};

void sort_rows(const Reference& r, bool places) {
  const Shape& shape = r.inputs[0]->shape;
  const rules::AxisView view(shape, shape.rank() - 1);
  std::vector<std::size_t> order(view.length);
  for (std::size_t o = 0; o < view.outer; ++o) {
    const double* row = r.inputs[0]->data.data() + o * view.length;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    for (std::size_t l = 0; l < view.length; ++l) {
      r.outputs[0].data[o * view.length + l] = row[order[l]];
      if (places) r.outputs[1].data[o * view.length + l] = static_cast<double>(order[l]);
    }
  }
}

constinit const OpDef sort_descending_op{
    .name = "sort_descending",
    .doc = "The last axis from the largest down, and where each came from; equals keep their order.",
    .infer = [](const Inference& in) -> Types {
      return {in.inputs[0], {in.inputs[0].shape, DType::int32}};
    },
    // Each element's gradient goes back to where it came from: through the one-hot of the places.
    .vjp = [](const Vjp& v) -> Values {
      const Shape& shape = v.inputs[0].shape();
      Value places = one_hot(v.outputs[1], shape[-1], v.inputs[0].dtype());  // [..., sorted, original]
      Value g = reshape(v.gradients[0], shape.slice(0, shape.rank() - 1).append(1).append(shape[-1]));
      return {reshape(matmul(g, places), shape)};
    },
    .reference = [](const Reference& r) { sort_rows(r, true); },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows", {floats({3, 4})}, [](std::span<const Value> x) -> Values { return {sort_descending(x[0])}; }}};
    },
    .shard = &shard::keeps_rows};

}  // namespace

Value reduce_sum(Value x, std::vector<std::int64_t> axes, bool keepdims) {
  return axes.empty() ? x : x.graph->add(reduce_sum_op, {x}, Reduction{std::move(axes), keepdims});
}
Value reduce_mean(Value x, std::vector<std::int64_t> axes, bool keepdims) {
  const std::int64_t before = x.shape().size();
  Value total = reduce_sum(x, std::move(axes), keepdims);
  return total * (static_cast<double>(total.shape().size()) / static_cast<double>(std::max<std::int64_t>(before, 1)));
}
Value reduce_max(Value x, std::vector<std::int64_t> axes, bool keepdims) {
  return axes.empty() ? x : x.graph->add(reduce_max_op, {x}, Reduction{std::move(axes), keepdims});
}
Value reduce_all(Value x) { return x.graph->add(reduce_all_op, {x}); }
Value sum(Value x) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.shape().rank()));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return reduce_sum(x, axes);
}
Value mean(Value x) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.shape().rank()));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return reduce_mean(x, axes);
}
Value argmax(Value x, int axis) { return x.graph->add(argmax_op, {x}, Axis{axis}); }
Value cumulative_sum(Value x, int axis) { return x.graph->add(cumulative_sum_op, {x}, Axis{axis}); }
Value sort_descending(Value x) { return x.graph->add(sort_descending_op, {x}); }

void ops_reduce(std::vector<const OpDef*>& all) {
  all.insert(all.end(),
             {&reduce_sum_op, &reduce_max_op, &reduce_all_op, &argmax_op, &cumulative_sum_op, &sort_descending_op});
}

}  // namespace strata
