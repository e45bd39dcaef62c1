// SPDX-License-Identifier: Apache-2.0
// What a fused group does to the result of its first op (a matmul, a convolution): bias, activation. It runs over the
// result where that lies.
#pragma once

#include <vector>

#include "backends/cpu/program_kernel.h"
#include "backends/kernel_table.h"

namespace strata::cpu {

class Epilogue {
 public:
  // The op the group begins with, and which of the group's inputs it reads; null with a reason when there is none.
  static std::shared_ptr<const Epilogue> of(const Problem& group, std::string_view first_op, std::string& reason);

  const Node& first() const { return *first_; }
  Node first_alone() const;  // as a node of its own
  const std::vector<std::size_t>& first_inputs() const { return first_inputs_; }
  const Type& first_type() const { return first_->types[0]; }
  std::size_t workspace_bytes() const { return kernel_.workspace_bytes(); }
  // `result` holds the first op's result and receives the group's.
  void run(std::span<void* const> inputs, void* result, void* workspace) const;

  // The bias over the last axis (its number among the group's inputs, or -1) and the activation's name ("" for none),
  // when the rest is just these.
  int bias() const { return bias_; }
  const std::string& activation() const { return activation_; }
  bool simple() const { return simple_; }

 private:
  std::shared_ptr<const Graph> body_;
  const Node* first_ = nullptr;
  std::vector<std::size_t> first_inputs_, rest_inputs_;  // of the group
  ProgramKernel kernel_;
  int bias_ = -1;
  std::string activation_;
  bool simple_ = true;
};

}  // namespace strata::cpu
