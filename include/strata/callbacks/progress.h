// SPDX-License-Identifier: Apache-2.0
// What a person sees while training: a bar on a terminal; elsewhere one line an epoch, and one each 10 s of a long one.
#pragma once

#include "strata/callback.h"

namespace strata::callbacks {

struct ProgressBar {
  std::string verbose = "auto";
  // Of the epoch under way: when it began, in seconds, and at which step; when something was shown last.
  double epoch_began = 0, shown = 0;
  std::int64_t first_step = 0;

  static Schema schema() {
    return Schema("ProgressBar", "Shows how training goes, on stderr. fit() adds one by itself.")
        .arg(
            "verbose", &ProgressBar::verbose,
            "bar: redrawn in place; line: one line an epoch, or each 10 s; auto: a bar on a terminal, lines elsewhere.",
            one_of({"auto", "bar", "line", "none"}))
        .example(+[] { return ProgressBar{.verbose = "line"}; });
  }
  void on_fit_begin(Training& t);
  void on_epoch_begin(Training& t);
  void on_step_end(Training& t);
  void on_epoch_end(Training& t);
};

// Fails the run as soon as the loss is not a finite number.
struct TerminateOnNaN {
  static Schema schema() {
    return Schema("TerminateOnNaN", "Stops as soon as the loss is no finite number.").example(+[] {
      return TerminateOnNaN{};
    });
  }
  void on_step_end(Training& t);
};

inline void register_progress(Registry<Callback>& r) {
  r.add<ProgressBar>();
  r.add<TerminateOnNaN>();
}

}  // namespace strata::callbacks
