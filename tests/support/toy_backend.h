// SPDX-License-Identifier: Apache-2.0
// A backend that has next to nothing: proof that the compiler and the runtime ask no more of one. Its devices are toy:0
// to toy:3. Their addresses fault when the host touches them; what is put on a stream runs when something waits for it;
// it has kernels for add, multiply and matmul and refuses groups, and runs everything else by the references.
#pragma once

#include "backends/backend.h"

namespace strata::test {

// The one toy backend, known to strata::backend() as "toy" from the first call on.
Backend& toy_backend();

// How many of its own kernels have run, packs included.
long toy_kernels_run();

}  // namespace strata::test
