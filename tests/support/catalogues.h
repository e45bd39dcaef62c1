// SPDX-License-Identifier: Apache-2.0
// Every part of every kind, for loops that cover what is added later too.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "strata/callback.h"
#include "strata/dataset.h"
#include "strata/layer.h"
#include "strata/metric.h"
#include "strata/optimizer.h"
#include "strata/strategy.h"

namespace strata::test {

// Calls f(registry) for each kind.
template <class F> void each_kind(F f) {
  f(parts<Layer>());
  f(parts<Loss>());
  f(parts<Metric>());
  f(parts<Optimizer>());
  f(parts<Schedule>());
  f(parts<Initializer>());
  f(parts<Regularizer>());
  f(parts<Constraint>());
  f(parts<Callback>());
  f(parts<Dataset>());
  f(parts<Strategy>());
}

// Calls f(registry, name, schema) for each part of each kind. A part without an example fails the test.
template <class F> void each_part(F f) {
  each_kind([&](auto& registry) {
    for (const std::string& name : registry.names()) {
      CAPTURE(registry.word());
      CAPTURE(name);
      REQUIRE_MESSAGE(!registry.schema(name).examples.empty(), "a part owes an example");
      f(registry, name, registry.schema(name));
    }
  });
}

// Calls f(part, example) for each example of each part of one kind. An Error fails the test and the loop goes on.
template <class P, class F> void each_example(F f) {
  for (const std::string& name : parts<P>().names()) {
    CAPTURE(name);
    REQUIRE_MESSAGE(!parts<P>().schema(name).examples.empty(), "a part owes an example");
    for (const auto& example : parts<P>().schema(name).examples) {
      const Config args = example.args();
      const std::string shown = to_text(args);
      CAPTURE(shown);
      try {
        f(parts<P>().make(name, args), example);
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

}  // namespace strata::test
