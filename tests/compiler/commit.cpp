// SPDX-License-Identifier: Apache-2.0
// A guarded step's next values: what a bad step leaves as it was, and what it changes all the same.
#include <doctest/doctest.h>

#include "support/paper_backend.h"

namespace strata::test {
namespace {

TEST_CASE("what only a good step may change becomes a select by the guard; what always changes stays as it is") {
  CHECK(after("commit", R"(
%0 = state("weight") : float32[2]
%1 = state("steps") : int64[]
%2 = input("g") : float32[2]
%3 = subtract(%0, %2) : float32[2] @optimizer
%4 = full() {value: 1, dtype: int64} : int64[]
%5 = add(%1, %4) : int64[]
%6 = is_finite(%2) : bool[2]
%7 = reduce_all(%6) : bool[]
next %0 = %3
next %1 = %5 always
guard %7
)") == R"(
%0 = state("weight") : float32[2]
%1 = state("steps") : int64[]
%2 = input("g") : float32[2]
%3 = subtract(%0, %2) : float32[2] @optimizer
%4 = full() {value: 1.0, shape: [], dtype: int64} : int64[]
%5 = add(%1, %4) : int64[]
%6 = is_finite(%2) : bool[2]
%7 = reduce_all(%6) : bool[]
%8 = select(%7, %3, %0) : float32[2] @optimizer
next %0 = %8 always
next %1 = %5 always
guard %7
)");
}

TEST_CASE("without a guard there is nothing to select by") {
  CHECK(after("commit", R"(
%0 = state("weight") : float32[2]
%1 = tanh(%0) : float32[2]
next %0 = %1
)") == R"(
%0 = state("weight") : float32[2]
%1 = tanh(%0) : float32[2]
next %0 = %1 always
)");
}

TEST_CASE("a state that holds next what it holds now has no next") {
  CHECK(after("commit", R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
%2 = input("ok") : bool[]
next %0 = %0
next %1 = %0
output "a" = %0
guard %2
)") == R"(
%0 = state("a") : float32[2]
%1 = state("b") : float32[2]
%2 = input("ok") : bool[]
%3 = select(%2, %0, %1) : float32[2]
next %1 = %3 always
output "a" = %0
guard %2
)");
}

}  // namespace
}  // namespace strata::test
