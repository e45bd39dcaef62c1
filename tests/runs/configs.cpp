// SPDX-License-Identifier: Apache-2.0
// Every run file of configs/ takes two steps, validates and evaluates.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "model/run_file.h"
#include "support/skip.h"

using namespace strata;

TEST_CASE("every configuration takes two steps") {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    return test::skip("dataset-fashion-mnist is not installed");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++seen;
    const std::string path = entry.path().string();
    CAPTURE(path);
    RunFile file =
        read_run_file(path, {"fit.epochs=1", "fit.steps_per_epoch=2", "fit.validation_steps=1", "fit.verbose=none"});
    FitOptions options = file.fit_options();
    options.checkpoint = {};
    options.directory.clear();
    const History history = file.model->fit(file.data.train, options);
    CHECK(std::isfinite(history["loss"].at(0)));
    CHECK(std::isfinite(history["val_loss"].at(0)));
    REQUIRE(file.data.test);
    CHECK(file.model->evaluate(*file.data.test, {.batch_size = 64, .steps = 2}).at("accuracy") >= 0);
  }
  CHECK(seen >= 3);
}
