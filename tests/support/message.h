// SPDX-License-Identifier: Apache-2.0
// The text of the Error that a function raises, for golden tests of messages.
#pragma once

#include <string>

#include "strata/error.h"

namespace strata::test {

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace strata::test
