// SPDX-License-Identifier: Apache-2.0
// Trainings that are cut at a point and gone on with by a new model of the same declaration; against the uncut one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strata/strata.h"

namespace strata::test {

struct ResumeCase {
  std::string name;
  std::function<Model()> model;  // compiled, with weights from a seed
  Dataset data;
  FitOptions options;  // without a directory
};

// All there are; each takes a few milliseconds a training.
std::vector<ResumeCase> resume_cases();

// Everything a training leaves: states and figures as bits.
struct Trained {
  std::map<std::string, std::string> states;
  std::string history, table;
};
Trained train_uncut(const ResumeCase& one);
// In this folder, with a checkpoint after each batch; goes on where there is one.
Trained train_in(const ResumeCase& one, const std::string& folder);
void compare(const Trained& found, const Trained& wanted);  // CHECKs

// Where a run is cut: after a batch of an epoch, in its validation, at its end.
struct Cut {
  enum class At { batch, validation, epoch };
  At at = At::batch;
  std::int64_t epoch = 0, step = 0;
};
std::vector<Cut> cuts_of(const ResumeCase& one);

// Cut by a signal (which saves) or by an exception in a callback (which does not: the newest checkpoint is older).
Trained train_cut(const ResumeCase& one, const std::vector<Cut>& cuts, bool by_signal);

// Cuts the trainings [first, last) at every point, by a signal and by a crash, and CHECKs them against the uncut ones.
void check_resume(std::size_t first, std::size_t last);

}  // namespace strata::test
