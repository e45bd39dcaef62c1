// SPDX-License-Identifier: Apache-2.0
// The CPU as a backend: host memory, one stream that runs everything at once it is asked, virtual replicas that share
// the cores.
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "backends/cpu/communicator.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels/catalogue.h"
#include "backends/cpu/machine.h"

namespace strata::cpu {
namespace {

constexpr int most_replicas = 16;
constexpr std::size_t alignment = 64;

class HostBuffer final : public Buffer {
 public:
  using Buffer::Buffer;
  ~HostBuffer() override { std::free(address); }
};

class HostStream final : public Stream {
 public:
  void synchronize() override {}
};

// What the system could still give; everything, where it does not say.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kilobytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return static_cast<std::size_t>(-1);
}

std::string in_gib(std::size_t bytes) {
  const auto tenths = static_cast<std::uint64_t>(static_cast<double>(bytes) / (1024.0 * 1024 * 1024) * 10 + 0.5);
  return cat(tenths / 10, ".", tenths % 10, " GiB");
}

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::vector<Device> devices() const override { return {{"cpu", 0}}; }

  DeviceModel model(const Device& device) const override {
    check(device);
    DeviceModel model;
    model.backend = "cpu";
    model.isa = machine_isa();
    model.threads = machine_threads();
    return model;
  }

  // The kernels of the table, then the op's reference as the last candidate.
  Choice choose(const Problem& problem) const override {
    Choice choice = kernels().choose(problem);
    if (choice.kernel) return choice;
    Problem before = problem;
    if (before.candidate-- > 0 && !kernels().choose(before).kernel) return choice;
    Choice last = reference_choice(problem);
    last.refusals.insert(last.refusals.begin(), choice.refusals.begin(), choice.refusals.end());
    return last;
  }

  std::shared_ptr<Buffer> allocate(const Device& device, std::size_t bytes, std::string_view purpose) override {
    check(device);
    const std::size_t rounded = (bytes + alignment) / alignment * alignment;  // at least one line, even for nothing
    const std::size_t free = available_bytes();
    void* address = rounded > bytes && rounded <= free ? std::aligned_alloc(alignment, rounded) : nullptr;
    if (!address) {
      throw Error(cat(to_text(device), ": ", purpose, " needs ", in_gib(bytes), " (", bytes, " bytes), but ",
                      in_gib(free), " are free; a smaller batch_size needs less"));
    }
    std::memset(address, 0, rounded);
    return std::make_shared<HostBuffer>(device, address, bytes, true);
  }

  std::unique_ptr<Stream> stream(const Device& device) override {
    check(device);
    return std::make_unique<HostStream>();
  }
  void copy_in(void* to, const void* from_host, std::size_t bytes, Stream&) override {
    std::memcpy(to, from_host, bytes);
  }
  void copy_out(void* to_host, const void* from, std::size_t bytes, Stream&) override {
    std::memcpy(to_host, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream&) override { std::memmove(to, from, bytes); }

  std::unique_ptr<Communicator> connect(std::span<const Device> devices) override {
    for (const Device& device : devices) check(device);
    return make_communicator(static_cast<int>(devices.size()));
  }
  std::size_t free_bytes(const Device& device) const override {
    check(device);
    return available_bytes();
  }

 private:
  static void check(const Device& device) {
    if (device.backend == "cpu" && device.index >= 0 && device.index < most_replicas) return;
    throw Error(cat("device '", to_text(device),
                    "': the CPU backend has cpu:0 and virtual replicas of it up to cpu:", most_replicas - 1));
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace strata::cpu
