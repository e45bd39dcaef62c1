// SPDX-License-Identifier: Apache-2.0
// Counts what any thread allocates while a count is on: malloc and its kind are this program's own, which operator new
// and every library end in. Under a sanitizer, which has its own, nothing is counted.
#pragma once

#include <cstddef>
#include <string>

namespace strata::test {

// What was allocated by calls that came from oneDNN, and by all others.
struct Allocations {
  struct Kind {
    long count = 0;
    std::size_t bytes = 0, largest = 0;
    std::string first;  // who asked for the first of them, for messages
  };
  Kind own, library;
};

bool allocations_are_counted();
void start_counting_allocations();
Allocations stop_counting_allocations();

}  // namespace strata::test
