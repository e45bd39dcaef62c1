// SPDX-License-Identifier: Apache-2.0
// Meshes, shardings, the strategy in scope.
#include "strata/strategy.h"

#include <algorithm>

namespace strata {

int Mesh::extent(std::string_view axis) const {
  for (const auto& [name, extent] : axes)
    if (name == axis) return extent;
  return 1;
}

bool Sharding::replicated() const {
  return std::ranges::all_of(axes, [](const std::string& axis) { return axis.empty(); });
}

namespace {

const Strategy*& innermost() {
  thread_local const Strategy* current = nullptr;
  return current;
}

}  // namespace

StrategyScope::StrategyScope(Strategy strategy) : strategy_(std::move(strategy)), before_(innermost()) {
  innermost() = &strategy_;
}
StrategyScope::~StrategyScope() { innermost() = before_; }
const Strategy* StrategyScope::current() { return innermost(); }

}  // namespace strata
