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

// The devices a store keeps its variables on while plans run on them: a variable that several stores share lies for all of
// them on the same ones.
struct Placement {
  std::vector<Device> devices;
};

// One state. Models that share a layer share its Variables. The host copy and each replica's copy agree at step edges.
struct Variable {
  std::string name;  // within its owner, for messages
  Type type;
  bool trainable = false;
  std::vector<Tensor> copies;                              // by replica, on its device; made by Store::place
  std::vector<std::weak_ptr<const Placement>> placements;  // of the stores that run on it
};

class Store {
 public:
  // The devices on which every variable is kept, one a replica. Existing values are carried over. Error: another store
  // runs on some of the variables, on other devices.
  void place(Backend& backend, std::vector<Device> devices);
  void leave();  // nothing runs on this store until it is placed again
  const std::vector<Device>& devices() const { return devices_; }

  bool has(const std::string& path) const { return variables_.count(path) != 0; }
  const std::map<std::string, std::shared_ptr<Variable>>& variables() const { return variables_; }
  std::shared_ptr<Variable> find(const std::string& path) const;  // null when absent
  // A new variable with this value, or an existing (shared) one under a path of this store.
  std::shared_ptr<Variable> add(const std::string& path, const Tensor& value, bool trainable);
  void share(const std::string& path, std::shared_ptr<Variable> variable);
  void remove(const std::string& path);

  Tensor read(const std::string& path) const;                    // replica 0's value, in host memory
  void copy(std::map<std::string, Tensor>& into) const;          // of every state; buffers there are used again
  void write(const std::string& path, const Tensor& value);      // to every replica; Error when the types differ
  void* address(const std::string& path, int replica) const;
  std::size_t bytes() const;                          // on one device
  std::uint64_t version() const { return version_; }  // changes whenever a value may have
  void changed() { ++version_; }

 private:
  void check_free(const std::string& path, const Variable& variable, const std::vector<Device>& devices) const;
  void settle(Variable& variable, const Tensor& value);  // onto the devices
  Tensor value_of(const Variable& variable, const std::string& path) const;
  void read_into(const Variable& variable, const std::string& path, Tensor& value) const;
  void materialize(Variable& variable, const Tensor& value);

  Backend* backend_ = nullptr;
  std::vector<Device> devices_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<const Placement> placement_;
  std::uint64_t version_ = 1;
};

}  // namespace strata
