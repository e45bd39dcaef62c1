// SPDX-License-Identifier: Apache-2.0
// Time of a training step of small models, data resident. Prints a line each: `model batch median tenth-percentile`, in
// microseconds.
// Arguments: [model [batch [seconds]]]; a model's name, or "all". compare.py sets it beside a peer's.
#include <strata/strata.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "model/batches.h"

using namespace strata;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Case {
  const char* name;
  std::int64_t batch;
  Shape shape;
  std::int64_t classes;
};

const Case cases[] = {{"cnn", 64, {28, 28, 1}, 10}, {"cnn", 128, {28, 28, 1}, 10}, {"mlp", 32, {784}, 10},
                      {"mlp", 128, {784}, 10},      {"lstm", 64, {28, 28}, 10},    {"toy", 4, {8}, 4}};

std::vector<Layer> layers_of(const std::string& name) {
  if (name == "cnn")
    return {Conv2D{.filters = 32, .kernel_size = 3, .padding = "same", .activation = "relu"},
            MaxPooling2D{},
            Conv2D{.filters = 64, .kernel_size = 3, .padding = "same", .activation = "relu"},
            MaxPooling2D{},
            Flatten{},
            Dense{.units = 128, .activation = "relu"},
            Dense{.units = 10}};
  if (name == "mlp")
    return {Dense{.units = 512, .activation = "relu"}, Dense{.units = 512, .activation = "relu"}, Dense{.units = 10}};
  if (name == "lstm") return {LSTM{.units = 128}, Dense{.units = 10}};
  return {Dense{.units = 8, .activation = "relu"}, Dense{.units = 8, .activation = "relu"}, Dense{.units = 4}};
}

void measure(const Case& which, double seconds) {
  const double began = now();
  Sequential model(which.shape, layers_of(which.name));
  model.compile({.optimizer = Adam{}, .loss = losses::SparseCategoricalCrossentropy{.from_logits = true}});
  Tensor x(Type{which.shape.prepend(which.batch), DType::float32}), y(Type{{which.batch}, DType::int32});
  std::uint32_t noise = 1;
  for (float& value : x.as<float>())
    value = static_cast<float>((noise = noise * 1664525u + 1013904223u) >> 8) / 16777216;
  for (std::int32_t& label : y.as<std::int32_t>())
    label = static_cast<std::int32_t>(((noise = noise * 1664525u + 1013904223u) >> 8) % which.classes);
  model.build();
  Model::Core& core = model.core();
  const Fed fed = feed_tensors(core, {x}, {y}, {});
  StepPlans& plans = core.train_plan(fed.types);
  StepRunner runner(core);
  (void)runner.run(plans, fed.feeds, 0);
  const double first_step = now() - began;
  std::vector<double> times;
  for (const double start = now(); now() - start < seconds || times.size() < 5;) {
    const double before = now();
    if (runner.run(plans, fed.feeds, 0).status != Status::ok) std::exit(1);
    times.push_back(now() - before);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %lld %.1f %.1f\n", which.name, static_cast<long long>(which.batch), times[times.size() / 2] * 1e6,
              times[times.size() / 10] * 1e6);
  std::fprintf(stderr, "%s %lld: first step after %.1f ms, of which compiling %.1f ms; %zu launches\n", which.name,
               static_cast<long long>(which.batch), first_step * 1e3, core.ready().compile_seconds() * 1e3,
               plans.micro.plans[0].launches.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "all";
  const std::int64_t batch = argc > 2 ? std::atoll(argv[2]) : 0;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1;
  for (const Case& which : cases)
    if ((model == "all" || model == which.name) && (batch == 0 || batch == which.batch)) measure(which, seconds);
}
