// SPDX-License-Identifier: Apache-2.0
// Models as handles: building, weights by path, states shared between models.
#include "model/core.h"

#include <algorithm>
#include <mutex>

#include "base/text.h"

namespace strata {

namespace {

// Which variable belongs to a layer's state, over all models that hold the layer. A store keeps its variables alive, and
// a model keeps its layers alive, so an entry whose layer is gone has expired.
class SharedStates {
 public:
  std::shared_ptr<Variable> find(const void* owner, const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto it = variables_.find({owner, name});
    return it == variables_.end() ? nullptr : it->second.lock();
  }
  void put(const void* owner, const std::string& name, const std::shared_ptr<Variable>& variable) {
    const std::lock_guard lock(mutex_);
    variables_[{owner, name}] = variable;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, std::weak_ptr<Variable>> variables_;
};

SharedStates& shared_states() {
  static SharedStates states;
  return states;
}

Tensor scalar(DType dtype, double value) {
  return Tensor::from_doubles({{}, dtype}, std::span<const double>(&value, 1));
}

}  // namespace

Tensor initial_value(const StateDeclaration& declaration, std::int64_t seed) {
  Fill fill{declaration.type.shape, static_cast<std::uint64_t>(seed), declaration.path};
  std::vector<double> values(static_cast<std::size_t>(declaration.type.size()));
  declaration.initializer->make(fill, values);
  return Tensor::from_doubles(declaration.type, values);
}

void Model::Core::adopt(const Trace& trace) {
  for (auto& path : trace.order) {
    auto& declaration = trace.states.at(path);
    if (declaration.owner && states.emplace(path, declaration).second) state_order.push_back(path);
    if (auto variable = store.find(path)) {
      if (variable->type != declaration.type)
        throw Error(
            cat(subject(), ": ", path, " is ", variable->type, ", but now ", declaration.type, " is asked for"));
      continue;
    }
    if (declaration.owner)
      if (auto variable = shared_states().find(declaration.owner, declaration.name);
          variable && variable->type == declaration.type) {
        store.share(path, variable);
        continue;
      }
    auto variable = store.add(path, initial_value(declaration, seed), declaration.trainable);
    if (declaration.owner) shared_states().put(declaration.owner, declaration.name, variable);
  }
  for (auto& [path, value] : trace.knobs)
    if (!store.has(path)) store.add(path, scalar(DType::float32, value), false);
  for (auto& [path, node] : trace.graph->states()) {
    if (store.has(path)) continue;
    const bool engine = path == names::seed || path == names::step || path == names::faults;
    STRATA_CHECK(engine, "state ", path, " was never declared");
    store.add(path, scalar(DType::int64, path == names::seed ? static_cast<double>(seed) : 0), false);
  }
}

std::string Model::Core::subject() const { return topology ? cat("model '", topology->name, "'") : "program"; }

void Model::Core::need_compiled(const char* what) const {
  if (!compiled)
    throw Error(cat(subject(), ": ", what, "() needs compile() first: it binds the optimizer and the loss"));
}

bool Model::Core::wants_target(std::size_t output) const {
  return compiled && (binding.losses[output] || std::any_of(binding.metrics.begin(), binding.metrics.end(),
                                                            [&](auto& bound) { return bound.output == output; }));
}

Model::Model(Symbols inputs, Symbols outputs, std::string name) : core_(std::make_shared<Core>()) {
  std::vector<std::pair<std::string, Symbol>> in, out;
  for (auto& symbol : inputs) in.emplace_back("", symbol);
  for (auto& symbol : outputs) out.emplace_back("", symbol);
  core_->topology = make_topology(in, out, std::move(name), false);
  core_->as_layer = Layer(Nested{core_->topology}, {.name = core_->topology->name});
}

Model::Model(NamedSymbols inputs, NamedSymbols outputs, std::string name) : core_(std::make_shared<Core>()) {
  core_->topology = make_topology({inputs.symbols.begin(), inputs.symbols.end()},
                                  {outputs.symbols.begin(), outputs.symbols.end()}, std::move(name), false);
  core_->as_layer = Layer(Nested{core_->topology}, {.name = core_->topology->name});
}

Sequential::Sequential(const Shape& shape, std::vector<Layer> layers, std::string name, DType dtype) {
  core_ = std::make_shared<Core>();
  Symbol x = input(shape, "input", dtype), y = x;
  for (auto& layer : layers) y = y | layer;
  core_->topology = make_topology({{"", x}}, {{"", y}}, std::move(name), true);
  core_->as_layer = Layer(Nested{core_->topology}, {.name = core_->topology->name});
}

Model::operator Layer() const { return core_->as_layer; }
const std::string& Model::name() const { return core_->topology->name; }

void Model::build(std::int64_t seed) {
  auto& core = *core_;
  if (core.built) return;
  core.seed = seed;
  BatchTypes types;
  types.rows = 1;
  for (auto& input : core.topology->inputs) types.inputs.push_back({input.type.shape.prepend(1), input.type.dtype});
  Built built = build_predict(*core.topology, core.compiled ? core.binding.precision : Precision{}, types);
  built.trace.graph = &built.step.micro;
  core.adopt(built.trace);
  core.output_types.clear();
  for (auto& output : built.step.micro.outputs()) core.output_types.push_back(built.step.micro.type(output.value));
  core.built = true;
}

std::vector<StateEntry> Model::weights() const {
  const_cast<Model*>(this)->build();
  std::vector<StateEntry> entries;
  std::set<std::string> listed;
  for (auto& [call, _] : core_->topology->keras_order()) {
    if (!call) continue;
    for (auto& path : core_->state_order)
      if (path.compare(0, call->name.size() + 1, call->name + "/") == 0 && listed.insert(path).second)
        entries.push_back({path, core_->states.at(path).type, core_->states.at(path).trainable});
  }
  return entries;
}

Tensor Model::weight(const std::string& path) const {
  const_cast<Model*>(this)->build();
  if (!core_->store.has(path)) {
    std::vector<std::string> known;
    for (auto& [name, _] : core_->store.variables()) known.push_back(name);
    const std::string near = closest(path, known);
    throw Error(cat("model '", core_->topology->name, "' has no weight '", path, "'",
                    near.empty() ? "" : cat("; did you mean '", near, "'?")));
  }
  return core_->store.read(path);
}

void Model::set_weight(const std::string& path, const Tensor& value) {
  const Tensor before = weight(path);
  if (before.type() != value.type())
    throw Error(cat("model '", core_->topology->name, "': weight '", path, "' is ", before.type(), ", the new value ",
                    value.type()));
  core_->store.write(path, value);
}

std::map<std::string, Tensor> Model::weights_by_path() const {
  std::map<std::string, Tensor> values;
  for (auto& entry : weights()) values[entry.path] = core_->store.read(entry.path);
  return values;
}

Runner& Model::Core::ready() {
  if (!runner) {
    Devices devices;
    for (auto& name : backend_names())
      for (auto& device : backend(name).devices()) devices.push_back(device);
    Mesh mesh = (*strategy)->mesh(devices);
    if ((*strategy)->order() != Order::joined)
      throw Error(cat("strategy ", strategy->name(),
                      ": this order of a step's graphs needs a runtime this build does not have"));
    Backend& chosen = backend(mesh.devices[0].backend);
    for (auto& device : mesh.devices)
      if (device.backend != mesh.devices[0].backend)
        throw Error(cat("strategy ", strategy->name(), ": its devices ", mesh.devices[0], " and ", device,
                        " are of two backends; take those of one"));
    store.place(chosen, mesh.devices);
    runner = std::make_unique<Runner>(chosen, mesh, store, binding.fast_math);
  }
  return *runner;
}

}  // namespace strata
