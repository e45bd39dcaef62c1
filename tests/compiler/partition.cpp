// SPDX-License-Identifier: Apache-2.0
// What a replica computes of a graph that was traced for the whole batch, and what the replicas exchange.
#include <doctest/doctest.h>

#include "support/paper_backend.h"

namespace strata::test {
namespace {

// Rows [first, second) of four, on one of two replicas.
CompileOptions rows(std::int64_t first, std::int64_t second) {
  CompileOptions options;
  options.replicas = 2;
  options.batch_rows = 4;
  options.replica_rows = {first, second};
  return options;
}
std::string part(std::string_view graph, std::int64_t first = 0, std::int64_t second = 2) {
  return after("partition", graph, {}, rows(first, second));
}

TEST_CASE("one replica has nobody to exchange with: a collective is its input") {
  CHECK(after("partition", R"(
%0 = input("x") : float32[4, 2]
%1 = all_reduce(%0) {axis: data} : float32[4, 2]
%2 = tanh(%1) : float32[4, 2]
output "y" = %2
)") == R"(
%0 = input("x") : float32[4, 2]
%1 = tanh(%0) : float32[4, 2]
output "y" = %1
)");
}

TEST_CASE("feeds are split, states whole, and what adds up over rows is exchanged once, where it is used") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 3]
%1 = state("kernel") : float32[3, 2]
%2 = matmul(%0, %1) : float32[4, 2] @dense
%3 = tanh(%2) : float32[4, 2] @dense
%4 = reduce_sum(%3) {axes: [0, 1]} : float32[]
%5 = matmul(%0, %3) {transpose_a: true} : float32[3, 2] @dense
%6 = subtract(%1, %5) : float32[3, 2]
%7 = square(%5) : float32[3, 2]
next %1 = %6
output "y" = %3
output "loss" = %4
output "square" = %7
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = state("kernel") : float32[3, 2]
%2 = matmul(%0, %1) {transpose_a: false, transpose_b: false} : float32[2, 2] @dense
%3 = tanh(%2) : float32[2, 2] @dense
%4 = reduce_sum(%3) {axes: [0, 1], keepdims: false} : float32[]
%5 = matmul(%0, %3) {transpose_a: true, transpose_b: false} : float32[3, 2] @dense
%6 = all_reduce(%5) {axis: data} : float32[3, 2]
%7 = subtract(%1, %6) : float32[3, 2]
%8 = square(%6) : float32[3, 2]
%9 = all_reduce(%4) {axis: data} : float32[]
next %1 = %7
output "y" = %3
output "loss" = %9
output "square" = %8
)");
}

TEST_CASE("terms are scaled and added before they are exchanged, and only terms of one shape") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 3]
%1 = input("y") : float32[4, 3]
%2 = full() {value: 0.25} : float32[]
%3 = reduce_sum(%0) {axes: [0]} : float32[3]
%4 = reduce_sum(%1) {axes: [0]} : float32[3]
%5 = add(%3, %4) : float32[3]
%6 = multiply(%5, %2) : float32[3]
output "mean" = %6
)") == R"(
%0 = input("x") : float32[2, 3]
%1 = input("y") : float32[2, 3]
%2 = full() {value: 0.25, shape: [], dtype: float32} : float32[]
%3 = reduce_sum(%0) {axes: [0], keepdims: false} : float32[3]
%4 = reduce_sum(%1) {axes: [0], keepdims: false} : float32[3]
%5 = add(%3, %4) : float32[3]
%6 = multiply(%5, %2) : float32[3]
%7 = all_reduce(%6) {axis: data} : float32[3]
output "mean" = %7
)");
}

TEST_CASE("what depends on no rows is computed by every replica, without an exchange") {
  CHECK(part(R"(
%0 = state("kernel") : float32[4, 3]
%1 = square(%0) : float32[4, 3]
%2 = reduce_sum(%1) {axes: [0, 1]} : float32[]
%3 = all_reduce(%2) {axis: data} : float32[]
output "penalty" = %3
)") == R"(
%0 = state("kernel") : float32[4, 3]
%1 = square(%0) : float32[4, 3]
%2 = reduce_sum(%1) {axes: [0, 1], keepdims: false} : float32[]
output "penalty" = %2
)");
}

TEST_CASE("a whole array that meets rows is cut at this replica's, and terms that meet a whole one are summed first") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 3]
%1 = state("positions") : float32[4, 3]
%2 = add(%0, %1) : float32[4, 3]
%3 = reduce_sum(%0) {axes: [0]} : float32[3]
%4 = state("bias") : float32[3]
%5 = add(%3, %4) : float32[3]
output "y" = %2
output "z" = %5
)",
             2, 4) == R"(
%0 = input("x") : float32[2, 3]
%1 = state("bias") : float32[3]
%2 = state("positions") : float32[4, 3]
%3 = slice(%2) {starts: [2, 0], limits: [4, 3], strides: [1, 1]} : float32[2, 3]
%4 = add(%0, %3) : float32[2, 3]
%5 = reduce_sum(%0) {axes: [0], keepdims: false} : float32[3]
%6 = all_reduce(%5) {axis: data} : float32[3]
%7 = add(%6, %1) : float32[3]
output "y" = %4
output "z" = %7
)");
}

TEST_CASE("an op that works along the rows gets all of them; integers travel as doubles, which hold them") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 3]
%1 = input("label") : int32[4]
%2 = softmax(%0) {axis: 0} : float32[4, 3]
%3 = cumulative_sum(%1) {axis: 0} : int32[4]
output "y" = %2
output "z" = %3
)",
             2, 4) == R"(
%0 = input("label") : int32[2]
%1 = input("x") : float32[2, 3]
%2 = pad(%1) {low: [2, 0], high: [0, 0], value: 0.0} : float32[4, 3]
%3 = all_reduce(%2) {axis: data} : float32[4, 3]
%4 = softmax(%3) {axis: 0} : float32[4, 3]
%5 = cast(%0) {dtype: float64} : float64[2]
%6 = pad(%5) {low: [2], high: [0], value: 0.0} : float64[4]
%7 = all_reduce(%6) {axis: data} : float64[4]
%8 = cast(%7) {dtype: int32} : int32[4]
%9 = cumulative_sum(%8) {axis: 0} : int32[4]
output "y" = %4
output "z" = %9
)");
}

TEST_CASE("random numbers follow the global row; those that have no rows begin at row 0 on every replica") {
  CHECK(part(R"(
%0 = state("strata/seed") : int64[]
%1 = state("strata/step") : int64[]
%2 = input("strata/first_row") : int64[]
%3 = random(%0, %1, %2) {shape: [4, 3]} : float32[4, 3]
%4 = random(%0, %1, %2) {shape: [3]} : float32[3]
output "noise" = %3
output "one" = %4
)") == R"(
%0 = input("strata/first_row") : int64[]
%1 = state("strata/seed") : int64[]
%2 = state("strata/step") : int64[]
%3 = random(%1, %2, %0) {stream: "", distribution: uniform, shape: [2, 3]} : float32[2, 3]
%4 = full() {value: 0.0, shape: [], dtype: int64} : int64[]
%5 = random(%1, %2, %4) {stream: "", distribution: uniform, shape: [3]} : float32[3]
output "noise" = %3
output "one" = %5
)");
}

TEST_CASE("a replica may have no rows, and still takes part in every exchange") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 3]
%1 = relu(%0) : float32[4, 3]
%2 = reduce_sum(%1) {axes: [0, 1]} : float32[]
output "sum" = %2
)",
             4, 4) == R"(
%0 = input("x") : float32[0, 3]
%1 = relu(%0) : float32[0, 3]
%2 = reduce_sum(%1) {axes: [0, 1], keepdims: false} : float32[]
%3 = all_reduce(%2) {axis: data} : float32[]
output "sum" = %3
)");
}

TEST_CASE("an op without a rule for rows is written out in simpler ones; one that cannot be gathers") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 2]
%1 = state("gamma") : float32[2]
%2 = batch_norm(%0, %1, _) {epsilon: 0.5} : float32[4, 2], float32[2], float32[2]
output "y" = %2.0
output "mean" = %2.1
)") == R"(
%0 = input("x") : float32[2, 2]
%1 = state("gamma") : float32[2]
%2 = reduce_sum(%0) {axes: [0], keepdims: false} : float32[2]
%3 = full() {value: 0.25, shape: [], dtype: float32} : float32[]
%4 = multiply(%2, %3) : float32[2]
%5 = all_reduce(%4) {axis: data} : float32[2]
%6 = subtract(%0, %5) : float32[2, 2]
%7 = square(%6) : float32[2, 2]
%8 = reduce_sum(%7) {axes: [0], keepdims: false} : float32[2]
%9 = full() {value: 0.25, shape: [], dtype: float32} : float32[]
%10 = multiply(%8, %9) : float32[2]
%11 = full() {value: 0.5, shape: [], dtype: float32} : float32[]
%12 = all_reduce(%10) {axis: data} : float32[2]
%13 = add(%12, %11) : float32[2]
%14 = rsqrt(%13) : float32[2]
%15 = subtract(%0, %5) : float32[2, 2]
%16 = multiply(%15, %14) : float32[2, 2]
%17 = multiply(%16, %1) : float32[2, 2]
output "y" = %17
output "mean" = %5
)");
  CHECK(part(R"(
%0 = input("x") : float32[4, 2]
%1 = transpose(%0) {axes: [1, 0]} : float32[2, 4]
%2 = reduce_max(%1) {axes: [1]} : float32[2]
output "y" = %2
)") == R"(
%0 = input("x") : float32[2, 2]
%1 = transpose(%0) {axes: [1, 0]} : float32[2, 2]
%2 = pad(%1) {low: [0, 0], high: [0, 2], value: 0.0} : float32[2, 4]
%3 = all_reduce(%2) {axis: data} : float32[2, 4]
%4 = reduce_max(%3) {axes: [1], keepdims: false} : float32[2]
output "y" = %4
)");
}

TEST_CASE("a loop's carried values are rows where what it reads are rows, and its body exchanges nothing") {
  CHECK(part(R"(
%0 = input("x") : float32[4, 5, 3]
%1 = transpose(%0) {axes: [1, 0, 2]} : float32[5, 4, 3]
%2 = full() {value: 0, shape: [4, 3]} : float32[4, 3]
%3 = scan(%2, %1) {carries: 1, sequences: 1, reverse: false} : float32[4, 3]
  {
    %0 = input("h") : float32[4, 3]
    %1 = input("x") : float32[4, 3]
    %2 = add(%0, %1) : float32[4, 3]
    output "h" = %2
  }
output "last" = %3
)") == R"(
%0 = input("x") : float32[2, 5, 3]
%1 = transpose(%0) {axes: [1, 0, 2]} : float32[5, 2, 3]
%2 = full() {value: 0.0, shape: [4, 3], dtype: float32} : float32[4, 3]
%3 = slice(%2) {starts: [0, 0], limits: [2, 3], strides: [1, 1]} : float32[2, 3]
%4 = scan(%3, %1) {carries: 1, sequences: 1, reverse: false} : float32[2, 3]
  {
    %0 = input("h") : float32[2, 3]
    %1 = input("x") : float32[2, 3]
    %2 = add(%0, %1) : float32[2, 3]
    output "0" = %2
  }
output "last" = %4
)");
}

TEST_CASE("the plan says which outputs are this replica's rows") {
  PaperBackend backend;
  const Graph graph = parse_graph(R"(
%0 = input("x") : float32[4, 3]
%1 = tanh(%0) : float32[4, 3]
%2 = reduce_sum(%1) {axes: [0, 1]} : float32[]
%3 = transpose(%1) {axes: [1, 0]} : float32[3, 4]
output "y" = %1
output "sum" = %2
output "columns" = %3
)");
  const Plan plan = compile_graph(graph, backend, backend.devices()[0], rows(0, 2));
  CHECK(plan.row_outputs == std::set<std::string>{"y"});  // rows that are not axis 0 are gathered
  CHECK(compile_graph(graph, backend, backend.devices()[0]).row_outputs.empty());
}

}  // namespace
}  // namespace strata::test
