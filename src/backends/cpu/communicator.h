// SPDX-License-Identifier: Apache-2.0
// Exchanges between the CPU replicas of one process: functions over their pointers.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace strata::cpu {

std::unique_ptr<Communicator> make_communicator(int replicas);

}  // namespace strata::cpu
