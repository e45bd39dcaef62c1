// SPDX-License-Identifier: Apache-2.0
// What a backend is: devices, their memory, and kernels chosen for the nodes of a graph. The compiler and the runtime
// see nothing else of a device. A backend points at ops (by name, and at their attributes), never the reverse.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/device.h"
#include "strata/graph.h"

namespace strata {

// What a kernel choice may depend on; the device itself need not be present.
struct DeviceModel {
  std::string backend = "cpu";
  std::string isa;  // "avx512", "avx2", "generic"; "sm_90"
  int threads = 1;
  bool fast_math = true;    // algorithms with a stated larger error (Winograd) are allowed
  bool host_memory = true;  // the host may read and write device addresses (feeds need no copy)
};

// An order of execution on one device.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;  // returns when everything before has run
};

struct Launch {
  std::span<void* const> inputs;   // device addresses; null where an input is not given
  std::span<void* const> outputs;  // null where an output but the first is never read
  void* workspace = nullptr;       // as many bytes as the choice asked for, 64-byte aligned
  Stream* stream = nullptr;
};

enum class Status { ok, failed };

// A prepared kernel: everything is decided; running it neither allocates nor decides nor throws. One object is run by
// one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(const Launch& launch) noexcept = 0;
};

// A derived copy of an input in the format the kernel wants, made from the plain one whenever that has changed.
struct Pack {
  int input = 0;
  std::size_t bytes = 0;
  std::string format;              // equal formats of one state share one packed copy
  std::shared_ptr<Kernel> kernel;  // inputs: the plain array; outputs: the packed one
};

struct Choice {
  std::shared_ptr<Kernel> kernel;  // null when every candidate refused
  std::string name;                // what `plan` and `explain` show: "conv2d brgconv nhwc +relu"
  std::size_t workspace_bytes = 0;
  std::vector<std::pair<std::size_t, std::string>>
      opaque;                                 // by output: bytes and format of the opaque ones, else {0, ""}
  std::vector<std::pair<int, int>> in_place;  // {output, input}: may share one memory when the input dies here
  std::vector<Pack> packs;
  std::vector<std::string> refusals;  // "name: reason", for explain
  bool reference = false;             // the op's slow definition runs
};

// What a kernel is wanted for: a node, the types around it, and the formats of opaque inputs ("" for ordinary ones).
struct Problem {
  const Node& node;
  std::span<const Type> inputs;
  std::span<const Type> outputs;
  std::span<const std::string> formats;
  const DeviceModel& device;
  int candidate = 0;  // how many acceptable candidates to pass over (opaque pairs)
};

// Exchanges between the replicas of one process, called with all of them in lockstep.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Status all_reduce(std::span<void* const> inputs, std::span<void* const> outputs,
                            const Type& type) noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::vector<Device> devices() const = 0;  // at least one, or the backend does not exist
  virtual DeviceModel model(const Device& device) const = 0;
  virtual Choice choose(const Problem& problem) const = 0;
  // Zeroed memory. Error that names what it was for, the need and what is free.
  virtual std::shared_ptr<Buffer> allocate(const Device& device, std::size_t bytes, std::string_view purpose) = 0;
  virtual std::unique_ptr<Stream> stream(const Device& device) = 0;
  virtual void copy_in(void* to, const void* from_host, std::size_t bytes, Stream& stream) = 0;
  virtual void copy_out(void* to_host, const void* from, std::size_t bytes, Stream& stream) = 0;  // done on return
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;           // within one device
  virtual std::unique_ptr<Communicator> connect(std::span<const Device> devices) = 0;
  virtual std::size_t free_bytes(const Device& device) const = 0;
};

// The backends of this build, made at first use (backends.cpp is the only file that knows which); `add_backend` is for
// tests and plugins. `backend` raises an Error that names those there are.
Backend& backend(std::string_view name);
void add_backend(std::unique_ptr<Backend> backend);
std::vector<std::string> backend_names();

// Runs an op by its reference: the last candidate of every backend whose memory the host can reach. Not fast, and the
// only kernel that allocates.
Choice reference_choice(const Problem& problem);

}  // namespace strata
