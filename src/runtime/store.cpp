// SPDX-License-Identifier: Apache-2.0
// States by path, a copy on each replica's device.
#include "runtime/store.h"

#include <cstring>

namespace strata {

namespace {

bool host_side(const Tensor& tensor) { return tensor.buffer() && tensor.buffer()->host; }

std::string listed_devices(const std::vector<Device>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size(); ++i)
    text += cat(i == 0 ? "" : i + 1 == devices.size() ? " and " : ", ", devices[i]);
  return text;
}

}  // namespace

void Store::materialize(Variable& variable, const Tensor& value) {
  if (!backend_) {
    variable.copies = {value.clone()};
    return;
  }
  std::vector<Tensor> copies;
  for (const Device& device : devices_) {
    auto buffer = backend_->allocate(device, variable.type.bytes(), variable.name);
    Tensor copy(variable.type, buffer);
    backend_->copy_in(copy.address(), value.host_data(), value.bytes(), *stream_);
    copies.push_back(copy);
  }
  stream_->synchronize();
  variable.copies = std::move(copies);
}

void Store::check_free(const std::string& path, const Variable& variable, const std::vector<Device>& devices) const {
  for (const auto& weak : variable.placements)
    if (const auto placement = weak.lock(); placement && placement != placement_ && placement->devices != devices)
      throw Error(cat("state '", path, "' is shared with a model on ", listed_devices(placement->devices),
                      ", this one runs on ", listed_devices(devices), "; compile both with one strategy"));
}

void Store::settle(Variable& variable, const Tensor& value) {
  const bool host = backend_->model(devices_[0]).host_memory;
  bool there = variable.copies.size() == devices_.size();
  for (std::size_t r = 0; there && r < devices_.size(); ++r)
    there = variable.copies[r].device() == devices_[r] && host == host_side(variable.copies[r]);
  if (!there) materialize(variable, value);
  std::erase_if(variable.placements, [](const auto& weak) { return weak.expired(); });
  variable.placements.push_back(placement_);
}

void Store::place(Backend& backend, std::vector<Device> devices) {
  for (const auto& [path, variable] : variables_) check_free(path, *variable, devices);
  // Values are read before the backend changes.
  std::map<std::string, Tensor> values;
  for (const auto& [path, _] : variables_) values[path] = read(path);
  backend_ = &backend;
  devices_ = std::move(devices);
  stream_ = backend.stream(devices_[0]);
  placement_ = std::make_shared<const Placement>(Placement{devices_});
  for (const auto& [path, variable] : variables_) settle(*variable, values[path]);
  ++version_;
}

void Store::leave() { placement_.reset(); }

std::shared_ptr<Variable> Store::find(const std::string& path) const {
  const auto it = variables_.find(path);
  return it == variables_.end() ? nullptr : it->second;
}

std::shared_ptr<Variable> Store::add(const std::string& path, const Tensor& value, bool trainable) {
  auto variable = std::make_shared<Variable>();
  variable->name = path;
  variable->type = value.type();
  variable->trainable = trainable;
  materialize(*variable, value);
  if (placement_) variable->placements.push_back(placement_);
  variables_[path] = variable;
  ++version_;
  return variable;
}

void Store::share(const std::string& path, std::shared_ptr<Variable> variable) {
  if (placement_) {
    check_free(path, *variable, devices_);
    settle(*variable, value_of(*variable, path));
  }
  variables_[path] = std::move(variable);
  ++version_;
}

void Store::remove(const std::string& path) {
  variables_.erase(path);
  ++version_;
}

Tensor Store::read(const std::string& path) const {
  const auto variable = find(path);
  if (!variable) throw Error(cat("there is no state '", path, "'"));
  return value_of(*variable, path);
}

Tensor Store::value_of(const Variable& variable, const std::string& path) const {
  Tensor value(variable.type);
  read_into(variable, path, value);
  return value;
}

void Store::read_into(const Variable& variable, const std::string& path, Tensor& value) const {
  const Tensor& first = variable.copies[0];
  if (host_side(first)) {
    std::memcpy(value.host_data(), first.host_data(), value.bytes());
    return;
  }
  STRATA_CHECK(backend_, path, " lies on a device this store does not know");
  backend_->copy_out(value.host_data(), first.address(), value.bytes(), *stream_);
}

void Store::copy(std::map<std::string, Tensor>& into) const {
  std::erase_if(into, [&](const auto& entry) { return !has(entry.first); });
  for (const auto& [path, variable] : variables_) {
    Tensor& value = into[path];
    if (!value || value.type() != variable->type) value = Tensor(variable->type);
    read_into(*variable, path, value);
  }
}

void Store::write(const std::string& path, const Tensor& value) {
  const auto variable = find(path);
  if (!variable) throw Error(cat("there is no state '", path, "'"));
  if (variable->type != value.type())
    throw Error(cat("state '", path, "' is ", variable->type, ", the new value ", value.type()));
  for (Tensor& copy : variable->copies) {
    if (host_side(copy)) std::memcpy(copy.host_data(), value.host_data(), value.bytes());
    else backend_->copy_in(copy.address(), value.host_data(), value.bytes(), *stream_);
  }
  if (stream_) stream_->synchronize();
  ++version_;
}

void* Store::address(const std::string& path, int replica) const {
  const auto variable = find(path);
  STRATA_CHECK(variable && replica < static_cast<int>(variable->copies.size()), "state ", path, " has no copy ",
               replica);
  return variable->copies[static_cast<std::size_t>(replica)].address();
}

std::size_t Store::bytes() const {
  std::size_t total = 0;
  for (const auto& [_, variable] : variables_) total += variable->type.bytes();
  return total;
}

}  // namespace strata
