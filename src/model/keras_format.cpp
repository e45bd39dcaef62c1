// SPDX-License-Identifier: Apache-2.0
// Saving and loading weights in Keras's layout.
#include "model/keras_format.h"

#include <set>

#include "base/log.h"
#include "base/text.h"
#include "model/hdf5.h"

namespace strata {

namespace {

class LayoutBuilder {
 public:
  LayoutBuilder(const std::map<std::string, StateDeclaration>& states, const std::vector<std::string>& order)
      : states_(states), order_(order) {}

  // `place` is the container's group ("" or "layers/sequential/"), `path` the prefix of its states.
  void walk(const Topology& topology, const std::string& place, const std::string& path) {
    std::map<std::string, int> counters;
    for (auto& [call, input] : topology.keras_order()) {
      const Nested* nested = call ? call->layer.get_if<Nested>() : nullptr;
      const std::string stem = !call    ? "input_layer"
                               : nested ? (nested->topology->sequential ? "sequential" : "functional")
                                        : snake_case(call->layer.name());
      const int count = counters[stem]++;
      const std::string group = cat(place, "layers/", count ? cat(stem, "_", count) : stem);
      const std::string name = call ? call->name : topology.inputs[static_cast<std::size_t>(input)].name;
      layout.groups.push_back({group + "/vars", name});
      if (nested) walk(*nested->topology, group + "/", path + name + "/");
      else if (call) layer(group, path + name + "/");
    }
  }

  KerasLayout layout;

 private:
  void layer(const std::string& group, const std::string& prefix) {
    std::map<std::string, int> counters;
    for (const bool trainable : {true, false})
      for (auto& path : order_) {
        if (!path.starts_with(prefix)) continue;
        auto& declaration = states_.at(path);
        if (declaration.trainable != trainable) continue;
        const std::string rest = path.substr(prefix.size());
        const auto slash = rest.rfind('/');
        const std::string where = slash == std::string::npos ? group : group + "/" + rest.substr(0, slash);
        layout.datasets.push_back({cat(where, "/vars/", counters[where]++), path, declaration.type});
      }
  }

  const std::map<std::string, StateDeclaration>& states_;
  const std::vector<std::string>& order_;
};

std::string shapes(const Shape& file, const Shape& model) { return cat("the file has ", file, ", the model ", model); }

}  // namespace

KerasLayout keras_layout(const Topology& topology, const std::map<std::string, StateDeclaration>& states,
                         const std::vector<std::string>& order) {
  LayoutBuilder builder(states, order);
  builder.walk(topology, "", "");
  return std::move(builder.layout);
}

void Model::save_weights(const std::string& file) const {
  if (!file.ends_with(".weights.h5"))
    throw Error(cat("save_weights: '", file, "' must end in .weights.h5, as Keras wants its weight files named"));
  const_cast<Model*>(this)->build();
  const auto layout = keras_layout(*core_->topology, core_->states, core_->state_order);
  STRATA_CHECK(layout.datasets.size() == core_->states.size(), "the layout has ", layout.datasets.size(), " of ",
               core_->states.size(), " states");
  Hdf5Writer out(file);
  out.group("vars");
  out.attribute("vars", "name", name());
  for (auto& group : layout.groups) {
    out.group(group.group);
    out.attribute(group.group, "name", group.name);
  }
  for (auto& entry : layout.datasets) {
    out.dataset(entry.dataset, core_->store.read(entry.path));
    out.fixed_attribute(entry.dataset, "path", entry.path);
  }
  out.close();
}

void Model::load_weights(const std::string& file, bool skip_mismatch) {
  build();
  const auto layout = keras_layout(*core_->topology, core_->states, core_->state_order);
  std::string why;
  if (check_file(file, nullptr, &why) == FileState::damaged)
    warn(cat(file, ": is damaged, or was edited by another program: ", why, "\n  its weights are loaded all the same"));
  std::uint64_t wanted = 0;
  for (auto& entry : layout.datasets) wanted += entry.type.bytes();
  const Hdf5Reader in(file, wanted);
  // Our own files name each dataset's state; Keras's are matched by their place.
  std::map<std::string, std::string> places;
  for (auto& entry : layout.datasets)
    if (in.has(entry.dataset)) places[entry.path] = entry.dataset;
  std::vector<std::string> problems;
  std::map<std::string, Tensor> values;
  for (auto& entry : layout.datasets) {
    auto place = places.find(entry.path);
    if (place == places.end()) {
      problems.push_back(cat("  missing   ", entry.path, "   (", entry.dataset, ")"));
      continue;
    }
    const std::string said = in.has_attribute(place->second, "path") ? in.attribute(place->second, "path") : entry.path;
    if (said != entry.path) {
      problems.push_back(cat("  mismatch  ", entry.path, "   ", place->second, " holds '", said, "'"));
      continue;
    }
    if (const Shape shape = in.type(place->second).shape; shape != entry.type.shape) {
      problems.push_back(cat("  mismatch  ", entry.path, "   ", place->second, ": ", shapes(shape, entry.type.shape)));
      continue;
    }
    Tensor value = in.read(place->second);
    if (value.dtype() != entry.type.dtype) value = Tensor::from_doubles(entry.type, value.to_doubles());
    values[entry.path] = value;
  }
  std::set<std::string> known;
  for (auto& entry : layout.datasets) known.insert(entry.dataset);
  for (auto& group : layout.groups) {
    const std::string layer = group.group.substr(0, group.group.size() - 5);
    for (auto& dataset : in.datasets_under(layer))
      if (!known.count(dataset) && dataset.find("/layers/", layer.size()) == std::string::npos)
        problems.push_back(cat("  not used  ", dataset));
  }
  if (!problems.empty()) {
    const std::string list = join(problems, "\n");
    if (!skip_mismatch)
      throw Error(cat(file, ": does not fit model '", name(), "': ", values.size(), " of ", layout.datasets.size(),
                      " weights can be loaded\n", list, "\n  load with skip_mismatch to take what fits"));
    warn(cat(file, ": ", values.size(), " of ", layout.datasets.size(), " weights loaded into '", name(), "'\n", list));
  }
  for (auto& [path, value] : values) core_->store.write(path, value);
}

}  // namespace strata
