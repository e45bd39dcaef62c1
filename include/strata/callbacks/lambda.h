// SPDX-License-Identifier: Apache-2.0
// Functions of a program as a callback.
#pragma once

#include <functional>

#include "strata/callback.h"

namespace strata::callbacks {

inline void do_nothing(Training&) {}

// From C++ only: LambdaCallback{.on_epoch_end = [](Training& t) { … }}.
struct LambdaCallback {
  using Hook = std::function<void(Training&)>;
  Hook on_fit_begin = do_nothing, on_fit_end = do_nothing;
  Hook on_epoch_begin = do_nothing, on_epoch_end = do_nothing;
  Hook on_step_end = do_nothing;
  Hook on_validation_begin = do_nothing, on_validation_end = do_nothing;

  static Schema schema() { return Schema("LambdaCallback", "Calls functions of a program; made in C++ only."); }
};

inline void register_lambda(Registry<Callback>&) {}  // functions stand in no file

}  // namespace strata::callbacks
