// SPDX-License-Identifier: Apache-2.0
// Pooling over windows of the two middle axes of [batch, height, width, channels].
#include <limits>

#include "graph/rules.h"

namespace strata {

Schema Pooling::schema() {
  return Schema("pooling", "The window and how it moves.")
      .arg("window", &Pooling::window, "Height and width.")
      .arg("strides", &Pooling::strides, "Steps down and across.")
      .arg("pad_low", &Pooling::pad_low, "Rows above and columns left that do not count.")
      .arg("pad_high", &Pooling::pad_high, "Rows below and columns right.");
}
Schema PoolingGradient::schema() {
  return Schema("pooling_gradient", "A pooling, and the shape of its input.")
      .arg("pooling", &PoolingGradient::pooling, "The pooling.")
      .arg("shape", &PoolingGradient::shape, "Its input's shape.");
}

template <> struct FieldTypeOf<Pooling> {
  static const FieldType& get() {
    static const FieldType type = [] {
      FieldType t;
      t.name = "a pooling";
      t.read = [](void* field, const Config& config, const std::string&, Mistakes& mistakes) {
        schema_of<Pooling>().read(field, config, mistakes);
      };
      t.write = [](const void* field) { return schema_of<Pooling>().write(field); };
      return t;
    }();
    return type;
  }
};

namespace {

Shape output_shape(const Shape& x, const Pooling& p) {
  if (x.rank() != 4) throw Error(cat("pooling needs x [batch, height, width, channels], got ", x));
  const std::int64_t h = x[1] + p.pad_low.first + p.pad_high.first, w = x[2] + p.pad_low.second + p.pad_high.second;
  if (h < p.window.first || w < p.window.second)
    throw Error(cat("pooling: the window [", p.window.first, ", ", p.window.second, "] is larger than x ", x));
  return {x[0], (h - p.window.first) / p.strides.first + 1, (w - p.window.second) / p.strides.second + 1, x[3]};
}

// Calls f(output index, x index, place in the window) for every real element of every window.
template <class F> void each_window(const Shape& x, const Shape& out, const Pooling& p, F f) {
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t oh = 0; oh < out[1]; ++oh)
      for (std::int64_t ow = 0; ow < out[2]; ++ow)
        for (std::int64_t kh = 0; kh < p.window.first; ++kh) {
          const std::int64_t ih = oh * p.strides.first + kh - p.pad_low.first;
          if (ih < 0 || ih >= x[1]) continue;
          for (std::int64_t kw = 0; kw < p.window.second; ++kw) {
            const std::int64_t iw = ow * p.strides.second + kw - p.pad_low.second;
            if (iw < 0 || iw >= x[2]) continue;
            for (std::int64_t c = 0; c < x[3]; ++c)
              f(static_cast<std::size_t>(((n * out[1] + oh) * out[2] + ow) * out[3] + c),
                static_cast<std::size_t>(((n * x[1] + ih) * x[2] + iw) * x[3] + c),
                static_cast<double>(kh * p.window.second + kw));
          }
        }
}

std::vector<double> window_counts(const Shape& x, const Shape& out, const Pooling& p) {
  std::vector<double> counts(static_cast<std::size_t>(out.size()), 0);
  each_window(x, out, p, [&](std::size_t o, std::size_t, double) { ++counts[o]; });
  return counts;
}

const Pooling plain{}, overlapping{.window = 3, .strides = 2, .pad_low = Pair(1, 0), .pad_high = Pair(1, 1)},
    wide{.window = Pair(1, 3), .strides = Pair(1, 2)};

std::vector<OpExample> pooled(Values (*a)(std::span<const Value>), Values (*b)(std::span<const Value>),
                              Values (*c)(std::span<const Value>)) {
  return {{"2 x 2", {rules::floats({2, 4, 4, 3})}, a},
          {"overlapping, padded", {rules::floats({1, 5, 4, 2})}, b},
          {"one row high", {rules::floats({1, 2, 5, 1})}, c}};
}

extern const OpDef max_pool2d_pick_op;

constinit const OpDef max_pool2d_gradient_op{
    .name = "max_pool2d_gradient",
    .doc = "The gradient of max_pool2d's x: to the place each window's largest came from.",
    .attributes = &schema_of<PoolingGradient>,
    .read = &read_attributes<PoolingGradient>,
    .infer = [](const Inference& in) -> Types {
      return {{in.attributes.as<PoolingGradient>().shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {v.gradients[0].graph->add(max_pool2d_pick_op, {v.gradients[0], v.inputs[1]},
                                        v.attributes.as<PoolingGradient>().pooling),
              Value{}};
    },
    .reference =
        [](const Reference& r) {
          auto& p = r.attributes.as<PoolingGradient>().pooling;
          each_window(r.outputs[0].shape, r.inputs[0]->shape, p, [&](std::size_t o, std::size_t i, double place) {
            if (r.inputs[1]->data[o] == place) r.outputs[0].data[i] += r.inputs[0]->data[o];
          });
        },
    .traits = {},
    .shard = &shard::pooling_gradient};

// The gradient's own gradient: what x holds at the places an earlier max_pool2d chose.
constinit const OpDef max_pool2d_pick_op{
    .name = "max_pool2d_pick",
    .doc = "The elements of x at the places where another array's windows had their largest.",
    .attributes = &schema_of<Pooling>,
    .read = &read_attributes<Pooling>,
    .infer = [](const Inference& in) -> Types {
      return {{output_shape(in.inputs[0].shape, in.attributes.as<Pooling>()), in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {v.gradients[0].graph->add(max_pool2d_gradient_op, {v.gradients[0], v.inputs[1]},
                                        PoolingGradient{v.attributes.as<Pooling>(), v.inputs[0].shape()}),
              Value{}};
    },
    .reference =
        [](const Reference& r) {
          each_window(r.inputs[0]->shape, r.outputs[0].shape, r.attributes.as<Pooling>(),
                      [&](std::size_t o, std::size_t i, double place) {
                        if (r.inputs[1]->data[o] == place) r.outputs[0].data[o] = r.inputs[0]->data[i];
                      });
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"a gradient's gradient",
               {rules::floats({1, 4, 4, 2}), rules::floats({1, 2, 2, 2})},
               [](std::span<const Value> x) -> Values {
                 const Values first = gradients(sum(max_pool2d(x[0], plain) * x[1]), x.first(1));
                 return gradients(sum(first[0] * x[0]), x.subspan(1, 1));
               }}};
    },
    .shard = &shard::keeps_rows};

constinit const OpDef max_pool2d_op{
    .name = "max_pool2d",
    .doc = "The largest of each window, and (opaque) where in the window it stands: the first of equals.",
    .attributes = &schema_of<Pooling>,
    .read = &read_attributes<Pooling>,
    .infer = [](const Inference& in) -> Types {
      const Shape out = output_shape(in.inputs[0].shape, in.attributes.as<Pooling>());
      return {{out, in.inputs[0].dtype}, {out, DType::opaque}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {v.gradients[0].graph->add(max_pool2d_gradient_op, {v.gradients[0], v.outputs[1]},
                                        PoolingGradient{v.attributes.as<Pooling>(), v.inputs[0].shape()})};
    },
    .reference =
        [](const Reference& r) {
          std::vector<bool> seen(r.outputs[0].data.size(), false);
          each_window(r.inputs[0]->shape, r.outputs[0].shape, r.attributes.as<Pooling>(),
                      [&](std::size_t o, std::size_t i, double place) {
                        if (seen[o] && !(r.inputs[0]->data[i] > r.outputs[0].data[o])) return;
                        seen[o] = true;
                        r.outputs[0].data[o] = r.inputs[0]->data[i];
                        r.outputs[1].data[o] = place;
                      });
        },
    .examples =
        [] {
          return pooled([](std::span<const Value> x) -> Values { return {max_pool2d(x[0], plain)}; },
                        [](std::span<const Value> x) -> Values { return {max_pool2d(x[0], overlapping)}; },
                        [](std::span<const Value> x) -> Values { return {max_pool2d(x[0], wide)}; });
        },
    .shard = &shard::keeps_rows};

constinit const OpDef average_pool2d_gradient_op{
    .name = "average_pool2d_gradient",
    .doc = "The gradient of average_pool2d's x.",
    .attributes = &schema_of<PoolingGradient>,
    .read = &read_attributes<PoolingGradient>,
    .infer = [](const Inference& in) -> Types {
      return {{in.attributes.as<PoolingGradient>().shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {average_pool2d(v.gradients[0], v.attributes.as<PoolingGradient>().pooling)};
    },
    .reference =
        [](const Reference& r) {
          auto& p = r.attributes.as<PoolingGradient>().pooling;
          const auto counts = window_counts(r.outputs[0].shape, r.inputs[0]->shape, p);
          each_window(r.outputs[0].shape, r.inputs[0]->shape, p, [&](std::size_t o, std::size_t i, double) {
            r.outputs[0].data[i] += r.inputs[0]->data[o] / counts[o];
          });
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"2 x 2", {rules::floats({1, 2, 2, 2})}, [](std::span<const Value> x) -> Values {
                 return {x[0].graph->add(average_pool2d_gradient_op, {x[0]}, PoolingGradient{plain, {1, 4, 4, 2}})};
               }}};
    },
    .shard = &shard::pooling_gradient};

constinit const OpDef average_pool2d_op{
    .name = "average_pool2d",
    .doc = "The mean of each window's real elements: padding does not count.",
    .attributes = &schema_of<Pooling>,
    .read = &read_attributes<Pooling>,
    .infer = [](const Inference& in) -> Types {
      return {{output_shape(in.inputs[0].shape, in.attributes.as<Pooling>()), in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {v.gradients[0].graph->add(average_pool2d_gradient_op, {v.gradients[0]},
                                        PoolingGradient{v.attributes.as<Pooling>(), v.inputs[0].shape()})};
    },
    .reference =
        [](const Reference& r) {
          auto& p = r.attributes.as<Pooling>();
          const auto counts = window_counts(r.inputs[0]->shape, r.outputs[0].shape, p);
          each_window(r.inputs[0]->shape, r.outputs[0].shape, p, [&](std::size_t o, std::size_t i, double) {
            r.outputs[0].data[o] += r.inputs[0]->data[i] / counts[o];
          });
        },
    .examples =
        [] {
          return pooled([](std::span<const Value> x) -> Values { return {average_pool2d(x[0], plain)}; },
                        [](std::span<const Value> x) -> Values { return {average_pool2d(x[0], overlapping)}; },
                        [](std::span<const Value> x) -> Values { return {average_pool2d(x[0], wide)}; });
        },
    .shard = &shard::keeps_rows};

}  // namespace

Value max_pool2d(Value x, const Pooling& pooling) { return x.graph->add(max_pool2d_op, {x}, pooling); }
Value average_pool2d(Value x, const Pooling& pooling) { return x.graph->add(average_pool2d_op, {x}, pooling); }

void ops_pooling(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&max_pool2d_op, &max_pool2d_gradient_op, &max_pool2d_pick_op, &average_pool2d_op,
                         &average_pool2d_gradient_op});
}

}  // namespace strata
