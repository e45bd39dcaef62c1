// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: reshape, broadcast and its opposite, transpose, slice, pad, concatenate, reverse.
#include <algorithm>

#include "graph/rules.h"

namespace strata {

Schema ToShape::schema() {
  return Schema("to_shape", "A shape to come to.").arg("shape", &ToShape::shape, "The shape.");
}
Schema Permutation::schema() {
  return Schema("permutation", "Axes in another order.")
      .arg("axes", &Permutation::axes, "For each axis of the result, the input's.");
}
Schema Slice::schema() {
  return Schema("slice", "A part along every axis.")
      .arg("starts", &Slice::starts, "The first index of each axis.")
      .arg("limits", &Slice::limits, "One past the last.")
      .arg("strides", &Slice::strides, "The steps.");
}
Schema Padding::schema() {
  return Schema("padding", "Elements put around.")
      .arg("low", &Padding::low, "How many before, by axis.")
      .arg("high", &Padding::high, "How many after.")
      .arg("value", &Padding::value, "What they hold.");
}
Schema Axis::schema() {
  return Schema("axis", "One axis.").arg("axis", &Axis::axis, "Counted from the end when negative.");
}

namespace {

using rules::floats;

std::string listed(const std::vector<std::int64_t>& axes) {
  std::string text;
  for (const std::int64_t axis : axes) text += cat(text.empty() ? "" : ", ", axis);
  return text;
}

constinit const OpDef reshape_op{
    .name = "reshape",
    .doc = "The same elements in the same order under another shape.",
    .attributes = &schema_of<ToShape>,
    .read = &read_attributes<ToShape>,
    .infer = [](const Inference& in) -> Types {
      auto& shape = in.attributes.as<ToShape>().shape;
      if (shape.size() != in.inputs[0].shape.size())
        throw Error(cat("reshape keeps the number of elements: ", in.inputs[0].shape, " has ",
                        in.inputs[0].shape.size(), ", ", shape, " has ", shape.size()));
      return {{shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values { return {reshape(v.gradients[0], v.inputs[0].shape())}; },
    .reference = [](const Reference& r) { r.outputs[0].data = r.inputs[0]->data; },
    .examples = []() -> std::vector<OpExample> {
      return {{"to a row", {floats({2, 3})}, [](std::span<const Value> x) -> Values { return {reshape(x[0], {6})}; }},
              {"to rank 3", {floats({4, 3})}, [](std::span<const Value> x) -> Values {
                 return {reshape(x[0], {2, 3, 2})};
               }}};
    },
    .traits = {.reads_shape_only = true},
    .shard = &shard::reshape};

constinit const OpDef broadcast_to_op{
    .name = "broadcast_to",
    .doc = "Repeats along axes of extent 1 and new leading axes.",
    .attributes = &schema_of<ToShape>,
    .read = &read_attributes<ToShape>,
    .infer = [](const Inference& in) -> Types {
      auto& shape = in.attributes.as<ToShape>().shape;
      if (!rules::repeats(in.inputs[0].shape, shape))
        throw Error(cat("broadcast_to cannot make ", shape, " of ", in.inputs[0].shape));
      return {{shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values { return {sum_to(v.gradients[0], v.inputs[0].shape())}; },
    .reference =
        [](const Reference& r) {
          const rules::BroadcastIndex from(r.inputs[0]->shape, r.outputs[0].shape);
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) r.outputs[0].data[i] = r.inputs[0]->data[from(i)];
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"a row to a matrix",
               {floats({3})},
               [](std::span<const Value> x) -> Values {
                 return {broadcast_to(x[0], {2, 3})};
               }},
              {"a column", {floats({2, 1})}, [](std::span<const Value> x) -> Values {
                 return {broadcast_to(x[0], {4, 2, 3})};
               }}};
    },
    .shard = &shard::broadcast_to};

constinit const OpDef sum_to_op{
    .name = "sum_to",
    .doc = "Adds up what broadcasting the shape had repeated.",
    .attributes = &schema_of<ToShape>,
    .read = &read_attributes<ToShape>,
    .infer = [](const Inference& in) -> Types {
      auto& shape = in.attributes.as<ToShape>().shape;
      if (!rules::repeats(shape, in.inputs[0].shape))
        throw Error(cat("sum_to cannot make ", shape, " of ", in.inputs[0].shape));
      return {{shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values { return {broadcast_to(v.gradients[0], v.inputs[0].shape())}; },
    .reference =
        [](const Reference& r) {
          const rules::BroadcastIndex to(r.outputs[0].shape, r.inputs[0]->shape);
          for (std::size_t i = 0; i < r.inputs[0]->data.size(); ++i) r.outputs[0].data[to(i)] += r.inputs[0]->data[i];
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"to a row", {floats({4, 3})}, [](std::span<const Value> x) -> Values { return {sum_to(x[0], {3})}; }},
              {"to a column",
               {floats({2, 3})},
               [](std::span<const Value> x) -> Values {
                 return {sum_to(x[0], {2, 1})};
               }},
              {"to a scalar", {floats({2, 3})}, [](std::span<const Value> x) -> Values { return {sum_to(x[0], {})}; }}};
    },
    .shard = &shard::sum_to};

constinit const OpDef transpose_op{
    .name = "transpose",
    .doc = "The axes in another order.",
    .attributes = &schema_of<Permutation>,
    .read = &read_attributes<Permutation>,
    .infer = [](const Inference& in) -> Types {
      auto& axes = in.attributes.as<Permutation>().axes;
      if (static_cast<int>(axes.size()) != in.inputs[0].shape.rank())
        throw Error(
            cat("transpose of ", in.inputs[0].shape, " needs ", in.inputs[0].shape.rank(), " axes, got ", axes.size()));
      auto sorted = axes;
      std::ranges::sort(sorted);
      for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != static_cast<std::int64_t>(i))
          throw Error(cat("transpose needs each axis of ", in.inputs[0].shape, " once, got ", listed(axes)));
      Type type{{}, in.inputs[0].dtype};
      for (const auto axis : axes) type.shape = type.shape.append(in.inputs[0].shape[static_cast<int>(axis)]);
      return {type};
    },
    .vjp = [](const Vjp& v) -> Values {
      auto& axes = v.attributes.as<Permutation>().axes;
      std::vector<std::int64_t> back(axes.size());
      for (std::size_t i = 0; i < axes.size(); ++i)
        back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
      return {transpose(v.gradients[0], back)};
    },
    .reference =
        [](const Reference& r) {
          auto& axes = r.attributes.as<Permutation>().axes;
          const auto from = rules::strides(r.inputs[0]->shape);
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) {
            const auto at = rules::coordinates(r.outputs[0].shape, i);
            std::size_t source = 0;
            for (std::size_t k = 0; k < axes.size(); ++k)
              source += static_cast<std::size_t>(at[k]) * from[static_cast<std::size_t>(axes[k])];
            r.outputs[0].data[i] = r.inputs[0]->data[source];
          }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"a matrix",
               {floats({2, 3})},
               [](std::span<const Value> x) -> Values {
                 return {transpose(x[0], {1, 0})};
               }},
              {"rank 3", {floats({2, 3, 4})}, [](std::span<const Value> x) -> Values {
                 return {transpose(x[0], {2, 0, 1})};
               }}};
    },
    .shard = &shard::transpose};

constinit const OpDef slice_op{
    .name = "slice",
    .doc = "A part along every axis, in steps.",
    .attributes = &schema_of<Slice>,
    .read = &read_attributes<Slice>,
    .infer = [](const Inference& in) -> Types {
      auto& a = in.attributes.as<Slice>();
      const Shape& x = in.inputs[0].shape;
      if (static_cast<int>(a.starts.size()) != x.rank() || a.limits.size() != a.starts.size() ||
          a.strides.size() != a.starts.size())
        throw Error(cat("slice of ", x, " needs ", x.rank(), " starts, limits and strides"));
      Type type{{}, in.inputs[0].dtype};
      for (std::size_t i = 0; i < a.starts.size(); ++i) {
        if (a.starts[i] < 0 || a.limits[i] > x[static_cast<int>(i)] || a.starts[i] > a.limits[i] || a.strides[i] < 1)
          throw Error(cat("slice from ", a.starts[i], " to ", a.limits[i], " by ", a.strides[i], " leaves axis ", i,
                          " of ", x));
        type.shape = type.shape.append((a.limits[i] - a.starts[i] + a.strides[i] - 1) / a.strides[i]);
      }
      return {type};
    },
    // Written back with zeros around: strides as zero-stuffing by a reshape of a padded array.
    .vjp = [](const Vjp& v) -> Values {
      auto& a = v.attributes.as<Slice>();
      Value g = v.gradients[0];
      const Shape& x = v.inputs[0].shape();
      for (std::size_t i = 0; i < a.strides.size(); ++i) {
        if (a.strides[i] == 1) continue;
        const int axis = static_cast<int>(i);
        const Shape before = g.shape();
        Shape stuffed;
        for (int k = 0; k < before.rank(); ++k) {
          stuffed = stuffed.append(before[k]);
          if (k == axis) stuffed = stuffed.append(1);
        }
        std::vector<std::int64_t> low(static_cast<std::size_t>(stuffed.rank()), 0), high = low;
        high[i + 1] = a.strides[i] - 1;
        g = reshape(pad(reshape(g, stuffed), low, high), before.with(axis, before[axis] * a.strides[i]));
        const std::int64_t kept = std::min(g.shape()[axis], x[axis] - a.starts[i]);
        g = slice_axis(g, axis, 0, kept);
      }
      std::vector<std::int64_t> low = a.starts, high;
      for (int k = 0; k < x.rank(); ++k) high.push_back(x[k] - a.starts[static_cast<std::size_t>(k)] - g.shape()[k]);
      return {pad(g, low, high)};
    },
    .reference =
        [](const Reference& r) {
          auto& a = r.attributes.as<Slice>();
          const auto from = rules::strides(r.inputs[0]->shape);
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) {
            const auto at = rules::coordinates(r.outputs[0].shape, i);
            std::size_t source = 0;
            for (std::size_t k = 0; k < a.starts.size(); ++k)
              source += static_cast<std::size_t>(a.starts[k] + at[k] * a.strides[k]) * from[k];
            r.outputs[0].data[i] = r.inputs[0]->data[source];
          }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the middle",
               {floats({4, 5})},
               [](std::span<const Value> x) -> Values {
                 return {slice(x[0], {1, 2}, {3, 5})};
               }},
              {"every second", {floats({5, 6})}, [](std::span<const Value> x) -> Values {
                 return {slice(x[0], {1, 0}, {5, 6}, {2, 3})};
               }}};
    },
    .shard = &shard::window};

constinit const OpDef pad_op{.name = "pad",
                             .doc = "Elements of one value put around.",
                             .attributes = &schema_of<Padding>,
                             .read = &read_attributes<Padding>,
                             .infer = [](const Inference& in) -> Types {
                               auto& a = in.attributes.as<Padding>();
                               const Shape& x = in.inputs[0].shape;
                               if (static_cast<int>(a.low.size()) != x.rank() || a.high.size() != a.low.size())
                                 throw Error(cat("pad of ", x, " needs ", x.rank(), " counts before and after"));
                               Type type{{}, in.inputs[0].dtype};
                               for (std::size_t i = 0; i < a.low.size(); ++i) {
                                 if (a.low[i] < 0 || a.high[i] < 0)
                                   throw Error(cat("pad counts are at least 0, got ", a.low[i], " and ", a.high[i]));
                                 type.shape = type.shape.append(x[static_cast<int>(i)] + a.low[i] + a.high[i]);
                               }
                               return {type};
                             },
                             .vjp = [](const Vjp& v) -> Values {
                               auto& a = v.attributes.as<Padding>();
                               std::vector<std::int64_t> limits;
                               for (std::size_t i = 0; i < a.low.size(); ++i)
                                 limits.push_back(a.low[i] + v.inputs[0].shape()[static_cast<int>(i)]);
                               return {slice(v.gradients[0], a.low, limits)};
                             },
                             .reference =
                                 [](const Reference& r) {
                                   auto& a = r.attributes.as<Padding>();
                                   std::ranges::fill(r.outputs[0].data, a.value);
                                   const auto to = rules::strides(r.outputs[0].shape);
                                   for (std::size_t i = 0; i < r.inputs[0]->data.size(); ++i) {
                                     const auto at = rules::coordinates(r.inputs[0]->shape, i);
                                     std::size_t target = 0;
                                     for (std::size_t k = 0; k < a.low.size(); ++k)
                                       target += static_cast<std::size_t>(at[k] + a.low[k]) * to[k];
                                     r.outputs[0].data[target] = r.inputs[0]->data[i];
                                   }
                                 },
                             .examples = []() -> std::vector<OpExample> {
                               return {{"around", {floats({2, 3})}, [](std::span<const Value> x) -> Values {
                                          return {pad(x[0], {1, 0}, {0, 2}, 0.5)};
                                        }}};
                             },
                             .shard = &shard::window};

constinit const OpDef concatenate_op{
    .name = "concatenate",
    .doc = "Arrays one after the other along an axis.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = [](const Inference& in) -> Types {
      if (in.inputs.empty()) throw Error("concatenate needs at least one array");
      rules::want_same_dtype(in, "concatenate");
      const int axis = in.inputs[0].shape.axis(static_cast<int>(in.attributes.as<Axis>().axis));
      Type type = in.inputs[0];
      std::int64_t total = 0;
      for (const Type& part : in.inputs) {
        if (part.shape.rank() != type.shape.rank() || !(part.shape.with(axis, 0) == type.shape.with(axis, 0)))
          throw Error(cat("concatenate along axis ", axis, " needs shapes that agree elsewhere: ", in.inputs[0].shape,
                          " and ", part.shape));
        total += part.shape[axis];
      }
      type.shape = type.shape.with(axis, total);
      return {type};
    },
    .vjp = [](const Vjp& v) -> Values {
      const int axis = v.inputs[0].shape().axis(static_cast<int>(v.attributes.as<Axis>().axis));
      Values parts;
      std::int64_t at = 0;
      for (const Value& input : v.inputs) {
        parts.push_back(slice_axis(v.gradients[0], axis, at, at + input.shape()[axis]));
        at += input.shape()[axis];
      }
      return parts;
    },
    .reference =
        [](const Reference& r) {
          const int axis = r.outputs[0].shape.axis(static_cast<int>(r.attributes.as<Axis>().axis));
          const rules::AxisView out(r.outputs[0].shape, axis);
          std::size_t at = 0;
          for (const Array* part : r.inputs) {
            const rules::AxisView view(part->shape, axis);
            const std::size_t run = view.length * view.inner;
            for (std::size_t o = 0; o < view.outer; ++o)
              std::copy_n(part->data.begin() + static_cast<std::ptrdiff_t>(o * run), run,
                          r.outputs[0].data.begin() + static_cast<std::ptrdiff_t>((o * out.length + at) * out.inner));
            at += view.length;
          }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"columns",
               {floats({2, 3}), floats({2, 1})},
               [](std::span<const Value> x) -> Values {
                 return {concatenate({x[0], x[1]})};
               }},
              {"three along rows",
               {floats({1, 3}), floats({2, 3}), floats({1, 3})},
               [](std::span<const Value> x) -> Values {
                 return {concatenate({x[0], x[1], x[2]}, 0)};
               }}};
    },
    .shard = &shard::concatenate};

constinit const OpDef reverse_op{
    .name = "reverse",
    .doc = "Back to front along an axis.",
    .attributes = &schema_of<Axis>,
    .read = &read_attributes<Axis>,
    .infer = rules::along_axis,
    .vjp = [](const Vjp& v) -> Values {
      return {reverse(v.gradients[0], static_cast<int>(v.attributes.as<Axis>().axis))};
    },
    .reference =
        [](const Reference& r) {
          const rules::AxisView view(r.inputs[0]->shape, static_cast<int>(r.attributes.as<Axis>().axis));
          for (std::size_t o = 0; o < view.outer; ++o)
            for (std::size_t l = 0; l < view.length; ++l)
              for (std::size_t i = 0; i < view.inner; ++i)
                r.outputs[0].data[(o * view.length + l) * view.inner + i] =
                    r.inputs[0]->data[(o * view.length + view.length - 1 - l) * view.inner + i];
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"the middle axis", {floats({2, 3, 2})}, [](std::span<const Value> x) -> Values {
                 return {reverse(x[0], 1)};
               }}};
    },
    .shard = &shard::along_axis};

}  // namespace

Value reshape(Value x, const Shape& shape) {
  return x.shape() == shape ? x : x.graph->add(reshape_op, {x}, ToShape{shape});
}
Value broadcast_to(Value x, const Shape& shape) {
  return x.shape() == shape ? x : x.graph->add(broadcast_to_op, {x}, ToShape{shape});
}
Value sum_to(Value x, const Shape& shape) {
  return x.shape() == shape ? x : x.graph->add(sum_to_op, {x}, ToShape{shape});
}
Value transpose(Value x, std::vector<std::int64_t> axes) {
  return x.graph->add(transpose_op, {x}, Permutation{std::move(axes)});
}
Value slice(Value x, std::vector<std::int64_t> starts, std::vector<std::int64_t> limits,
            std::vector<std::int64_t> strides) {
  if (strides.empty()) strides.assign(starts.size(), 1);
  return x.graph->add(slice_op, {x}, Slice{std::move(starts), std::move(limits), std::move(strides)});
}
Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit) {
  const auto at = static_cast<std::size_t>(x.shape().axis(axis));
  std::vector<std::int64_t> starts(static_cast<std::size_t>(x.shape().rank()), 0),
      limits(x.shape().begin(), x.shape().end());
  if (start == 0 && limit == limits[at]) return x;
  starts[at] = start;
  limits[at] = limit;
  return slice(x, std::move(starts), std::move(limits));
}
Value pad(Value x, std::vector<std::int64_t> low, std::vector<std::int64_t> high, double value) {
  if (std::ranges::all_of(low, [](auto n) { return n == 0; }) &&
      std::ranges::all_of(high, [](auto n) { return n == 0; }))
    return x;
  return x.graph->add(pad_op, {x}, Padding{std::move(low), std::move(high), value});
}
Value concatenate(std::vector<Value> parts, int axis) {
  if (parts.empty()) throw Error("concatenate needs at least one array");
  return parts.size() == 1 ? parts[0] : parts[0].graph->add(concatenate_op, parts, Axis{axis});
}
Value reverse(Value x, int axis) { return x.graph->add(reverse_op, {x}, Axis{axis}); }

void ops_shape(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&reshape_op, &broadcast_to_op, &sum_to_op, &transpose_op, &slice_op, &pad_op, &concatenate_op,
                         &reverse_op});
}

}  // namespace strata
