// SPDX-License-Identifier: Apache-2.0
#include "support/allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
constexpr bool counted = false;
#else
constexpr bool counted = true;
#endif

namespace {

// Enough for the stack from malloc up to the executor, and for the calls of one run. Fixed: nothing here may allocate.
constexpr int most_calls = 4096, most_frames = 20;
struct Call {
  void* stack[most_frames];
  int frames;
  std::size_t bytes;
};
Call calls[most_calls];
std::atomic<bool> counting{false};
std::atomic<int> count{0};
thread_local bool inside = false;

[[maybe_unused]] void note(std::size_t bytes) {
  if (!counting.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  const int number = count.fetch_add(1);
  if (number < most_calls) {
    calls[number].frames = backtrace(calls[number].stack, most_frames);
    calls[number].bytes = bytes;
  }
  inside = false;
}

std::string file_of(void* address, std::string& symbol) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return "?";
  const std::string path = info.dli_fname;
  const auto offset = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  symbol = "+" + std::to_string(offset) + (info.dli_sname ? std::string(" ") + info.dli_sname : "");
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t items, std::size_t bytes) {
  note(items * bytes);
  return __libc_calloc(items, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  note(bytes);
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
  note(bytes);
  *to = __libc_memalign(alignment, bytes);
  return *to || bytes == 0 ? 0 : ENOMEM;
}
}
#endif

namespace strata::test {

bool allocations_are_counted() { return counted; }

void start_counting_allocations() {
  void* warm[2];
  (void)backtrace(warm, 2);  // loads what it needs the first time
  count = 0;
  counting = true;
}

Allocations stop_counting_allocations() {
  counting = false;
  Allocations all;
  for (int i = 0; i < std::min<int>(count, most_calls); ++i) {
    bool library = false;
    std::string stack;
    for (int frame = 1; frame < calls[i].frames; ++frame) {
      std::string symbol;
      const std::string file = file_of(calls[i].stack[frame], symbol);
      library = library || file.starts_with("libdnnl");
      stack += "\n    " + file + symbol;
    }
    Allocations::Kind& kind = library ? all.library : all.own;
    if (kind.count++ == 0) kind.first = stack;
    kind.bytes += calls[i].bytes;
    kind.largest = std::max(kind.largest, calls[i].bytes);
  }
  all.own.count += std::max(0, count - most_calls);  // whoever made them, too many is wrong
  return all;
}

}  // namespace strata::test
