// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most: multiply-adds in float on 1 and 2 threads, and copying. Shares of these are what a
// kernel's speed is judged by. Prints `name value unit`, the best of many short rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Twelve independent chains of vectors hide a multiply-add's latency on any processor of today.
template <int width> struct Wide { typedef float type __attribute__((vector_size(width))); };

template <class V> __attribute__((always_inline)) inline double multiply_adds(long rounds) {
  V a{}, b{}, sums[12];
  a += 0.999999f;
  b += 1e-6f;
  for (int chain = 0; chain < 12; ++chain)
    sums[chain] = b * static_cast<float>(chain + 1);  // equal ones could be merged
  for (long i = 0; i < rounds; ++i) {
    for (V& sum : sums) sum = sum * a + b;
    asm volatile("" : "+v"(a), "+v"(b));
  }
  V total{};
  for (const V& sum : sums) total += sum;
  float first;
  std::memcpy(&first, &total, sizeof first);
  return first;
}

__attribute__((target("avx512f,fma"), optimize("O3"))) double run_512(long rounds) {
  return multiply_adds<Wide<64>::type>(rounds);
}
__attribute__((target("avx2,fma"), optimize("O3"))) double run_256(long rounds) {
  return multiply_adds<Wide<32>::type>(rounds);
}

volatile double sink;

double gigaflops(int threads) {
  const bool wide = __builtin_cpu_supports("avx512f");
  const long rounds = 2'000'000;
  double best = 0;
  for (int round = 0; round < 15; ++round) {
    std::vector<std::thread> team;
    const double begin = now();
    for (int t = 0; t < threads; ++t) team.emplace_back([&] { sink = wide ? run_512(rounds) : run_256(rounds); });
    for (auto& thread : team) thread.join();
    best = std::max(best, 2.0 * 12 * (wide ? 16 : 8) * rounds * threads / (now() - begin) / 1e9);
  }
  return best;
}

double copied(std::size_t bytes) {  // GB/s, read and written counted
  std::vector<char> from(bytes, 1), to(bytes, 2);
  const auto times = std::max<std::size_t>(1, (64u << 20) / bytes);
  double best = 0;
  for (int round = 0; round < 15; ++round) {
    const double begin = now();
    for (std::size_t i = 0; i < times; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    best = std::max(best, 2.0 * static_cast<double>(bytes * times) / (now() - begin) / 1e9);
  }
  return best;
}

}  // namespace

int main() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::puts("this processor has no AVX2: no floor is measured");
    return 0;
  }
  std::printf("multiply_add_1 %.1f GFLOP/s\n", gigaflops(1));
  std::printf("multiply_add_2 %.1f GFLOP/s\n", gigaflops(2));
  std::printf("copy_256KiB %.1f GB/s\n", copied(256u << 10));
  std::printf("copy_64MiB %.1f GB/s\n", copied(64u << 20));
}
