// SPDX-License-Identifier: Apache-2.0
// strata evaluate RUN.yaml and strata predict RUN.yaml
#pragma once

#include "verb.h"

namespace strata::verbs {

struct Evaluate {
  std::string run_file = {}, weights = {}, data = "test";
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("evaluate", "Prints the figures of a trained model.")
        .arg("run_file", &Evaluate::run_file, "The run file.", not_empty())
        .arg("weights", &Evaluate::weights, "The weights; those that train wrote when empty.")
        .arg("data", &Evaluate::data, "Which data of the run file.", one_of({"test", "validation", "train"}))
        .arg("set", &Evaluate::set, "An override; may be given several times.");
  }
  int run(std::ostream& out) const;
};

struct Predict {
  std::string run_file = {}, weights = {}, data = "test";
  std::int64_t rows = 0;
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("predict",
                  "Prints predictions as CSV: for classes the class and every probability or logit, else the numbers.")
        .arg("run_file", &Predict::run_file, "The run file.", not_empty())
        .arg("weights", &Predict::weights, "The weights; those that train wrote when empty.")
        .arg("data", &Predict::data, "Which data of the run file.", one_of({"test", "validation", "train"}))
        .arg("rows", &Predict::rows, "How many rows from the first; all when 0.", at_least(0))
        .arg("set", &Predict::set, "An override; may be given several times.");
  }
  int run(std::ostream& out) const;
};

inline void register_evaluate(Registry<Verb>& r) {
  r.add<Evaluate>();
  r.add<Predict>();
}

}  // namespace strata::verbs
