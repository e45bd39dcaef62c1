// SPDX-License-Identifier: Apache-2.0
// A training step as two graphs over the same states. Joined they are one plan; accumulation and pipelines are orders of
// the two.
#pragma once

#include "strata/graph.h"

namespace strata {

struct Step {
  // Forward and backward of some rows. Joined: everything. Otherwise it adds gradients and sums into "sum/…" states.
  Graph micro;
  // Exchange, clip, optimizer; then the sums are zero again. Empty when joined.
  Graph update;
  bool joined = true;
};

}  // namespace strata
