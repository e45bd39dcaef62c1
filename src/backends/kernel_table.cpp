// SPDX-License-Identifier: Apache-2.0
#include "backends/kernel_table.h"

#include "graph/fused.h"

namespace strata {
namespace {

// What candidates are registered under: the op's name, or "fused:<pattern>".
std::string key_of(const Node& node) {
  if (node.op != &fused_op) return std::string(node.op->name);
  return cat("fused:", node.attributes.as<Fused>().pattern);
}

}  // namespace

void KernelTable::add(std::string_view op, std::string_view name, Candidate candidate) {
  candidates_[std::string(op)].emplace_back(std::string(name), std::move(candidate));
}

Choice KernelTable::choose(const Problem& problem) const {
  const std::string key = key_of(problem.node);
  std::vector<std::string> refusals;
  int accepted = 0;
  if (const auto found = candidates_.find(key); found != candidates_.end()) {
    for (const auto& [name, candidate] : found->second) {
      Choice choice = candidate(problem);
      if (!choice.kernel) {
        for (const std::string& reason : choice.refusals) refusals.push_back(cat(name, ": ", reason));
        continue;
      }
      if (accepted++ < problem.candidate) continue;
      if (choice.name.empty()) choice.name = name;
      choice.opaque.resize(problem.outputs.size());
      choice.refusals = std::move(refusals);
      return choice;
    }
  } else {
    refusals.push_back(cat(key, ": the backend has no kernel"));
  }
  Choice none;
  none.refusals = std::move(refusals);
  return none;
}

}  // namespace strata
