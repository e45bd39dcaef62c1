// SPDX-License-Identifier: Apache-2.0
// Weight files written by real Keras: loaded, they give Keras's predictions; ours, written again, have the same layout.
#include "model/core.h"
#include "model/hdf5.h"
#include "model/run_file.h"
#include "support/golden.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

// The golden files put `from` beside a layer; run files put it among its arguments.
Config layers_of(const json& layers) {
  Config::List list;
  for (const auto& entry : layers) {
    Config made;
    for (const auto& [word, args] : entry.items()) {
      if (word == "from") continue;
      Config inner = config_of(args);
      if (args.contains("layers")) inner.set("layers", layers_of(args["layers"]));
      if (entry.contains("from")) inner.set("from", config_of(entry["from"]));
      made.set(word, inner);
    }
    list.push_back(made);
  }
  return Config(std::move(list));
}

Model model_of(const json& file) {
  Config section(Config::Map{});
  section.set("inputs", config_of(file["model"]["inputs"]));
  section.set("layers", layers_of(file["model"]["layers"]));
  Mistakes mistakes;
  std::map<std::string, Where> places;
  const auto model = read_model(section, file["name"], mistakes, places);
  mistakes.raise();
  return *model;
}

std::vector<Tensor> inputs_of(const json& file, const Model& model) {
  std::vector<Tensor> inputs;
  for (const auto& input : model.core().topology->inputs) {
    const Array values = array_of(file["inputs"][input.name]);
    inputs.push_back(Tensor::from_doubles({values.shape, input.type.dtype}, values.data));
  }
  return inputs;
}

double distance(const Tensor& ours, const json& golden) {
  return off(Array(ours.shape(), ours.to_doubles()), array_of(golden));
}

}  // namespace

TEST_CASE("weights that Keras saved give Keras's predictions, and are written back in the same places") {
  for (const std::string name : {"convnet", "mixed", "order"}) {
    CAPTURE(name);
    const json file = golden("weights/" + name);
    const std::string keras = STRATA_SOURCE_DIR "/tests/golden/weights/" + name + ".weights.h5";
    Model model = model_of(file);
    model.load_weights(keras);
    const auto inputs = inputs_of(file, model);
    CHECK(distance(model.predict(inputs)[0], file["output"]) < 1e-5);
    const TemporaryFolder folder;
    model.save_weights(folder / "ours.weights.h5");
    const Hdf5Reader theirs(keras), ours(folder / "ours.weights.h5");
    for (const auto& dataset : ours.datasets_under("layers")) {
      CAPTURE(dataset);
      REQUIRE(theirs.has(dataset));
      CHECK(theirs.read(dataset).type() == ours.read(dataset).type());
      CHECK(theirs.read(dataset).to_doubles() == ours.read(dataset).to_doubles());
    }
    CHECK(ours.datasets_under("layers").size() == theirs.datasets_under("layers").size());
    Model again = model_of(file);
    again.load_weights(folder / "ours.weights.h5");
    CHECK(distance(again.predict(inputs)[0], file["output"]) < 1e-5);
  }
}

TEST_CASE("weights that do not fit are refused with a list, or taken as far as they go") {
  const json file = golden("weights/order");
  const std::string keras = STRATA_SOURCE_DIR "/tests/golden/weights/order.weights.h5";
  json wider = file;
  wider["model"]["layers"][4]["Dense"]["units"] = 3;
  Model model = model_of(wider);
  std::string said;
  try {
    model.load_weights(keras);
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("6 of 8 weights can be loaded") != std::string::npos);
  CHECK(said.find("mismatch  head/kernel") != std::string::npos);
  CHECK(said.find("the file has [4, 2], the model [4, 3]") != std::string::npos);
  model.load_weights(keras, true);
  CHECK(model.weight("short_branch/kernel").shape() == Shape{3, 4});
}
