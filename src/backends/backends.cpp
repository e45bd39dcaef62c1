// SPDX-License-Identifier: Apache-2.0
// Which backends this build has. The only file that knows.
#include <algorithm>
#include <mutex>

#include "backends/backend.h"
#include "backends/cpu/cpu.h"
#ifdef STRATA_WITH_CUDA
#include "backends/cuda/cuda.h"
#endif

namespace strata {
namespace {

struct Backends {
  std::mutex mutex;
  std::vector<std::unique_ptr<Backend>> all;

  Backends() {
    all.push_back(cpu::make_backend());
#ifdef STRATA_WITH_CUDA
    if (std::unique_ptr<Backend> backend = cuda::make_backend()) all.push_back(std::move(backend));
#endif
  }
};

Backends& backends() {
  static Backends made;
  return made;
}

}  // namespace

Backend& backend(std::string_view name) {
  Backends& known = backends();
  const std::lock_guard lock(known.mutex);
  for (const auto& one : known.all) {
    if (one->name() == name) return *one;
  }
  std::string names;
  for (const auto& one : known.all) names += cat(names.empty() ? "" : ", ", one->name());
  throw Error(cat("device '", name, "': there is no such backend here; there is ", names));
}

void add_backend(std::unique_ptr<Backend> added) {
  Backends& known = backends();
  const std::lock_guard lock(known.mutex);
  const auto same = [&](const auto& one) { return one->name() == added->name(); };
  STRATA_CHECK(std::none_of(known.all.begin(), known.all.end(), same), "backend ", added->name(), " is there already");
  known.all.push_back(std::move(added));
}

std::vector<std::string> backend_names() {
  Backends& known = backends();
  const std::lock_guard lock(known.mutex);
  std::vector<std::string> names;
  for (const auto& one : known.all) names.emplace_back(one->name());
  return names;
}

}  // namespace strata
