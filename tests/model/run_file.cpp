// SPDX-License-Identifier: Apache-2.0
// Run files: what good ones give, and what is said of wrong ones, to the letter.
#include <doctest/doctest.h>

#include "model/core.h"
#include "model/run_file.h"
#include "support/message.h"

using namespace strata;

namespace {

const std::string good = R"(version: 1
name: tiny
seed: 3
model:
  inputs: {x: {shape: [8]}}
  layers:
    - Dense: {units: 6, activation: relu, name: hidden}
    - Dense: {units: 3, name: logits}
compile:
  optimizer: {Adam: {learning_rate: 1e-2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
data:
  train: {Synthetic: {rows: 64, shape: [8], classes: 3}}
fit: {batch_size: 16, epochs: 2}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string said(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return test::message_of([&] { (void)read_run_text(text, "run.yaml", overrides); });
}

}  // namespace

TEST_CASE("a good run file gives a built model, settings and options") {
  RunFile file = read_run_text(good, "run.yaml");
  CHECK(file.model->name() == "tiny");
  CHECK(file.model->weights().size() == 4);
  CHECK(file.fit_options().batch_size == 16);
  CHECK(file.directory() == "runs/tiny");
  const History history = [&] {
    FitOptions options = file.fit_options();
    options.checkpoint = {};
    options.verbose = "none";
    options.directory.clear();
    return file.model->fit(file.data.train, options);
  }();
  CHECK(history.epoch.size() == 2);
  CHECK(history["accuracy"].size() == 2);
}

TEST_CASE("overrides come before reading and carry their origin") {
  CHECK(read_run_text(good, "run.yaml", {"fit.epochs=7"}).fit.epochs == 7);
  CHECK(read_run_text(good, "run.yaml", {"model.layers.0.Dense.units=5"}).model->weights()[0].type.shape ==
        Shape{8, 5});
  CHECK(read_run_text(good, "run.yaml", {"compile.optimizer=SGD"}).settings.optimizer.name() == "SGD");
  CHECK(said(good, {"fit.epochs=many"}) == "--set fit.epochs=many: fit: 'epochs' should be an integer, got many");
  CHECK(said(good, {"fit.epoch=3"}) == "--set fit.epoch=3: fit has no argument 'epoch'; did you mean 'epochs'?");
  CHECK(said(good, {"epochs"}) == "--set epochs: an override is written path=value, as in fit.epochs=3");
  CHECK(said(good, {"model.layers.9.Dense=3"}) ==
        "--set model.layers.9.Dense=3: '9' is no place in a list of 2 (counted from 0)");
}

TEST_CASE("graphs by name: from, outputs, shared layers, nested models") {
  const std::string graph = R"(version: 1
model:
  inputs: {left: {shape: [4]}, right: {shape: [4]}}
  layers:
    - Dense: {units: 5, from: left, name: encoder}
    - Dropout: {rate: 0.1, name: a}
    - {share: encoder, from: right}
    - Reshape: {target_shape: [5], name: b}
    - Concatenate: {from: [a, b]}
    - Sequential: {name: head, layers: [Dense: {units: 4}, ReLU]}
    - Dense: {units: 2, name: sum}
    - Dense: {units: 1, from: a, name: side}
  outputs: [sum, side]
compile: {loss: mse}
data: {train: {Synthetic: {kind: noise}}}
)";
  RunFile file = read_run_text(graph, "run.yaml");
  std::vector<std::string> paths;
  for (const auto& entry : file.model->weights()) paths.push_back(entry.path);
  CHECK(std::count(paths.begin(), paths.end(), "encoder/kernel") == 1);
  CHECK(std::count(paths.begin(), paths.end(), "head/dense/kernel") == 1);
  const auto results =
      file.model->predict({Tensor(Type{{3, 4}, DType::float32}), Tensor(Type{{3, 4}, DType::float32})});
  REQUIRE(results.size() == 2);
  CHECK(results[0].shape() == Shape{3, 2});
  CHECK(results[1].shape() == Shape{3, 1});
}

TEST_CASE("wrong run files are refused with place, reason and cure") {
  const auto wrong = [&](const std::string& from, const std::string& to) { return said(replaced(good, from, to)); };
  CHECK(wrong("version: 1", "version: 2") == "run.yaml:1:10: run file: 'version' must be between 1 and 1, got 2");
  CHECK(wrong("version: 1\n", "") ==
        "run.yaml:1:1: run file needs 'version' (an integer, between 1 and 1): The version of this format: 1.");
  CHECK(wrong("fit:", "fti:") == "run.yaml:15:1: run file has no argument 'fti'; did you mean 'fit'?");
  CHECK(wrong("units: 6", "unit: 6") == "run.yaml:7:15: Dense has no argument 'unit'; did you mean 'units'?");
  CHECK(wrong("units: 6", "units: six") == "run.yaml:7:22: Dense: 'units' should be an integer, got six");
  CHECK(wrong("units: 6", "units: 0") == "run.yaml:7:22: Dense: 'units' must be at least 1, got 0");
  CHECK(wrong("units: 6", "units: 010") ==
        "run.yaml:7:22: Dense: 'units' should be an integer, got 010; a number does not begin with 0; write 10");
  CHECK(wrong("- Dense: {units: 3", "- Dens: {units: 3") ==
        "run.yaml:8:7: there is no layer 'Dens'; did you mean 'Dense'?");
  CHECK(wrong("activation: relu", "activation: rleu") ==
        "run.yaml:7:37: there is no layer 'rleu'; did you mean 'relu'?");
  CHECK(wrong("Adam", "Adma") == "run.yaml:10:15: there is no optimizer 'Adma'; did you mean 'Adam'?");
  CHECK(wrong("learning_rate: 1e-2", "learning_rate: fast")
            .find("run.yaml:10:37: there is no schedule 'fast'; there are CosineDecay, ") == 0);
  CHECK(wrong("learning_rate: 1e-2", "lr: 1e-2") ==
        "run.yaml:10:22: Adam has no argument 'lr'; it takes learning_rate, beta_1, beta_2, epsilon and amsgrad");
  CHECK(wrong("from_logits: true", "from_logits: yes") ==
        "run.yaml:11:55: SparseCategoricalCrossentropy: 'from_logits' should be true or false, got yes; write true");
  CHECK(wrong("[accuracy]", "[acuracy]") == "run.yaml:12:13: there is no metric 'acuracy'; did you mean 'accuracy'?");
  CHECK(wrong("batch_size: 16", "batch_size: 0") == "run.yaml:15:19: fit: 'batch_size' must be at least 1, got 0");
  CHECK(wrong("shape: [8]}}\n  layers", "shape: [8, -1]}}\n  layers") ==
        "run.yaml:5:27: input: 'shape' must be at least 0, got -1");
  CHECK(wrong("  layers:", "  layer:").find("run.yaml:6:3: model has no argument 'layer'; did you mean 'layers'?") ==
        0);
  CHECK(wrong("{Synthetic: {rows: 64,", "{Synthetc: {rows: 64,") ==
        "run.yaml:14:11: there is no dataset 'Synthetc'; did you mean 'Synthetic'?");
  CHECK(wrong("name: tiny", "name: a/b") ==
        "run.yaml:2:7: name 'a/b' cannot be a directory's; leave out '/' and a leading '.'");
  CHECK(wrong("name: logits}", "name: logits, from: hiden}") ==
        "run.yaml:8:45: 'from' names hiden, but nothing above has that name; did you mean 'hidden'?; named are hidden "
        "and x");
  CHECK(wrong("name: logits", "name: hidden") == "run.yaml:8:7: the name 'hidden' is taken; give this layer another");
  CHECK(wrong("    - Dense: {units: 3, name: logits}", "    - Dense: {units: 3}\n      Dropout: {rate: 0.1}")
            .find("layer should be one layer, but has two names: 'Dense' (8:7) and 'Dropout' (9:7)") !=
        std::string::npos);
  CHECK(wrong("optimizer: {Adam: {learning_rate: 1e-2}}", "optimizer: {Adam: {learning_rate: 1e-2, clipnorm: -1}}")
            .find("'clipnorm' must be above 0, got -1") != std::string::npos);
  CHECK(wrong("  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n", "") ==
        "run.yaml:10:3: compile needs 'loss': what is to be made small");
  CHECK(said("- a\n") == "run.yaml:1:1: a run file is a map: version, model, compile, data, fit; got [a]");
}

TEST_CASE("names that the model must have stand with their own places") {
  const auto wrong = [&](const std::string& from, const std::string& to) { return said(replaced(good, from, to)); };
  CHECK(wrong("loss: {SparseCategoricalCrossentropy: {from_logits: true}}", "loss: {logit: mse}") ==
        "run.yaml:11:10: loss names the output 'logit', which the model does not have; did you mean 'logits'?; its "
        "outputs are logits");
  CHECK(wrong("metrics: [accuracy]", "metrics: {logit: [accuracy]}") ==
        "run.yaml:12:13: metrics names the output 'logit', which the model does not have; did you mean 'logits'?; its "
        "outputs are logits");
  CHECK(wrong("metrics: [accuracy]", "loss_weights: {x: 2}") ==
        "run.yaml:12:18: loss_weights names the output 'x', which the model does not have; its outputs are logits");
  CHECK(wrong("metrics: [accuracy]", "freeze: [hidden, hiden/kernel]") ==
        "run.yaml:12:20: freeze names the layer 'hiden', which the model does not have; did you mean 'hidden'?; its "
        "layers are hidden and logits");
  CHECK(wrong("name: logits}\n", "name: logits}\n  outputs: [logit]\n") ==
        "run.yaml:9:13: 'outputs' names logit, but nothing above has that name; did you mean 'logits'?; named are "
        "hidden, logits and x");
  CHECK(wrong("    - Dense: {units: 3, name: logits}", "    - {share: hiden}") ==
        "run.yaml:8:15: there is no layer named hiden above to share; did you mean 'hidden'?");
  CHECK(wrong("    - Dense: {units: 3, name: logits}", "    - {share: hidden, units: 3}") ==
        "run.yaml:8:23: a shared layer has 'share' and 'from' only, not 'units'");
  CHECK(wrong("units: 6,", "units: 6, dtype: float9,") ==
        "run.yaml:7:32: layer: 'dtype': there is no precision policy 'float9'; did you mean 'float32'?; policies are "
        "float32, float64, float16, bfloat16, mixed_float16 and mixed_bfloat16");
  CHECK(wrong("name: hidden", "name: hid/den") ==
        "run.yaml:7:49: layer: 'name' cannot contain '/', which separates paths, got hid/den");
  CHECK(wrong("fit: {", "fit: {class_weight: {one: 2}, ") ==
        "run.yaml:15:22: fit: class_weight has the class 'one'; classes are whole numbers");
  CHECK(wrong("fit: {", "checkpoints: {every: 1}\nfit: {")
            .find("run.yaml:15:1: run file has no argument 'checkpoints'; did you mean 'checkpoint'?") == 0);
  CHECK(
      wrong("fit: {", "checkpoint: {every: [2 epochs, 10 mins]}\nfit: {")
          .find("run.yaml:15:32: checkpoint: every '10 mins': 'mins' is no unit; did you mean 'min'?; write 500 steps, "
                "2 epochs or 10 min") == 0);
  CHECK(wrong("fit: {", "strategy: {MirroredStrategy: {devices: nosuch:2}}\nfit: {")
            .find("run.yaml:15:11: strategy: device 'nosuch'") == 0);
  CHECK(wrong("fit: {", "strategy: MirrorStrategy\nfit: {") ==
        "run.yaml:15:11: there is no strategy 'MirrorStrategy'; did you mean 'MirroredStrategy'?");
  CHECK(wrong("fit: {", "callbacks: [EarlyStoping]\nfit: {") ==
        "run.yaml:15:13: there is no callback 'EarlyStoping'; did you mean 'EarlyStopping'?");
  CHECK(said(good, {"initial_weights=none.h5"}) == "none.h5: there is no such file");
}

TEST_CASE("all mistakes come at once, sorted by place") {
  std::string text = replaced(good, "units: 6", "unit: 6");
  text = replaced(text, "Adam", "Adma");
  text = replaced(text, "epochs: 2", "epochs: -2");
  const std::string message = said(text);
  const auto first = message.find("run.yaml:7:15"), second = message.find("run.yaml:10:15"),
             third = message.find("run.yaml:15:");
  CHECK(first != std::string::npos);
  CHECK(second != std::string::npos);
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("a layer that does not fit is named with its shapes") {
  CHECK(said(replaced(good, "shape: [8]}}", "shape: [4, 4]}}")) == "(no error)");
  const std::string conv = replaced(good, "Dense: {units: 6, activation: relu, name: hidden}",
                                    "Conv2D: {filters: 2, kernel_size: 3, name: conv}");
  CHECK(said(conv) ==
        "run.yaml:7:7: conv (Conv2D): takes images [batch, height, width, channels], got [1, 8]\n    input  [1, 8]   "
        "from x");
  // A layer without a name of its own, within another, has a place too.
  const std::string nested =
      replaced(good, "Dense: {units: 6, activation: relu, name: hidden}",
               "Sequential: {name: inner, layers: [Dense: {units: 2}, MaxPooling2D]}\n    - Flatten");
  CHECK(said(nested).find("run.yaml:7:61: inner/max_pooling2d (MaxPooling2D): takes images") == 0);
}
