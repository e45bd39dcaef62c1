// SPDX-License-Identifier: Apache-2.0
// What this machine's processor can do, and how work is divided among its threads.
#pragma once

#include <cstdint>
#include <string>

namespace strata::cpu {

std::string machine_isa();  // "avx512", "avx2" or "generic": the widest variant of the kernels it can run
int machine_threads();      // of OpenMP's team

// Within a parallel region.
int thread_number();
int team_size();

// Below this many elements of simple work a parallel region costs more than it saves.
constexpr std::int64_t parallel_elements = 16 * 1024;

// Calls f(thread, number of threads) on each thread of a team, or on this one alone, without a region, when the work is
// not worth it.
template <class F> void on_team(int threads, std::int64_t work, F f) {
  if (work <= parallel_elements || threads == 1) {
    f(0, 1);
    return;
  }
#pragma omp parallel num_threads(threads)
  f(thread_number(), team_size());
}

// Calls f(i) for all i below count, divided among the threads when the work is worth it.
template <class F> void parallel_for(std::int64_t count, std::int64_t work, F f) {
  if (work <= parallel_elements) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

// The part of [0, count) that is thread `index`'s of `threads`; parts are multiples of `grain` long, but for the last.
struct Part {
  std::int64_t begin = 0, end = 0;
};
inline Part part_of(std::int64_t count, int index, int threads, std::int64_t grain = 1) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const std::int64_t begin = grains * index / threads * grain, end = grains * (index + 1) / threads * grain;
  return {begin < count ? begin : count, end < count ? end : count};
}

}  // namespace strata::cpu
