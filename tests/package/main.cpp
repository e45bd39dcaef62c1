// SPDX-License-Identifier: Apache-2.0
#include <strata/error.h>

#include <cstdio>

int main() {
  try {
    throw strata::Error(strata::cat("learning_rate is ", 1e-3));
  } catch (const strata::Error& error) {
    std::puts(error.what());
  }
}
