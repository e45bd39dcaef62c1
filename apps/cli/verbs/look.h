// SPDX-License-Identifier: Apache-2.0
// Verbs that only look: check, summary, plan, describe, devices.
#pragma once

#include "verb.h"

namespace strata::verbs {

struct Check {
  std::string run_file = {};
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("check", "Everything but the run: reads the file, opens the data, makes the plans.")
        .arg("run_file", &Check::run_file, "The run file.", not_empty())
        .arg("set", &Check::set, "An override; may be given several times.");
  }
  int run(std::ostream& out) const;
};

struct Summary {
  std::string run_file = {};
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("summary", "The table of layers, shapes and parameters.")
        .arg("run_file", &Summary::run_file, "The run file.", not_empty())
        .arg("set", &Summary::set, "An override; may be given several times.");
  }
  int run(std::ostream& out) const;
};

struct Plan {
  std::string run_file = {}, mode = "train";
  std::int64_t batch_size = 0;
  std::vector<std::string> set = {};
  static Schema schema() {
    return Schema("plan", "The compiled step: every launch, where each array lies, the memory to the byte.")
        .arg("run_file", &Plan::run_file, "The run file.", not_empty())
        .arg("mode", &Plan::mode, "Which step.", one_of({"train", "evaluate", "predict"}))
        .arg("batch_size", &Plan::batch_size, "Rows; the run file's when 0.", at_least(0))
        .arg("set", &Plan::set, "An override; may be given several times.");
  }
  int run(std::ostream& out) const;
};

struct Describe {
  std::string kind = {}, name = {};
  static Schema schema() {
    return Schema("describe", "The manual: strata describe layer Conv2D, or strata describe layer for their names.")
        .arg("kind", &Describe::kind,
             "layer, optimizer, loss, metric, schedule, initializer, regularizer, constraint, callback, dataset or "
             "strategy.")
        .arg("name", &Describe::name, "Which of them.");
  }
  int run(std::ostream& out) const;
};

struct Devices {
  static Schema schema() { return Schema("devices", "The devices of this machine."); }
  int run(std::ostream& out) const;
};

struct Inspect {
  std::string file = {}, other = {};
  bool config = false;
  static Schema schema() {
    return Schema("inspect", "Says what a checkpoint or another HDF5 file holds, or how two of them differ.")
        .arg("file", &Inspect::file, "The file.", not_empty())
        .arg("other", &Inspect::other, "A second one to compare it with; exit status 1 when they differ.")
        .arg("config", &Inspect::config, "Print the run's configuration alone.");
  }
  int run(std::ostream& out) const;
};

inline void register_look(Registry<Verb>& r) {
  r.add<Check>();
  r.add<Summary>();
  r.add<Plan>();
  r.add<Describe>();
  r.add<Devices>();
  r.add<Inspect>();
}

}  // namespace strata::verbs
