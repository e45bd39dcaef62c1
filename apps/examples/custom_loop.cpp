// SPDX-License-Identifier: Apache-2.0
// A training loop of one's own: a generator and a critic that judges it, trained against each other, both updates in one
// compiled step (a generative adversarial network, https://arxiv.org/abs/1406.2661).
#include <strata/strata.h>

#include <cmath>
#include <iostream>
#include <random>

using namespace strata;

constexpr std::int64_t batch = 128;

int main() {
  Sequential generator({4}, {Dense{.units = 16, .activation = "relu"}, Dense{.units = 2}}, "generator");
  Sequential critic({2}, {Dense{.units = 32, .activation = "leaky_relu"}, Dense{.units = 1}}, "critic");
  const Optimizer fast = Adam{.learning_rate = 2e-3, .beta_1 = 0.5}, slow = Adam{.learning_rate = 1e-3, .beta_1 = 0.5};

  const Program::Trace both_updates = [&](Scope& scope, const std::map<std::string, Value>& inputs) {
    const Value noise = scope.random({batch, 4}, Distribution::normal);  // [batch, 4]
    const Value made = call_model(scope, generator, {&noise, 1})[0];     // [batch, 2]
    const Value on_made = call_model(scope, critic, {&made, 1})[0];      // [batch, 1]
    const Value on_real = call_model(scope, critic, {&inputs.at("real"), 1})[0];
    // log(1 + exp(-x)): how far the critic is from calling x real.
    const Value critic_loss = reduce_mean(softplus(-on_real) + softplus(on_made), {0, 1});
    const Value generator_loss = reduce_mean(softplus(-on_made), {0, 1});
    Scope judging = scope.child("judging"), making = scope.child("making");  // each optimizer's own state
    minimize(judging, fast, critic_loss, trainable_weights(scope, critic));
    minimize(making, slow, generator_loss, trainable_weights(scope, generator));
    scope.graph().output("made", made);
    scope.graph().output("critic_loss", critic_loss);
  };
  Program program({generator, critic}, {{"real", {{batch, 2}, DType::float32}}}, both_updates);

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const double centre[2] = {2, -1}, spread = 0.5;
  double mean[2] = {0, 0}, variance[2] = {0, 0};
  constexpr int steps = 1500, last = 200;
  for (int step = 0; step < steps; ++step) {
    Tensor real({{batch, 2}, DType::float32});
    for (std::size_t i = 0; i < 2 * batch; ++i)
      real.as<float>()[i] = static_cast<float>(centre[i % 2] + spread * static_cast<double>(normal(random)));
    const auto outputs = program.run({{"real", real}});
    if (step < steps - last) continue;
    const auto made = outputs.at("made").as<float>();
    for (std::size_t i = 0; i < made.size(); ++i) {
      mean[i % 2] += static_cast<double>(made[i]) / static_cast<double>(last * batch);
      variance[i % 2] += std::pow(static_cast<double>(made[i]) - centre[i % 2], 2) / static_cast<double>(last * batch);
    }
  }
  bool good = true;
  for (int i = 0; i < 2; ++i) {
    std::cout << "axis " << i << ": mean " << mean[i] << ", deviation " << std::sqrt(variance[i]) << "\n";
    good = good && std::abs(mean[i] - centre[i]) < 0.4 && variance[i] > 0.02 && variance[i] < 1;
  }
  return good ? 0 : 1;
}
