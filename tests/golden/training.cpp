// SPDX-License-Identifier: Apache-2.0
// Losses, metrics, schedules, regularizers and optimizers against real Keras.
#include "support/golden.h"

#include "strata/metric.h"
#include "strata/optimizer.h"

using namespace strata;
using namespace strata::test;

TEST_CASE("losses give Keras's values and gradients") {
  int checked = 0;
  const json losses_file = golden("losses");
  for (const auto& c : losses_file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    try {
      const Loss loss = parts<Loss>().make(c["kind"], config_of(c["args"]));
      const Array target = array_of(c["y_true"]);
      Traced t(true, target.shape[0]);
      Scope scope = t.scope();
      const Value p = t.input("p", array_of(c["y_pred"])),
                  y = t.input("y", target, loss->target() == Target::classes ? DType::int32 : DType::float64);
      const Value weight = c["sample_weight"].is_null() ? Value{} : t.input("w", array_of(c["sample_weight"]));
      const Value mask = c["mask"].is_null() ? Value{} : t.input("m", array_of(c["mask"]), DType::boolean);
      const Reduced reduced = reduce_loss(scope, loss, p, y, weight, mask);
      const bool each = loss.common().reduction == "none";
      const Value value = each ? reduced.per_sample : reduced.numerator / reduced.denominator;
      const Value gradient = gradients(sum(value), std::span<const Value>(&p, 1))[0];
      const auto values = evaluate(t.graph, t.feeds);
      CHECK(off(at(values, value), array_of(c["value"])) < 1e-5);
      CHECK(off(at(values, gradient), array_of(c["gradient"])) < 1e-5);
      ++checked;
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
  CHECK(checked == static_cast<int>(losses_file["cases"].size()));
}

TEST_CASE("metrics give Keras's figures over two updates") {
  const json metrics_file = golden("metrics");
  for (const auto& c : metrics_file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    try {
      const Metric metric = parts<Metric>().make(c["kind"], config_of(c["args"]));
      std::vector<Array> totals;
      for (const auto& update : c["updates"]) {
        const bool alone = update.contains("values");
        const Array predicted = array_of(update[alone ? "values" : "y_pred"]);
        Traced t(false, predicted.shape.rank() ? predicted.shape[0] : 1);
        Scope scope = t.scope();
        const Value p = t.input("p", predicted);
        const Value y = alone ? p
                              : t.input("y", array_of(update["y_true"]),
                                        metric->target() == Target::classes ? DType::int32 : DType::float64);
        const Value w = update["sample_weight"].is_null() ? Value{} : t.input("w", array_of(update["sample_weight"]));
        const Values statistics = metric->statistics(scope, p, y, w);
        const auto values = evaluate(t.graph, t.feeds);
        totals.resize(statistics.size());
        for (std::size_t k = 0; k < statistics.size(); ++k) {
          const Array& own = at(values, statistics[k]);
          if (totals[k].data.empty()) totals[k] = Array(own.shape);
          for (std::size_t i = 0; i < own.data.size(); ++i) totals[k].data[i] += own.data[i];
        }
        CHECK(metric->result(totals) == doctest::Approx(update["result"].get<double>()).epsilon(1e-5));
      }
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
}

TEST_CASE("schedules and regularizers give Keras's values") {
  const json schedules_file = golden("schedules");
  for (const auto& c : schedules_file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    const Schedule schedule = parts<Schedule>().make(c["kind"], config_of(c["args"]));
    for (std::size_t i = 0; i < c["steps"].size(); ++i) {
      Traced t(true, 1);
      Scope scope = t.scope();
      const Value rate =
          schedule->at(scope, t.input("step", Array(Shape{}, {c["steps"][i].get<double>()}), DType::int64));
      CHECK(at(evaluate(t.graph, t.feeds), rate).data[0] ==
            doctest::Approx(c["values"][i].get<double>()).epsilon(1e-6));
    }
  }
  const json regularizers_file = golden("regularizers");
  for (const auto& c : regularizers_file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    const Regularizer regularizer = parts<Regularizer>().make(c["kind"], config_of(c["args"]));
    Traced t(true, 1);
    const Value x = t.input("x", array_of(c["input"])), penalty = regularizer->of(x),
                gradient = gradients(penalty, std::span<const Value>(&x, 1))[0];
    const auto values = evaluate(t.graph, t.feeds);
    CHECK(at(values, penalty).data[0] == doctest::Approx(c["value"].get<double>()).epsilon(1e-6));
    CHECK(off(at(values, gradient), array_of(c["gradient"])) < 1e-6);
  }
}

TEST_CASE("optimizers follow Keras for ten steps") {
  const json file = golden("optimizers");
  int checked = 0;
  for (const auto& c : file["cases"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    // Keras overwrites by the count of batches, also in the middle of an accumulation window; here updates are counted.
    if (name.find("gradient_accumulation 2 and clipnorm and ema") != std::string::npos) continue;
    try {
      const Optimizer optimizer = parts<Optimizer>().make(c["kind"], config_of(c["args"]));
      const std::int64_t window = optimizer.common().gradient_accumulation_steps.value_or(1);
      Traced t(true, 1);
      Scope scope = t.scope();
      std::vector<Trained> trained;
      std::vector<Array> weights;
      for (const auto& initial : file["initial"])
        weights.push_back(array_of(initial.contains("tensor") ? initial["tensor"] : initial));
      for (std::size_t w = 0; w < weights.size(); ++w) {
        Trained one;
        one.path = "w" + std::to_string(w);
        one.weight = t.graph.state(one.path, {weights[w].shape, DType::float64});
        one.gradient = t.graph.input("g" + std::to_string(w), {weights[w].shape, DType::float64});
        t.feeds[one.path] = weights[w];
        trained.push_back(one);
      }
      apply_optimizer(scope, optimizer, trained);
      for (const auto& path : t.trace.order) {
        const StateDeclaration& declaration = t.trace.states.at(path);
        Array value(declaration.type.shape);
        Fill fill{declaration.type.shape, 0, path};
        declaration.initializer->make(fill, value.data);
        t.feeds[path] = value;
      }
      for (const auto& [path, value] : t.trace.knobs) t.feeds[path] = Array(Shape{}, {value});
      std::vector<Array> sums(weights.size());
      for (std::size_t s = 0; s < c["weights_after"].size(); ++s) {
        for (std::size_t w = 0; w < weights.size(); ++w) {
          const json& g = file["gradients"][s][w];
          const Array own = g.is_object() ? array_of(g) : Array(weights[w].shape, g.get<std::vector<double>>());
          if (sums[w].data.empty() || static_cast<std::int64_t>(s) % window == 0) sums[w] = Array(weights[w].shape);
          for (std::size_t i = 0; i < own.data.size(); ++i)
            sums[w].data[i] += own.data[i] / static_cast<double>(window);
          t.feeds["g" + std::to_string(w)] = sums[w];
        }
        if ((static_cast<std::int64_t>(s) + 1) % window == 0) {
          const auto values = evaluate(t.graph, t.feeds);
          for (const auto& next : t.graph.nexts())
            t.feeds[t.graph[next.state].label] = at(values, t.graph.value(next.value));
        }
        for (std::size_t w = 0; w < weights.size(); ++w)
          CHECK(off(t.feeds["w" + std::to_string(w)],
                    Array(weights[w].shape, c["weights_after"][s][w].get<std::vector<double>>())) < 1e-6);
      }
      ++checked;
    } catch (const Error& error) {
      FAIL_CHECK(name << ": " << std::string(error.what()));
    }
  }
  CHECK(checked + 3 == static_cast<int>(file["cases"].size()));
}
