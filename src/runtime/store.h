// SPDX-License-Identifier: Apache-2.0
// Every array that outlives a step, by path. The checkpoint is the store written down.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "strata/tensor.h"

namespace strata {

// One state. Models that share a layer share its Variables. The host copy and each replica's copy agree at step edges.
struct Variable {
  std::string name;  // within its owner, for messages
  Type type;
  bool trainable = false;
  std::vector<Tensor> copies;  // by replica, on its device; made by Store::place
};

class Store {
 public:
  // The devices on which every variable is kept, one a replica. Existing values are carried over.
  void place(Backend& backend, std::vector<Device> devices);
  const std::vector<Device>& devices() const { return devices_; }

  bool has(const std::string& path) const { return variables_.count(path) != 0; }
  const std::map<std::string, std::shared_ptr<Variable>>& variables() const { return variables_; }
  std::shared_ptr<Variable> find(const std::string& path) const;  // null when absent
  // A new variable with this value, or an existing (shared) one under a path of this store.
  std::shared_ptr<Variable> add(const std::string& path, const Tensor& value, bool trainable);
  void share(const std::string& path, std::shared_ptr<Variable> variable);
  void remove(const std::string& path);

  Tensor read(const std::string& path) const;                // replica 0's value, in host memory
  void write(const std::string& path, const Tensor& value);  // to every replica; Error when the types differ
  void* address(const std::string& path, int replica) const;
  std::size_t bytes() const;                          // on one device
  std::uint64_t version() const { return version_; }  // changes whenever a value may have
  void changed() { ++version_; }

 private:
  void materialize(Variable& variable, const Tensor& value);

  Backend* backend_ = nullptr;
  std::vector<Device> devices_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t version_ = 1;
};

}  // namespace strata
