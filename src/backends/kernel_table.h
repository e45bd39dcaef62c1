// SPDX-License-Identifier: Apache-2.0
// A backend's kernels: for each op (or fused pattern) its candidates, best first. A candidate accepts a problem or says
// why not.
#pragma once

#include <functional>
#include <map>

#include "backends/backend.h"

namespace strata {

class KernelTable {
 public:
  // Returns a choice with a kernel, or one whose only content is a reason in `refusals`.
  using Candidate = std::function<Choice(const Problem&)>;

  // `op` is an op's name, or "fused:<pattern>" for a group made by the fuse pass.
  void add(std::string_view op, std::string_view name, Candidate candidate);
  // The first acceptable candidate after `problem.candidate` acceptable ones; with the refusals of those before it.
  Choice choose(const Problem& problem) const;

 private:
  std::map<std::string, std::vector<std::pair<std::string, Candidate>>, std::less<>> candidates_;
};

inline Choice refuse(std::string reason) {
  Choice choice;
  choice.refusals.push_back(std::move(reason));
  return choice;
}

// A kernel that is a function object: run(const Launch&) -> Status, noexcept.
template <class F> std::shared_ptr<Kernel> kernel_of(F function) {
  struct Function final : Kernel {
    explicit Function(F f) : function(std::move(f)) {}
    Status run(const Launch& launch) noexcept override { return function(launch); }
    F function;
  };
  return std::make_shared<Function>(std::move(function));
}

}  // namespace strata
