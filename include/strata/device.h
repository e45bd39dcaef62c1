// SPDX-License-Identifier: Apache-2.0
// Where memory lies: a device's name, and a block of its memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace strata {

// A device by backend and number, as written in files: "cpu", "cuda:1". There is no current device.
struct Device {
  std::string backend = "cpu";
  int index = 0;

  bool operator==(const Device&) const = default;
  auto operator<=>(const Device&) const = default;
};

std::string to_text(const Device& device);   // "cuda:1"
Device device_named(std::string_view name);  // Error when it is no "backend" or "backend:number"

// A block of one device's memory, owned by whoever holds the pointer and freed by the backend that made it. The
// address is valid on that device only; the host may touch it only when `host` is true.
class Buffer {
 public:
  Buffer(Device where, void* begin, std::size_t size, bool on_host)
      : device(std::move(where)), address(begin), bytes(size), host(on_host) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const Device device;
  void* const address;
  const std::size_t bytes;
  const bool host;
};

// Host memory, zeroed, aligned to 64 bytes.
std::shared_ptr<Buffer> host_buffer(std::size_t bytes);

}  // namespace strata
