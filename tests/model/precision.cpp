// SPDX-License-Identifier: Apache-2.0
// Mixed precision: what 16 bits compute is what their rounding makes of it, and a loss scale that overflows costs a step
// and nothing else.
#include <doctest/doctest.h>

#include "support/message.h"
#include "support/small_models.h"

namespace strata::test {
namespace {

using Arrays = std::map<std::string, Array>;

// The graph by its references, each result as its dtype holds it.
std::vector<std::vector<Array>> rounded_oracle(const Graph& graph, const Arrays& feeds) {
  std::vector<std::vector<Array>> values;
  for (int n = 0; n < graph.size(); ++n) {
    const Node& node = graph[n];
    auto& outputs = values.emplace_back();
    if (!node.op->infer) {
      outputs = {feeds.at(node.label)};
      continue;
    }
    std::vector<const Array*> inputs;
    std::vector<Type> types;
    for (const Ref& ref : node.inputs) {
      inputs.push_back(ref ? &values[static_cast<std::size_t>(ref.node)][static_cast<std::size_t>(ref.output)]
                           : nullptr);
      types.push_back(ref ? graph.type(ref) : Type{});
    }
    for (const Type& type : node.types) outputs.emplace_back(type.shape);
    node.op->reference({inputs, outputs, types, node.types, node.attributes, node.bodies});
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (node.types[o].dtype == DType::opaque) continue;
      for (double& value : outputs[o].data) value = round_to(node.types[o].dtype, value);
    }
  }
  return values;
}

// |a - b| / |b| over all elements.
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return size == 0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

Model compiled(const SmallModel& small, const std::string& precision) {
  Model model = small.make();
  CompileSettings settings = small_settings();
  settings.optimizer = SGD{.learning_rate = 0.1};
  settings.precision = precision;
  model.compile(settings);
  model.build();
  return model;
}

// What one step adds to each weight, in the compiled plan and by the rounded oracle, must agree to a few roundings.
void check_step(const SmallModel& small, const std::string& precision, double tolerance) {
  Model model = compiled(small, precision);
  Model::Core& core = model.core();
  const Fed fed = feed_tensors(core, small.x, small.y, {});
  StepPlans& plans = core.train_plan(fed.types);
  const std::string half = precision == "mixed_bfloat16" ? "bfloat16[" : "float16[";
  CHECK(plans.micro.plans[0].text().find(half) != std::string::npos);
  Arrays values;
  for (const auto& [path, variable] : core.store.variables()) values[path] = array_of(core.store.read(path));
  for (const auto& [name, tensor] : fed.feeds) values[name] = array_of(tensor);
  values[names::first_row] = Array(Shape{}, {0.0});
  const Built built = build_train(*core.topology, core.binding, fed.types);
  const Graph& graph = built.step.micro;
  const auto oracle = rounded_oracle(graph, values);
  REQUIRE(StepRunner(core).run(plans, fed.feeds, 0).status == Status::ok);
  int weights = 0;
  for (const Graph::Next& next : graph.nexts()) {
    const std::string& path = graph[next.state].label;
    std::vector<double>
        found = core.store.read(path).to_doubles(),
        wanted = oracle[static_cast<std::size_t>(next.value.node)][static_cast<std::size_t>(next.value.output)].data;
    const bool weight = core.states.count(path) && core.states.at(path).trainable;
    for (std::size_t i = 0; i < found.size() && weight; ++i) {
      found[i] -= values[path].data[i];
      wanted[i] -= values[path].data[i];
    }
    weights += weight;
    CHECK_MESSAGE(apart(found, wanted) <= tolerance, small.name, ", ", precision, ", ", path, ": ",
                  apart(found, wanted));
  }
  CHECK(weights > 0);
}

TEST_CASE("a step in 16 bits is the definition's with every result rounded to 16 bits") {
  for (const SmallModel& small : small_models()) {
    check_step(small, "mixed_bfloat16", 0.02);
    check_step(small, "mixed_float16", 0.003);
  }
}

TEST_CASE("trained in 16 bits, small models learn what they learn in 32") {
  for (const SmallModel& small : small_models()) {
    std::map<std::string, double> last;
    for (const std::string precision : {"float32", "mixed_bfloat16", "mixed_float16"}) {
      Model model = small.make();
      CompileSettings settings = small_settings();
      settings.precision = precision;
      model.compile(settings);
      double loss = 0, first = 0;
      for (int step = 0; step < 60; ++step) {
        loss = model.train_on_batch(small.x, small.y).at("loss");
        if (step == 0) first = loss;
      }
      CHECK_MESSAGE(loss < 0.6 * first, small.name, ", ", precision, ": from ", first, " to ", loss);
      last[precision] = loss;
    }
    CHECK_MESSAGE(std::abs(last["mixed_bfloat16"] - last["float32"]) <= 0.25, small.name);
    CHECK_MESSAGE(std::abs(last["mixed_float16"] - last["float32"]) <= 0.15, small.name);
  }
}

// Dense layers in float16 whose gradients overflow when the input is large.
struct Scaled {
  SmallModel small = small_models()[1];
  Sequential model{{40}, {Dense{.units = 64, .activation = "relu"}, Dense{.units = 5}}};
  Scaled() {
    CompileSettings settings = small_settings();
    settings.precision = "mixed_float16";
    model.compile(settings);
    model.build();
  }
  Model::Core& core() const { return model.core(); }
  double state(const std::string& path) const { return core().store.read(path).to_doubles()[0]; }
  void set(const std::string& path, double value) const {
    core().store.write(path, Tensor::from_doubles(core().store.find(path)->type, {&value, 1}));
  }
  void step(double factor = 1) {
    std::vector<double> x = small.x[0].to_doubles();
    for (double& value : x) value *= factor;
    (void)model.train_on_batch({Tensor::from_doubles(small.x[0].type(), x)}, small.y);
  }
  std::map<std::string, Tensor> all() const {
    std::map<std::string, Tensor> values;
    for (const auto& [path, _] : core().store.variables()) values[path] = core().store.read(path);
    return values;
  }
};

TEST_CASE("a step whose gradients overflow is skipped: only the scale is halved, and the step counted as skipped") {
  Scaled scaled;
  scaled.step();
  CHECK(scaled.state("optimizer/loss_scale") == 32768);
  CHECK(scaled.state("optimizer/loss_scale_counter") == 1);
  CHECK(scaled.state("strata/skipped") == 0);
  const auto before = scaled.all();
  scaled.step(3e4);
  CHECK(scaled.state("optimizer/loss_scale") == 16384);
  CHECK(scaled.state("optimizer/loss_scale_counter") == 0);
  CHECK(scaled.state("strata/skipped") == 1);
  int kept = 0;
  for (const auto& [path, value] : scaled.all()) {
    if (path.starts_with("metric/") || path.starts_with("optimizer/loss_scale") || path == "strata/skipped") continue;
    CHECK_MESSAGE(same_bits(value, before.at(path)), path);
    ++kept;
  }
  CHECK(kept >= 13);  // weights, Adam's moments, the step number
  scaled.step();
  CHECK(scaled.state("optimizer/loss_scale_counter") == 1);
  CHECK_FALSE(same_bits(scaled.all().at("dense/kernel"), before.at("dense/kernel")));
}

TEST_CASE("after 2000 good steps in a row the scale doubles; a skipped one begins the count anew") {
  Scaled scaled;
  scaled.step();
  scaled.set("optimizer/loss_scale_counter", 1998);
  scaled.step();
  CHECK(scaled.state("optimizer/loss_scale_counter") == 1999);
  CHECK(scaled.state("optimizer/loss_scale") == 32768);
  scaled.step();
  CHECK(scaled.state("optimizer/loss_scale") == 65536);
  CHECK(scaled.state("optimizer/loss_scale_counter") == 0);
  scaled.set("optimizer/loss_scale_counter", 1998);
  scaled.step(3e4);
  CHECK(scaled.state("optimizer/loss_scale_counter") == 0);
}

TEST_CASE("the scale never falls below 1, and there an overflow is no longer the scale's fault") {
  Scaled scaled;
  scaled.step();
  scaled.set("optimizer/loss_scale", 2);
  scaled.step(1e6);
  CHECK(scaled.state("optimizer/loss_scale") == 1);
  CHECK(scaled.state("strata/skipped") == 1);
  const std::string said = message_of([&] { scaled.step(1e6); });
  CHECK(said ==
        "model 'sequential': loss is nan; first in dense (cast), every sample of the batch; a smaller learning_rate, "
        "or clipnorm, usually cures this");
  CHECK(scaled.state("optimizer/loss_scale") == 1);
}

// Sets the learning rate after every batch.
struct Restless {
  static Schema schema() { return Schema("Restless", "Sets the learning rate after every batch."); }
  void on_step_end(Training& training) {
    training.set("optimizer/learning_rate", 0.5 / static_cast<double>(1 + training.updates()));
  }
};

TEST_CASE("the learning rate is a state: setting it makes no plan, and the next step follows it") {
  const SmallModel small = small_models()[1];
  Model model = compiled(small, "float32");
  Model::Core& core = model.core();
  (void)model.fit(small.x[0], small.y[0], {.batch_size = 16, .verbose = "none"});
  const double compiling = core.ready().compile_seconds();
  const std::size_t plans = core.train_plans.size();
  (void)model.fit(small.x[0], small.y[0],
                  {.batch_size = 16, .epochs = 3, .verbose = "none", .callbacks = {Restless{}}});
  CHECK(core.train_plans.size() == plans);
  CHECK(core.ready().compile_seconds() == compiling);
  CHECK(core.store.read("optimizer/learning_rate").to_doubles()[0] < 0.1);
  const auto before = copied(model);
  core.store.write("optimizer/learning_rate", Tensor(core.store.find("optimizer/learning_rate")->type));
  (void)model.train_on_batch({small.x[0].rows(0, 16)}, {small.y[0].rows(0, 16)});
  CHECK(off(copied(model), before).first == 0);  // a rate of 0 moves nothing
  CHECK(core.ready().compile_seconds() == compiling);
}

TEST_CASE("bfloat16 needs no loss scale, and auto_scale_loss = false asks for none") {
  for (const std::string precision : {"mixed_bfloat16", "float32"}) {
    CHECK_FALSE(compiled(small_models()[1], precision).core().store.has("optimizer/loss_scale"));
  }
  Model model = small_models()[1].make();
  CompileSettings settings = small_settings();
  settings.precision = "mixed_float16";
  settings.auto_scale_loss = false;
  model.compile(settings);
  (void)model.train_on_batch(small_models()[1].x, small_models()[1].y);
  CHECK_FALSE(model.core().store.has("optimizer/loss_scale"));
}

}  // namespace
}  // namespace strata::test
