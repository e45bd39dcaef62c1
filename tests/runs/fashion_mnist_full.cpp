// SPDX-License-Identifier: Apache-2.0
// Whole trainings on real data: minutes each, run on demand.
#include <doctest/doctest.h>

#include <filesystem>

#include "model/run_file.h"
#include "support/skip.h"

using namespace strata;

namespace {

double test_accuracy(const std::string& config) {
  RunFile file = read_run_file(std::string(STRATA_SOURCE_DIR "/configs/") + config, {"fit.verbose=line"});
  FitOptions options = file.fit_options();
  options.checkpoint = {};
  options.directory.clear();
  (void)file.model->fit(file.data.train, options);
  return file.model->evaluate(*file.data.test, {.batch_size = 128}).at("accuracy");
}

bool no_data() { return !std::filesystem::exists("/usr/share/datasets/fashion-mnist"); }

}  // namespace

TEST_CASE("the convolutional network reaches 91 % on the test images") {
  if (no_data()) return test::skip("dataset-fashion-mnist is not installed");
  CHECK(test_accuracy("fashion_mnist_cnn.yaml") >= 0.91);
}

TEST_CASE("the residual network reaches 92 % on the test images") {
  if (no_data()) return test::skip("dataset-fashion-mnist is not installed");
  CHECK(test_accuracy("fashion_mnist_resnet.yaml") >= 0.92);
}
