// SPDX-License-Identifier: Apache-2.0
// A layer of one's own: a struct with a schema and call(). It is used like any other from C++ and, once registered, by
// its name from run files.
#include <strata/strata.h>

#include <iostream>

using namespace strata;

// Half of what a dense layer gives, gated by the other half (https://arxiv.org/abs/1612.08083).
struct GatedDense {
  std::int64_t units = 0;
  Initializer kernel_initializer = "glorot_uniform";
  static Schema schema() {
    return Schema("GatedDense", "x · kernel, gated by sigmoid(x · gate).")
        .arg("units", &GatedDense::units, "Width of the output.", at_least(1))
        .arg("kernel_initializer", &GatedDense::kernel_initializer, "First values of kernel and gate [in, units].");
  }
  Value call(Scope& s, Value x) const {
    const Shape shape{x.shape()[-1], units};
    Value kernel = s.weight("kernel", shape, {.initializer = kernel_initializer});
    Value gate = s.weight("gate", shape, {.initializer = kernel_initializer});
    return matmul(x, kernel) * sigmoid(matmul(x, gate));  // [batch, units]
  }
};

int main() {
  parts<Layer>().add<GatedDense>();
  // By name, as a run file says `- GatedDense: {units: 24}`: the schema reads it, and refuses what it does not know.
  const Layer by_name = parts<Layer>().make("GatedDense", parse_flow("{units: 24, name: gated}"));
  try {
    (void)parts<Layer>().make("GatedDense", parse_flow("{unit: 24}"));
    return 1;
  } catch (const Error& error) {
    std::cout << error.what() << "\n";  // GatedDense has no argument 'unit'; did you mean 'units'?
  }
  Sequential model({16}, {by_name, GatedDense{.units = 12}, named("logits", Dense{.units = 4})});
  std::cout << model.summary();
  model.compile({.optimizer = Adam{.learning_rate = 3e-3},
                 .loss = SparseCategoricalCrossentropy{.from_logits = true},
                 .metrics = {"accuracy"}});
  const Synthetic data{.rows = 2000, .shape = {16}, .classes = 4};
  const Tensor before = model.weight("gated/gate").clone();
  model.fit(data, {.batch_size = 64, .epochs = 6, .verbose = "line"});
  const Figures figures = model.evaluate(data);
  std::cout << "accuracy " << figures.at("accuracy") << "\n";
  return figures.at("accuracy") > 0.9 && model.weight("gated/gate").to_doubles() != before.to_doubles() ? 0 : 1;
}
