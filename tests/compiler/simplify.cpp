// SPDX-License-Identifier: Apache-2.0
// What simplify removes, and what looks as if it could go but would change bits.
#include <doctest/doctest.h>

#include "support/paper_backend.h"

namespace strata::test {
namespace {

std::string simplified(std::string_view graph) { return after("simplify", graph); }
// A graph that is simple already.
bool stays(std::string_view graph) { return simplified(graph) == graph; }

TEST_CASE("a computation of scalar constants is its result, in the dtype it is made in") {
  CHECK(simplified(R"(
%0 = full() {value: 0.1} : float32[]
%1 = full() {value: 3} : float32[]
%2 = multiply(%0, %1) : float32[]
%3 = literal() {values: [2], shape: [], dtype: float32} : float32[]
%4 = power(%2, %3) : float32[]
%5 = less(%4, %0) : bool[]
output "y" = %4
output "less" = %5
)") == R"(
%0 = full() {value: 0.09000000357627869, shape: [], dtype: float32} : float32[]
%1 = full() {value: 1.0, shape: [], dtype: bool} : bool[]
output "y" = %0
output "less" = %1
)");
  CHECK(simplified(R"(
%0 = full() {value: 2, shape: [3]} : float32[3]
%1 = full() {value: 5} : float32[]
%2 = add(%0, %1) : float32[3]
output "y" = %2
)") == R"(
%0 = full() {value: 7.0, shape: [3], dtype: float32} : float32[3]
output "y" = %0
)");
}

TEST_CASE("a constant counts as its dtype holds it, not as it is written") {
  CHECK(simplified(R"(
%0 = full() {value: 0.1} : float32[]
%1 = full() {value: 0.1, dtype: float64} : float64[]
%2 = cast(%1) {dtype: float32} : float32[]
%3 = equal(%0, %2) : bool[]
%4 = cast(%0) {dtype: float64} : float64[]
%5 = equal(%4, %1) : bool[]
output "same" = %3
output "other" = %5
)") == R"(
%0 = full() {value: 1.0, shape: [], dtype: bool} : bool[]
%1 = full() {value: 0.0, shape: [], dtype: bool} : bool[]
output "same" = %0
output "other" = %1
)");
}

TEST_CASE("no number is folded that a graph does not hold exactly: infinities, a negative zero, large integers") {
  CHECK(stays(R"(
%0 = full() {value: 1.0, shape: [], dtype: float32} : float32[]
%1 = full() {value: 0.0, shape: [], dtype: float32} : float32[]
%2 = divide(%0, %1) : float32[]
%3 = negate(%1) : float32[]
%4 = full() {value: 4294967296.0, shape: [], dtype: int64} : int64[]
%5 = multiply(%4, %4) : int64[]
output "infinity" = %2
output "minus zero" = %3
output "large" = %5
)"));
}

TEST_CASE("an operand that changes nothing goes") {
  CHECK(simplified(R"(
%0 = input("x") : float32[2]
%1 = full() {value: 1} : float32[]
%2 = multiply(%0, %1) : float32[2]
%3 = multiply(%1, %2) : float32[2]
%4 = divide(%3, %1) : float32[2]
%5 = power(%4, %1) : float32[2]
%6 = full() {value: 0} : float32[]
%7 = subtract(%5, %6) : float32[2]
%8 = maximum(%7, %7) : float32[2]
%9 = tanh(%8) : float32[2]
output "y" = %9
)") == R"(
%0 = input("x") : float32[2]
%1 = tanh(%0) : float32[2]
output "y" = %1
)");
  CHECK(simplified(R"(
%0 = input("n") : int64[2]
%1 = full() {value: 0, dtype: int64} : int64[]
%2 = add(%0, %1) : int64[2]
%3 = input("b") : bool[2]
%4 = full() {value: 1, dtype: bool} : bool[]
%5 = logical_and(%4, %3) : bool[2]
%6 = full() {value: 0, dtype: bool} : bool[]
%7 = logical_or(%5, %6) : bool[2]
%8 = select(%4, %2, %0) : int64[2]
%9 = select(%7, %8, %8) : int64[2]
output "n" = %9
output "b" = %7
)") == R"(
%0 = input("n") : int64[2]
%1 = input("b") : bool[2]
output "n" = %0
output "b" = %1
)");
}

TEST_CASE("an operand stays that changes a sign, a NaN or the shape") {
  CHECK(stays(R"(
%0 = input("x") : float32[2]
%1 = full() {value: 0.0, shape: [], dtype: float32} : float32[]
%2 = add(%0, %1) : float32[2]
%3 = multiply(%0, %1) : float32[2]
%4 = subtract(%0, %0) : float32[2]
%5 = full() {value: 1.0, shape: [1, 1], dtype: float32} : float32[1, 1]
%6 = divide(%0, %5) : float32[1, 2]
output "minus zero becomes zero" = %2
output "nan stays nan" = %3
output "infinity less itself is nan" = %4
output "another shape" = %6
)"));
}

TEST_CASE("what undoes another goes: negations, casts that lose nothing, permutations") {
  CHECK(simplified(R"(
%0 = input("x") : bfloat16[2, 3, 4]
%1 = negate(%0) : bfloat16[2, 3, 4]
%2 = negate(%1) : bfloat16[2, 3, 4]
%3 = cast(%2) {dtype: float32} : float32[2, 3, 4]
%4 = cast(%3) {dtype: bfloat16} : bfloat16[2, 3, 4]
%5 = transpose(%4) {axes: [1, 2, 0]} : bfloat16[3, 4, 2]
%6 = transpose(%5) {axes: [2, 0, 1]} : bfloat16[2, 3, 4]
%7 = transpose(%5) {axes: [1, 0, 2]} : bfloat16[4, 3, 2]
%8 = cast(%3) {dtype: float64} : float64[2, 3, 4]
output "back" = %6
output "joined" = %7
output "wider" = %8
)") == R"(
%0 = input("x") : bfloat16[2, 3, 4]
%1 = transpose(%0) {axes: [2, 1, 0]} : bfloat16[4, 3, 2]
%2 = cast(%0) {dtype: float64} : float64[2, 3, 4]
output "back" = %0
output "joined" = %1
output "wider" = %2
)");
}

TEST_CASE("a cast that rounds stays, whatever follows") {
  CHECK(stays(R"(
%0 = input("x") : float32[2]
%1 = cast(%0) {dtype: bfloat16} : bfloat16[2]
%2 = cast(%1) {dtype: float32} : float32[2]
%3 = input("n") : int64[2]
%4 = cast(%3) {dtype: float32} : float32[2]
%5 = cast(%4) {dtype: int64} : int64[2]
%6 = input("h") : float16[2]
%7 = cast(%6) {dtype: bfloat16} : bfloat16[2]
%8 = cast(%7) {dtype: float16} : float16[2]
output "rounded" = %2
output "n" = %5
output "h" = %8
)"));
}

TEST_CASE("shapes are settled once: reshapes of reshapes, spreading of what is spread, what gives the shape there is") {
  CHECK(simplified(R"(
%0 = input("x") : float32[2, 3]
%1 = reshape(%0) {shape: [6]} : float32[6]
%2 = reshape(%1) {shape: [3, 2]} : float32[3, 2]
%3 = reshape(%2) {shape: [2, 3]} : float32[2, 3]
%4 = stop_gradient(%3) : float32[2, 3]
%5 = sum_to(%4) {shape: [2, 3]} : float32[2, 3]
%6 = broadcast_to(%5) {shape: [2, 3]} : float32[2, 3]
%7 = broadcast_to(%6) {shape: [4, 2, 3]} : float32[4, 2, 3]
%8 = broadcast_to(%7) {shape: [5, 4, 2, 3]} : float32[5, 4, 2, 3]
%9 = full() {value: 2} : float32[]
%10 = broadcast_to(%9) {shape: [7]} : float32[7]
output "x" = %6
output "turned" = %2
output "spread" = %8
output "two" = %10
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = reshape(%0) {shape: [3, 2]} : float32[3, 2]
%2 = broadcast_to(%0) {shape: [5, 4, 2, 3]} : float32[5, 4, 2, 3]
%3 = full() {value: 2.0, shape: [7], dtype: float32} : float32[7]
output "x" = %0
output "turned" = %1
output "spread" = %2
output "two" = %3
)");
}

TEST_CASE("elementwise ops repeat their inputs themselves") {
  CHECK(simplified(R"(
%0 = input("x") : float32[2, 3]
%1 = input("b") : float32[3]
%2 = broadcast_to(%1) {shape: [2, 3]} : float32[2, 3]
%3 = add(%0, %2) : float32[2, 3]
%4 = full() {value: 2, shape: [2, 3]} : float32[2, 3]
%5 = multiply(%3, %4) : float32[2, 3]
output "y" = %5
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = input("b") : float32[3]
%2 = add(%0, %1) : float32[2, 3]
%3 = full() {value: 2.0, shape: [], dtype: float32} : float32[]
%4 = multiply(%2, %3) : float32[2, 3]
output "y" = %4
)");
}

TEST_CASE("what gives a result its shape is not shrunk, and an op that does not broadcast keeps its inputs") {
  CHECK(stays(R"(
%0 = input("b") : float32[3]
%1 = broadcast_to(%0) {shape: [2, 3]} : float32[2, 3]
%2 = tanh(%1) : float32[2, 3]
%3 = full() {value: 2.0, shape: [], dtype: float32} : float32[]
%4 = multiply(%1, %3) : float32[2, 3]
%5 = softmax(%1) {axis: 0} : float32[2, 3]
output "y" = %2
output "z" = %4
output "s" = %5
)"));
}

TEST_CASE("equal computations are done once, in whatever scope they stand; unequal attributes are not equal") {
  CHECK(simplified(R"(
%0 = input("x") : float32[2, 3]
%1 = softmax(%0) {axis: 1} : float32[2, 3] @a
%2 = softmax(%0) {axis: 1} : float32[2, 3] @b
%3 = softmax(%0) {axis: 0} : float32[2, 3] @b
%4 = add(%1, %2) : float32[2, 3]
%5 = add(%4, %3) : float32[2, 3]
output "y" = %5
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = softmax(%0) {axis: 1} : float32[2, 3] @a
%2 = softmax(%0) {axis: 0} : float32[2, 3] @b
%3 = add(%1, %1) : float32[2, 3]
%4 = add(%3, %2) : float32[2, 3]
output "y" = %4
)");
}

TEST_CASE("what nobody reads goes, feeds and states too; what a state holds next does not") {
  CHECK(simplified(R"(
%0 = input("x") : float32[2]
%1 = input("unread") : float32[2]
%2 = state("counter") : int64[]
%3 = state("unused") : float32[2]
%4 = tanh(%1) : float32[2]
%5 = full() {value: 1, dtype: int64} : int64[]
%6 = add(%2, %5) : int64[]
%7 = all_reduce(%0) {axis: data} : float32[2]
next %2 = %6 always
output "x" = %7
)") == R"(
%0 = input("x") : float32[2]
%1 = state("counter") : int64[]
%2 = full() {value: 1.0, shape: [], dtype: int64} : int64[]
%3 = add(%1, %2) : int64[]
%4 = all_reduce(%0) {axis: data} : float32[2]
next %1 = %3 always
output "x" = %4
)");
}

}  // namespace
}  // namespace strata::test
