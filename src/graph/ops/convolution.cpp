// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution (correlation, as in all of deep learning), channels last, and its two gradients. Each of
// the three differentiates in the others.
#include "graph/rules.h"

namespace strata {

Schema Convolution::schema() {
  return Schema("convolution", "How the window moves.")
      .arg("strides", &Convolution::strides, "Steps down and across.")
      .arg("dilation", &Convolution::dilation, "Distance of the kernel's elements.")
      .arg("pad_low", &Convolution::pad_low, "Zero rows above and columns left.")
      .arg("pad_high", &Convolution::pad_high, "Zero rows below and columns right.")
      .arg("groups", &Convolution::groups, "Channels in this many groups of their own.", at_least(1));
}
Schema ConvolutionGradient::schema() {
  return Schema("convolution_gradient", "A convolution, and the shape of what is differentiated.")
      .arg("convolution", &ConvolutionGradient::convolution, "The forward convolution.")
      .arg("shape", &ConvolutionGradient::shape, "The gradient's shape.");
}

template <> struct FieldTypeOf<Convolution> {
  static const FieldType& get() {
    static const FieldType type = [] {
      FieldType t;
      t.name = "a convolution";
      t.read = [](void* field, const Config& config, const std::string&, Mistakes& mistakes) {
        schema_of<Convolution>().read(field, config, mistakes);
      };
      t.write = [](const void* field) { return schema_of<Convolution>().write(field); };
      return t;
    }();
    return type;
  }
};

namespace {

std::int64_t extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t low,
                    std::int64_t high) {
  const std::int64_t span = (kernel - 1) * dilation + 1, padded = in + low + high;
  return padded < span ? 0 : (padded - span) / stride + 1;
}

Shape output_shape(const Shape& x, const Shape& kernel, const Convolution& c) {
  return {x[0], extent(x[1], kernel[0], c.strides.first, c.dilation.first, c.pad_low.first, c.pad_high.first),
          extent(x[2], kernel[1], c.strides.second, c.dilation.second, c.pad_low.second, c.pad_high.second), kernel[3]};
}

void check(const Shape& x, const Shape& kernel, const Convolution& c) {
  if (x.rank() != 4) throw Error(cat("conv2d needs x [batch, height, width, channels], got ", x));
  if (kernel.rank() != 4) throw Error(cat("conv2d needs a kernel [height, width, in / groups, out], got ", kernel));
  if (x[3] != kernel[2] * c.groups || kernel[3] % c.groups != 0)
    throw Error(cat("conv2d needs matching channels: x ", x, ", kernel ", kernel, ", groups ", c.groups));
  const Shape out = output_shape(x, kernel, c);
  if (out[1] < 1 || out[2] < 1)
    throw Error(cat("conv2d: the kernel ", kernel, " is larger than x ", x, " with its padding"));
}

// Calls f(x index, kernel index, output index) for every product of the convolution.
template <class F> void each_product(const Shape& x, const Shape& kernel, const Shape& out, const Convolution& c, F f) {
  const std::int64_t in_group = kernel[2], out_group = kernel[3] / c.groups;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t oh = 0; oh < out[1]; ++oh)
      for (std::int64_t ow = 0; ow < out[2]; ++ow)
        for (std::int64_t kh = 0; kh < kernel[0]; ++kh) {
          const std::int64_t ih = oh * c.strides.first + kh * c.dilation.first - c.pad_low.first;
          if (ih < 0 || ih >= x[1]) continue;
          for (std::int64_t kw = 0; kw < kernel[1]; ++kw) {
            const std::int64_t iw = ow * c.strides.second + kw * c.dilation.second - c.pad_low.second;
            if (iw < 0 || iw >= x[2]) continue;
            for (std::int64_t ci = 0; ci < in_group; ++ci)
              for (std::int64_t co = 0; co < kernel[3]; ++co)
                f(static_cast<std::size_t>(((n * x[1] + ih) * x[2] + iw) * x[3] + co / out_group * in_group + ci),
                  static_cast<std::size_t>(((kh * kernel[1] + kw) * in_group + ci) * kernel[3] + co),
                  static_cast<std::size_t>(((n * out[1] + oh) * out[2] + ow) * out[3] + co));
          }
        }
}

struct Case {
  const char* name;
  Shape x, kernel;
  Convolution c;
};
const Case cases[] = {
    {"valid", {1, 4, 4, 2}, {3, 3, 2, 2}, {}},
    {"same, stride 2",
     {1, 5, 4, 1},
     {3, 3, 1, 2},
     {.strides = 2, .dilation = 1, .pad_low = Pair(1, 0), .pad_high = Pair(1, 1)}},
    {"dilated", {1, 5, 5, 1}, {2, 2, 1, 2}, {.strides = 1, .dilation = 2}},
    {"two groups", {1, 3, 3, 4}, {2, 2, 2, 2}, {.strides = 1, .dilation = 1, .pad_low = 0, .pad_high = 0, .groups = 2}},
    {"1 x 1", {2, 2, 3, 3}, {1, 1, 3, 2}, {}}};

template <int i> Values forward(std::span<const Value> x) { return {conv2d(x[0], x[1], cases[i].c)}; }
template <int i> Values to_input(std::span<const Value> x) {
  return {conv2d_input_gradient(x[0], x[1], cases[i].c, cases[i].x)};
}
template <int i> Values to_kernel(std::span<const Value> x) {
  return {conv2d_kernel_gradient(x[0], x[1], cases[i].c, cases[i].kernel)};
}

constinit const OpDef conv2d_op{
    .name = "conv2d",
    .doc = "Convolution of x [batch, height, width, in] with a kernel [height, width, in / groups, out].",
    .attributes = &schema_of<Convolution>,
    .read = &read_attributes<Convolution>,
    .infer = [](const Inference& in) -> Types {
      rules::want_same_dtype(in, "conv2d");
      check(in.inputs[0].shape, in.inputs[1].shape, in.attributes.as<Convolution>());
      return {
          {output_shape(in.inputs[0].shape, in.inputs[1].shape, in.attributes.as<Convolution>()), in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      auto& c = v.attributes.as<Convolution>();
      return {conv2d_input_gradient(v.gradients[0], v.inputs[1], c, v.inputs[0].shape()),
              conv2d_kernel_gradient(v.inputs[0], v.gradients[0], c, v.inputs[1].shape())};
    },
    .reference =
        [](const Reference& r) {
          auto &x = *r.inputs[0], &k = *r.inputs[1];
          each_product(x.shape, k.shape, r.outputs[0].shape, r.attributes.as<Convolution>(),
                       [&](std::size_t xi, std::size_t ki, std::size_t oi) {
                         r.outputs[0].data[oi] += x.data[xi] * k.data[ki];
                       });
        },
    .examples = []() -> std::vector<OpExample> {
      Values (*builds[])(std::span<const Value>) = {forward<0>, forward<1>, forward<2>, forward<3>, forward<4>};
      std::vector<OpExample> all;
      for (std::size_t i = 0; i < 5; ++i)
        all.push_back({cases[i].name, {rules::floats(cases[i].x), rules::floats(cases[i].kernel)}, builds[i]});
      return all;
    },
    .shard = &shard::conv2d};

constinit const OpDef conv2d_input_gradient_op{
    .name = "conv2d_input_gradient",
    .doc = "The gradient of conv2d's x from that of its result and the kernel.",
    .attributes = &schema_of<ConvolutionGradient>,
    .read = &read_attributes<ConvolutionGradient>,
    .infer = [](const Inference& in) -> Types {
      rules::want_same_dtype(in, "conv2d_input_gradient");
      auto& a = in.attributes.as<ConvolutionGradient>();
      check(a.shape, in.inputs[1].shape, a.convolution);
      const Shape out = output_shape(a.shape, in.inputs[1].shape, a.convolution);
      if (!(out == in.inputs[0].shape))
        throw Error(cat("conv2d_input_gradient needs a gradient ", out, ", got ", in.inputs[0].shape));
      return {{a.shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      auto& c = v.attributes.as<ConvolutionGradient>().convolution;
      return {conv2d(v.gradients[0], v.inputs[1], c),
              conv2d_kernel_gradient(v.gradients[0], v.inputs[0], c, v.inputs[1].shape())};
    },
    .reference =
        [](const Reference& r) {
          auto &g = *r.inputs[0], &k = *r.inputs[1];
          each_product(r.outputs[0].shape, k.shape, g.shape, r.attributes.as<ConvolutionGradient>().convolution,
                       [&](std::size_t xi, std::size_t ki, std::size_t oi) {
                         r.outputs[0].data[xi] += g.data[oi] * k.data[ki];
                       });
        },
    .examples = []() -> std::vector<OpExample> {
      Values (*builds[])(std::span<const Value>) = {to_input<0>, to_input<1>, to_input<2>, to_input<3>, to_input<4>};
      std::vector<OpExample> all;
      for (std::size_t i = 0; i < 5; ++i)
        all.push_back(
            {cases[i].name,
             {rules::floats(output_shape(cases[i].x, cases[i].kernel, cases[i].c)), rules::floats(cases[i].kernel)},
             builds[i]});
      return all;
    },
    .shard = &shard::conv2d_input_gradient};

constinit const OpDef conv2d_kernel_gradient_op{
    .name = "conv2d_kernel_gradient",
    .doc = "The gradient of conv2d's kernel from x and that of its result.",
    .attributes = &schema_of<ConvolutionGradient>,
    .read = &read_attributes<ConvolutionGradient>,
    .infer = [](const Inference& in) -> Types {
      rules::want_same_dtype(in, "conv2d_kernel_gradient");
      auto& a = in.attributes.as<ConvolutionGradient>();
      check(in.inputs[0].shape, a.shape, a.convolution);
      const Shape out = output_shape(in.inputs[0].shape, a.shape, a.convolution);
      if (!(out == in.inputs[1].shape))
        throw Error(cat("conv2d_kernel_gradient needs a gradient ", out, ", got ", in.inputs[1].shape));
      return {{a.shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      auto& c = v.attributes.as<ConvolutionGradient>().convolution;
      return {conv2d_input_gradient(v.inputs[1], v.gradients[0], c, v.inputs[0].shape()),
              conv2d(v.inputs[0], v.gradients[0], c)};
    },
    .reference =
        [](const Reference& r) {
          auto &x = *r.inputs[0], &g = *r.inputs[1];
          each_product(x.shape, r.outputs[0].shape, g.shape, r.attributes.as<ConvolutionGradient>().convolution,
                       [&](std::size_t xi, std::size_t ki, std::size_t oi) {
                         r.outputs[0].data[ki] += x.data[xi] * g.data[oi];
                       });
        },
    .examples = []() -> std::vector<OpExample> {
      Values (*builds[])(std::span<const Value>) = {to_kernel<0>, to_kernel<1>, to_kernel<2>, to_kernel<3>,
                                                    to_kernel<4>};
      std::vector<OpExample> all;
      for (std::size_t i = 0; i < 5; ++i)
        all.push_back(
            {cases[i].name,
             {rules::floats(cases[i].x), rules::floats(output_shape(cases[i].x, cases[i].kernel, cases[i].c))},
             builds[i]});
      return all;
    },
    .shard = &shard::conv2d_kernel_gradient};

}  // namespace

Value conv2d(Value x, Value kernel, const Convolution& c) { return x.graph->add(conv2d_op, {x, kernel}, c); }
Value conv2d_input_gradient(Value gradient, Value kernel, const Convolution& c, const Shape& input) {
  return gradient.graph->add(conv2d_input_gradient_op, {gradient, kernel}, ConvolutionGradient{c, input});
}
Value conv2d_kernel_gradient(Value x, Value gradient, const Convolution& c, const Shape& kernel) {
  return x.graph->add(conv2d_kernel_gradient_op, {x, gradient}, ConvolutionGradient{c, kernel});
}

void ops_convolution(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&conv2d_op, &conv2d_input_gradient_op, &conv2d_kernel_gradient_op});
}

}  // namespace strata
