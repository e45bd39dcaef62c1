// SPDX-License-Identifier: Apache-2.0
// Calling layers: paths, precision, masks, penalties; precision policies.
#include "strata/layer.h"

#include <algorithm>

#include "base/text.h"
#include "strata/precision.h"

namespace strata {

Schema LayerCommon::schema() {
  return Schema("layer", "What every layer takes.")
      .arg("name", &LayerCommon::name, "The layer's name, by which weights, `from:` and messages know it.")
      .arg("trainable", &LayerCommon::trainable, "Whether training changes its weights.")
      .arg("dtype", &LayerCommon::dtype, "A precision policy of its own, such as float32 or mixed_bfloat16.")
      .arg("activity_regularizer", &LayerCommon::activity_regularizer,
           "A penalty on its output, divided by the rows of the batch.");
}

Precision precision_named(std::string_view policy) {
  static const std::vector<std::string> known{"float32",  "float64",       "float16",
                                              "bfloat16", "mixed_float16", "mixed_bfloat16"};
  if (policy == "mixed_float16") return {DType::float16, DType::float32};
  if (policy == "mixed_bfloat16") return {DType::bfloat16, DType::float32};
  for (const auto& name : known)
    if (policy == name) return {dtype_named(name), dtype_named(name)};
  throw Error(cat("there is no precision policy '", policy, "'", did_you_mean(policy, known), "; policies are ",
                  listed(known)));
}

namespace {

// Several inputs' masks are joined where a layer just passes them: a step counts if it counts in all.
Value passed_mask(Scope& scope, std::span<const Value> inputs) {
  Value mask;
  for (const Value& input : inputs) {
    const Value own = scope.mask(input);
    if (!own || (mask && mask == own)) continue;
    mask = mask && mask.shape() == own.shape() ? logical_and(mask, own) : own;
  }
  return mask;
}

}  // namespace

Values call_layer(Scope& scope, const Layer& layer, std::span<const Value> inputs, std::string_view name) {
  Trace& trace = scope.trace();
  const Schema& schema = layer.schema();
  const LayerCommon& common = layer.common();
  const std::string here = scope.path().empty() ? std::string(name) : cat(scope.path(), "/", name);
  const std::string path = trace.homes.emplace(layer.identity(), here).first->second;
  Precision precision = common.dtype.empty() ? scope.precision() : precision_named(common.dtype);
  if (schema.compute_dtype && precision.compute != DType::float64) precision.compute = *schema.compute_dtype;
  Scope own(trace, path, precision, scope.trainable() && common.trainable && !trace.frozen.contains(layer.identity()),
            layer.identity(), path);
  const Graph::Labelled label(scope.graph(), path);
  Values cast_inputs;
  for (const Value& input : inputs) {
    const bool change = schema.autocast && is_floating(input.dtype()) && input.dtype() != precision.compute;
    cast_inputs.push_back(change ? cast(input, precision.compute) : input);
    if (change) own.set_mask(cast_inputs.back(), scope.mask(input));
  }
  Values outputs;
  try {
    outputs = layer->call(own, cast_inputs);
  } catch (const Error& error) {
    const std::string text = error.what();
    // The innermost layer says where; those around it add nothing.
    if (text.starts_with(path) || text.find(" (") < text.find(": ")) throw;
    std::string message = cat(path, " (", layer.name(), "): ", text);
    for (const Value& input : inputs)
      message += cat(
          "\n    input  ", input.shape(), "   from ",
          scope.graph()[input.node].scope.empty() ? scope.graph()[input.node].label : scope.graph()[input.node].scope);
    throw Error(message);
  }
  if (layer->masks()) {
    own.set_mask(outputs[0], layer->mask(own, cast_inputs, outputs[0]));
  } else if (schema.mask == Schema::Masking::passes) {
    if (const Value mask = passed_mask(own, cast_inputs)) own.set_mask(outputs[0], mask);
  } else if (!outputs.empty() && outputs[0] && !inputs.empty() && outputs[0] != inputs[0]) {
    own.set_mask(outputs[0], {});
  }
  if (common.activity_regularizer)
    own.penalty((*common.activity_regularizer)->of(cast(outputs[0], DType::float32)) *
                (1.0 / static_cast<double>(std::max<std::int64_t>(1, trace.rows))));
  return outputs;
}

}  // namespace strata
