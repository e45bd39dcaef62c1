// SPDX-License-Identifier: Apache-2.0
// Device names, and plain host memory.
#include "strata/device.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

constexpr std::size_t alignment = 64;

class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(std::size_t size) : Buffer({}, zeroed(size), size, true) {}
  ~HostBuffer() override { std::free(address); }

 private:
  static void* zeroed(std::size_t size) {
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    void* memory = rounded < size ? nullptr : std::aligned_alloc(alignment, rounded ? rounded : alignment);
    if (!memory) throw RunFailed(cat("host memory: ", bytes_text(size), " are wanted, more than is free"));
    std::memset(memory, 0, rounded);
    return memory;
  }
};

}  // namespace

std::string to_text(const Device& device) { return cat(device.backend, ":", device.index); }

Device device_named(std::string_view name) {
  const auto colon = name.find(':');
  Device device{std::string(name.substr(0, colon)), 0};
  bool good = !device.backend.empty();
  if (colon != std::string_view::npos) {
    const auto digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    good = good && error == std::errc() && end == digits.data() + digits.size() && device.index >= 0;
  }
  if (!good) throw Error(cat("'", name, "' names no device; write a backend and a number, as in cpu:0 or cuda:1"));
  return device;
}

std::shared_ptr<Buffer> host_buffer(std::size_t bytes) { return std::make_shared<HostBuffer>(bytes); }

}  // namespace strata
