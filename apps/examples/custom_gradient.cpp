// SPDX-License-Identifier: Apache-2.0
// An operation of one's own, with a gradient of one's own: weights rounded to a few values learn, because the rounding
// lets gradients pass as if it were not there (the straight-through estimator, https://arxiv.org/abs/1308.3432).
#include <strata/strata.h>

#include <cmath>
#include <iostream>

using namespace strata;

struct Steps {
  double per_unit = 2;
  static Schema schema() {
    return Schema("Steps", "How fine.").arg("per_unit", &Steps::per_unit, "Values in [0, 1).", above(0));
  }
};

constinit const OpDef quantize_op{
    .name = "quantize",
    .doc = "Rounds to multiples of 1 / per_unit.",
    .attributes = &schema_of<Steps>,
    .read = &read_attributes<Steps>,
    .infer = [](const Inference& in) -> Types { return {in.inputs[0]}; },
    .vjp = [](const Vjp& v) -> Values { return {v.gradients[0]}; },
    .reference =
        [](const Reference& r) {
          const double steps = r.attributes.as<Steps>().per_unit;
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
            r.outputs[0].data[i] = std::nearbyint(r.inputs[0]->data[i] * steps) / steps;
        },
    .decompose = [](std::span<const Value> in, const Attributes& attributes) -> Values {  // how devices run it
      const double steps = attributes.as<Steps>().per_unit;
      return {round(in[0] * steps) / steps};
    }};

struct QuantizedDense {
  std::int64_t units = 0;
  static Schema schema() {
    return Schema("QuantizedDense", "x · kernel, every weight a multiple of a half.")
        .arg("units", &QuantizedDense::units, "Width of the output.", at_least(1));
  }
  Value call(Scope& s, Value x) const {
    Value kernel = s.weight("kernel", {x.shape()[-1], units});
    return matmul(x, kernel.graph->add(quantize_op, {kernel}, Steps{.per_unit = 2}));
  }
};

int main() {
  const Synthetic data{.rows = 2000, .shape = {16}, .classes = 4};
  Sequential model({16}, {QuantizedDense{.units = 32}, ReLU{}, named("logits", QuantizedDense{.units = 4})});
  model.compile({.optimizer = Adam{.learning_rate = 1e-2},
                 .loss = SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"}});
  const auto before = model.weight("logits/kernel").to_doubles();
  model.fit(data, {.batch_size = 64, .epochs = 8, .verbose = "line"});
  const bool moved = model.weight("logits/kernel").to_doubles() != before;  // the rounding's own gradient is zero
  const double accuracy = model.evaluate(data).at("accuracy");
  std::cout << "accuracy " << accuracy << " with weights in steps of a half\n";
  return accuracy > 0.9 && moved ? 0 : 1;
}
