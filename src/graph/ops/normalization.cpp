// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalization over channels-last arrays, and their gradients.
#include <cmath>
#include <numeric>

#include "graph/rules.h"

namespace strata {

Schema Epsilon::schema() {
  return Schema("epsilon", "What is added to a variance.").arg("epsilon", &Epsilon::epsilon, "The number.");
}

namespace {

using rules::floats;

double epsilon_of(const Attributes& attributes) { return attributes.as<Epsilon>().epsilon; }

std::vector<std::int64_t> outer_axes(const Shape& x) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank() - 1));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

void check_channels(const Inference& in, std::string_view op, std::size_t from, std::size_t count) {
  rules::want_floating(in.inputs[0], op, "x");
  rules::want_same_dtype(in, op);
  const std::int64_t channels = in.inputs[0].shape[-1];
  for (std::size_t i = from; i < from + count; ++i)
    if (in.inputs[i] && !(in.inputs[i].shape == Shape{channels}))
      throw Error(cat(op, " needs one number a channel: x ", in.inputs[0].shape, ", got ", in.inputs[i].shape));
}

// x̂ = (x - mean) / sqrt(variance + ε) over rows (batch) or channels (layer), in simpler ops.
Value normalized(Value x, Value mean, Value variance, double epsilon) { return (x - mean) * rsqrt(variance + epsilon); }

constinit const OpDef batch_norm_gradient_op{
    .name = "batch_norm_gradient",
    .doc = "The gradients of batch_norm's x, gamma and beta from x, gamma, mean, variance and the result's gradient.",
    .attributes = &schema_of<Epsilon>,
    .read = &read_attributes<Epsilon>,
    .infer = [](const Inference& in) -> Types {
      const Type channels{{in.inputs[0].shape[-1]}, in.inputs[0].dtype};
      return {in.inputs[0], channels, channels};
    },
    .reference =
        [](const Reference& r) {
          const auto channels = static_cast<std::size_t>(r.inputs[0]->shape[-1]),
                     rows = r.inputs[0]->data.size() / std::max<std::size_t>(channels, 1);
          auto &x = r.inputs[0]->data, &g = r.inputs[4]->data;
          for (std::size_t c = 0; c < channels; ++c) {
            const double gamma = r.inputs[1] ? r.inputs[1]->data[c] : 1, mean = r.inputs[2]->data[c],
                         scale = 1 / std::sqrt(r.inputs[3]->data[c] + epsilon_of(r.attributes));
            double sum = 0, dot = 0;
            for (std::size_t i = c; i < x.size(); i += channels) {
              sum += g[i];
              dot += g[i] * (x[i] - mean) * scale;
            }
            for (std::size_t i = c; i < x.size(); i += channels)
              r.outputs[0].data[i] =
                  gamma * scale *
                  (g[i] - sum / static_cast<double>(rows) - (x[i] - mean) * scale * dot / static_cast<double>(rows));
            r.outputs[1].data[c] = dot;
            r.outputs[2].data[c] = sum;
          }
        },
    .decompose = [](std::span<const Value> in, const Attributes& attributes) -> Values {
      Value x = in[0], gamma = in[1], mean = in[2], scale = rsqrt(in[3] + epsilon_of(attributes)), g = in[4];
      const auto axes = outer_axes(x.shape());
      const double rows = static_cast<double>(x.shape().size() / x.shape()[-1]);
      Value hat = (x - mean) * scale, sum = reduce_sum(g, axes), dot = reduce_sum(g * hat, axes);
      Value inner = (g - sum * (1 / rows) - hat * (dot * (1 / rows))) * scale;
      return {gamma ? inner * gamma : inner, dot, sum};
    },
    .examples = []() -> std::vector<OpExample> {
      return {
          {"rows", {floats({5, 3}), floats({3}), floats({3}), floats({5, 3})}, [](std::span<const Value> x) -> Values {
             Values y = batch_norm(x[0], x[1], x[2], 1e-3);
             return gradients(sum(y[0] * x[3]), std::span<const Value>(&x[0], 3));
           }}};
    }};

constinit const OpDef batch_norm_op{
    .name = "batch_norm",
    .doc =
        "(x - mean) / sqrt(variance + epsilon) * gamma + beta over all axes but the last; and the mean and the "
        "(biased) variance.",
    .attributes = &schema_of<Epsilon>,
    .read = &read_attributes<Epsilon>,
    .infer = [](const Inference& in) -> Types {
      if (in.inputs[0].shape.rank() < 2)
        throw Error(cat("batch_norm needs x with a batch and channels, got ", in.inputs[0].shape));
      check_channels(in, "batch_norm", 1, 2);
      const Type channels{{in.inputs[0].shape[-1]}, in.inputs[0].dtype};
      return {in.inputs[0], channels, channels};
    },
    .vjp = [](const Vjp& v) -> Values {
      // Gradients of the mean and variance themselves are rare (they go to moving averages, undifferentiated): in simple ops.
      Value x = v.inputs[0];
      const double rows = static_cast<double>(x.shape().size() / x.shape()[-1]);
      Values all(3);
      if (v.gradients[0]) {
        all = x.graph->add_all(batch_norm_gradient_op, {x, v.inputs[1], v.outputs[1], v.outputs[2], v.gradients[0]},
                               v.attributes);
        if (!v.inputs[1]) all[1] = {};
        if (!v.inputs[2]) all[2] = {};
      }
      auto more = [&](Value gradient) { all[0] = all[0] ? all[0] + gradient : gradient; };
      if (v.gradients[1]) more(broadcast_to(v.gradients[1] * (1 / rows), x.shape()));
      if (v.gradients[2]) more((x - v.outputs[1]) * (v.gradients[2] * (2 / rows)));
      return all;
    },
    .reference =
        [](const Reference& r) {
          const auto channels = static_cast<std::size_t>(r.inputs[0]->shape[-1]);
          auto& x = r.inputs[0]->data;
          const double rows = static_cast<double>(x.size() / std::max<std::size_t>(channels, 1));
          for (std::size_t c = 0; c < channels; ++c) {
            double mean = 0, variance = 0;
            for (std::size_t i = c; i < x.size(); i += channels) mean += x[i] / rows;
            for (std::size_t i = c; i < x.size(); i += channels) variance += (x[i] - mean) * (x[i] - mean) / rows;
            const double scale =
                             (r.inputs[1] ? r.inputs[1]->data[c] : 1) / std::sqrt(variance + epsilon_of(r.attributes)),
                         offset = r.inputs[2] ? r.inputs[2]->data[c] : 0;
            for (std::size_t i = c; i < x.size(); i += channels) r.outputs[0].data[i] = (x[i] - mean) * scale + offset;
            r.outputs[1].data[c] = mean;
            r.outputs[2].data[c] = variance;
          }
        },
    .decompose = [](std::span<const Value> in, const Attributes& attributes) -> Values {
      Value x = in[0];
      const auto axes = outer_axes(x.shape());
      Value mean = reduce_mean(x, axes), variance = reduce_mean(square(x - mean), axes),
            y = normalized(x, mean, variance, epsilon_of(attributes));
      if (in[1]) y = y * in[1];
      if (in[2]) y = y + in[2];
      return {y, mean, variance};
    },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows",
               {floats({5, 3}), floats({3}), floats({3})},
               [](std::span<const Value> x) -> Values { return batch_norm(x[0], x[1], x[2], 1e-3); }},
              {"images, no gamma",
               {floats({2, 3, 2, 2}), floats({2})},
               [](std::span<const Value> x) -> Values { return batch_norm(x[0], {}, x[1], 1e-2); }},
              {"neither gamma nor beta", {floats({4, 2})}, [](std::span<const Value> x) -> Values {
                 return batch_norm(x[0], {}, {}, 1e-3);
               }}};
    }};

constinit const OpDef layer_norm_gradient_op{
    .name = "layer_norm_gradient",
    .doc =
        "The gradients of layer_norm's x, gamma and beta from x, gamma, mean, 1 / deviation and the result's gradient.",
    .infer = [](const Inference& in) -> Types {
      const Type channels{{in.inputs[0].shape[-1]}, in.inputs[0].dtype};
      return {in.inputs[0], channels, channels};
    },
    .reference =
        [](const Reference& r) {
          const auto n = static_cast<std::size_t>(r.inputs[0]->shape[-1]);
          auto &x = r.inputs[0]->data, &g = r.inputs[4]->data;
          for (std::size_t row = 0; row * n < x.size(); ++row) {
            const double mean = r.inputs[2]->data[row], scale = r.inputs[3]->data[row];
            double sum = 0, dot = 0;
            for (std::size_t c = 0; c < n; ++c) {
              const std::size_t i = row * n + c;
              const double hat = (x[i] - mean) * scale, weighted = g[i] * (r.inputs[1] ? r.inputs[1]->data[c] : 1);
              sum += weighted / static_cast<double>(n);
              dot += weighted * hat / static_cast<double>(n);
              r.outputs[1].data[c] += g[i] * hat;
              r.outputs[2].data[c] += g[i];
            }
            for (std::size_t c = 0; c < n; ++c) {
              const std::size_t i = row * n + c;
              r.outputs[0].data[i] =
                  scale * (g[i] * (r.inputs[1] ? r.inputs[1]->data[c] : 1) - sum - (x[i] - mean) * scale * dot);
            }
          }
        },
    .decompose = [](std::span<const Value> in, const Attributes&) -> Values {
      Value x = in[0], g = in[4];
      const Shape rows = in[2].shape().append(1);
      Value scale = reshape(in[3], rows), hat = (x - reshape(in[2], rows)) * scale, weighted = in[1] ? g * in[1] : g;
      Value inner = weighted - reduce_mean(weighted, {-1}, true) - hat * reduce_mean(weighted * hat, {-1}, true);
      const auto axes = outer_axes(x.shape());
      return {inner * scale, reduce_sum(g * hat, axes), reduce_sum(g, axes)};
    },
    .examples = []() -> std::vector<OpExample> {
      return {
          {"rows", {floats({3, 5}), floats({5}), floats({5}), floats({3, 5})}, [](std::span<const Value> x) -> Values {
             return gradients(sum(layer_norm(x[0], x[1], x[2], 1e-3) * x[3]), std::span<const Value>(&x[0], 3));
           }}};
    },
    .shard = &shard::layer_norm_gradient};

constinit const OpDef layer_norm_op{
    .name = "layer_norm",
    .doc =
        "Each row (last axis) brought to mean 0 and variance 1, times gamma plus beta; and its mean and 1 / deviation.",
    .attributes = &schema_of<Epsilon>,
    .read = &read_attributes<Epsilon>,
    .infer = [](const Inference& in) -> Types {
      check_channels(in, "layer_norm", 1, 2);
      const Type rows{in.inputs[0].shape.without(-1), in.inputs[0].dtype};
      return {in.inputs[0], rows, rows};
    },
    .vjp = [](const Vjp& v) -> Values {
      Value x = v.inputs[0];
      Values all(3);
      if (v.gradients[0]) {
        all = x.graph->add_all(layer_norm_gradient_op, {x, v.inputs[1], v.outputs[1], v.outputs[2], v.gradients[0]});
        if (!v.inputs[1]) all[1] = {};
        if (!v.inputs[2]) all[2] = {};
      }
      // The mean and the deviation have gradients only where a gradient is differentiated again.
      auto more = [&](Value gradient) { all[0] = all[0] ? all[0] + gradient : gradient; };
      const double share = 1 / static_cast<double>(x.shape()[-1]);
      const Shape rows = v.outputs[1].shape().append(1);
      if (v.gradients[1]) more(broadcast_to(reshape(v.gradients[1] * share, rows), x.shape()));
      if (v.gradients[2]) {
        Value scale = v.outputs[2];
        more((x - reshape(v.outputs[1], rows)) * reshape(v.gradients[2] * (scale * scale * scale) * -share, rows));
      }
      return all;
    },
    .reference =
        [](const Reference& r) {
          const auto n = static_cast<std::size_t>(r.inputs[0]->shape[-1]);
          auto& x = r.inputs[0]->data;
          for (std::size_t row = 0; row * n < x.size(); ++row) {
            double mean = 0, variance = 0;
            for (std::size_t c = 0; c < n; ++c) mean += x[row * n + c] / static_cast<double>(n);
            for (std::size_t c = 0; c < n; ++c)
              variance += (x[row * n + c] - mean) * (x[row * n + c] - mean) / static_cast<double>(n);
            const double scale = 1 / std::sqrt(variance + epsilon_of(r.attributes));
            for (std::size_t c = 0; c < n; ++c)
              r.outputs[0].data[row * n + c] =
                  (x[row * n + c] - mean) * scale * (r.inputs[1] ? r.inputs[1]->data[c] : 1) +
                  (r.inputs[2] ? r.inputs[2]->data[c] : 0);
            r.outputs[1].data[row] = mean;
            r.outputs[2].data[row] = scale;
          }
        },
    .decompose = [](std::span<const Value> in, const Attributes& attributes) -> Values {
      Value x = in[0], mean = reduce_mean(x, {-1}, true), variance = reduce_mean(square(x - mean), {-1}, true),
            scale = rsqrt(variance + epsilon_of(attributes));
      Value y = (x - mean) * scale;
      if (in[1]) y = y * in[1];
      if (in[2]) y = y + in[2];
      return {y, reshape(mean, x.shape().without(-1)), reshape(scale, x.shape().without(-1))};
    },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows",
               {floats({3, 5}), floats({5}), floats({5})},
               [](std::span<const Value> x) -> Values { return {layer_norm(x[0], x[1], x[2], 1e-3)}; }},
              {"rank 3, beta only",
               {floats({2, 3, 4}), floats({4})},
               [](std::span<const Value> x) -> Values { return {layer_norm(x[0], {}, x[1], 1e-3)}; }},
              {"neither", {floats({2, 4})}, [](std::span<const Value> x) -> Values {
                 return {layer_norm(x[0], {}, {}, 1e-3)};
               }}};
    },
    .shard = &shard::layer_norm};

}  // namespace

Values batch_norm(Value x, Value gamma, Value beta, double epsilon) {
  return x.graph->add_all(batch_norm_op, {x, gamma, beta}, Epsilon{epsilon});
}
Value layer_norm(Value x, Value gamma, Value beta, double epsilon) {
  return x.graph->add(layer_norm_op, {x, gamma, beta}, Epsilon{epsilon});
}

void ops_normalization(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&batch_norm_op, &batch_norm_gradient_op, &layer_norm_op, &layer_norm_gradient_op});
}

}  // namespace strata
