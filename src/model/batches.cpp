// SPDX-License-Identifier: Apache-2.0
// Matching data to a model, and running one step on it.
#include "model/batches.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "strata/datasets/arrays.h"

namespace strata {

namespace {

std::string field_names(const std::vector<DataField>& fields, DataField::Role role) {
  std::vector<std::string> names;
  for (auto& field : fields)
    if (field.role == role) names.push_back(cat(field.name, " ", field.type));
  return names.empty() ? "none" : listed(names);
}

// A label column [.., 1] or [..] both serve where Keras takes either; an input may lack or have a trailing 1.
Shape fitted(const Shape& data, const Shape& model) {
  if (data == model) return data;
  if (data.rank() + 1 == model.rank() && model[-1] == 1 && data == model.without(-1)) return model;
  if (model.rank() + 1 == data.rank() && data[-1] == 1 && model == data.without(-1)) return model;
  return data;
}

void check_input(const Topology& topology, std::size_t i, const Type& row) {
  auto& input = topology.inputs[i];
  if (fitted(row.shape, input.type.shape) != input.type.shape)
    throw Error(cat("model '", topology.name, "': input '", input.name, "' is ", input.type.shape,
                    " a row, but the data has ", row.shape,
                    row.shape.size() == input.type.shape.size()
                        ? "; a Reshape as the first layer, or another input shape, makes them agree"
                        : ""));
  if (is_integer(input.type.dtype) && is_floating(row.dtype))
    throw Error(cat("model '", topology.name, "': input '", input.name, "' is ", input.type.dtype,
                    ", but the data has ", row.dtype));
}

}  // namespace

std::int64_t training_rows(std::int64_t rows, double validation_split) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(rows) * (1 - validation_split)));
}

Dataset arrays_of(const std::vector<Tensor>& x, const std::vector<Tensor>& y) {
  return datasets::Arrays{.x = x, .y = y};
}

void copy_rows(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t rows) {
  if (to.shape().without(0) != from.shape().without(0) || at + rows > to.shape()[0])
    throw Error(cat("rows ", at, " to ", at + rows, " of ", from.type(), " do not fit into ", to.type()));
  const std::size_t row = from.shape()[0] ? from.bytes() / static_cast<std::size_t>(from.shape()[0]) : 0;
  std::memcpy(static_cast<char*>(to.host_data()) + static_cast<std::size_t>(at) * row, from.host_data(),
              static_cast<std::size_t>(rows) * row);
}

Fed feed_tensors(Model::Core& core, const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                 const Tensor& sample_weight) {
  auto& topology = *core.topology;
  const std::string model = cat("model '", topology.name, "': ");
  Fed fed;
  const auto rows = [&](const Tensor& tensor, const std::string& what) {
    if (!tensor) throw Error(cat(model, what, " was never made"));
    if (tensor.shape().rank() == 0) throw Error(cat(model, what, " is a scalar; the first axis must be the rows"));
    if (fed.feeds.empty()) fed.types.rows = tensor.shape()[0];
    if (tensor.shape()[0] != fed.types.rows)
      throw Error(cat(model, what, " has ", tensor.shape()[0], " rows, input '", topology.inputs[0].name, "' has ",
                      fed.types.rows));
  };
  if (x.size() != topology.inputs.size())
    throw Error(cat("model '", topology.name, "' takes ", topology.inputs.size(), " inputs, got ", x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    rows(x[i], cat("input '", topology.inputs[i].name, "'"));
    check_input(topology, i, {x[i].shape().without(0), x[i].dtype()});
    const Tensor shaped = x[i].reshaped(topology.inputs[i].type.shape.prepend(fed.types.rows));
    fed.feeds[input_feed(topology, i)] = shaped;
    fed.types.inputs.push_back(shaped.type());
  }
  if (fed.types.rows == 0) throw Error(cat(model, "the batch has no rows"));
  std::vector<std::size_t> wanted;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.outputs.size(); ++i) {
    if (!core.wants_target(i)) continue;
    wanted.push_back(i);
    names.push_back(topology.output_names[i]);
  }
  if (y.size() != wanted.size())
    throw Error(cat("model '", topology.name, "' wants ", wanted.size(),
                    wanted.size() == 1 ? " target (" : " targets (", listed(names), "), got ", y.size()));
  if (sample_weight) rows(sample_weight, "the sample weight");
  fed.types.targets.resize(topology.outputs.size());
  fed.types.weights.resize(topology.outputs.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t i = wanted[k];
    rows(y[k], cat("the target of '", topology.output_names[i], "'"));
    fed.feeds[target_feed(topology, i)] = y[k];
    fed.types.targets[i] = y[k].type();
    if (sample_weight) {
      fed.feeds[weight_feed(topology, i)] = sample_weight;
      fed.types.weights[i] = sample_weight.type();
    }
  }
  return fed;
}

Batches::Batches(Model::Core& core, std::shared_ptr<const Reader> reader, BatchesOptions options)
    : core_(core),
      reader_(std::move(reader)),
      options_(std::move(options)),
      loader_(reader_, {.batch_size = options_.batch_size,
                        .first_row = options_.first,
                        .last_row = options_.last < 0 ? reader_->size() : options_.last,
                        .shuffle = options_.shuffle,
                        .seed = static_cast<std::uint64_t>(options_.seed)}) {
  auto& topology = *core_.topology;
  auto& fields = reader_->fields();
  auto place = [&](DataField::Role role, const std::vector<std::string>& wanted, const std::vector<std::string>& feeds,
                   const char* what) {
    std::vector<std::size_t> of_role;
    for (std::size_t f = 0; f < fields.size(); ++f)
      if (fields[f].role == role) of_role.push_back(f);
    bool by_name = true;
    for (auto& name : wanted)
      by_name =
          by_name && std::any_of(of_role.begin(), of_role.end(), [&](std::size_t f) { return fields[f].name == name; });
    // Some names that fit and some that do not: by order would be a guess.
    for (auto& name : wanted) {
      std::vector<std::string> known;
      for (std::size_t f : of_role) known.push_back(fields[f].name);
      const bool some = std::any_of(wanted.begin(), wanted.end(), [&](auto& other) {
        return std::find(known.begin(), known.end(), other) != known.end();
      });
      if (some && std::find(known.begin(), known.end(), name) == known.end())
        throw Error(cat("model '", topology.name, "': the data has no ", what, " '", name, "'; its ", what,
                        known.size() == 1 ? " is " : "s are ", field_names(fields, role), did_you_mean(name, known)));
    }
    if (!by_name && of_role.size() != wanted.size())
      throw Error(cat("model '", topology.name, "' wants ", wanted.size(), " ", what, wanted.size() == 1 ? " (" : "s (",
                      listed(wanted), "), the data has ", of_role.size(), ": ", field_names(fields, role)));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::size_t field = by_name ? 0 : of_role[i];
      if (by_name)
        for (std::size_t f : of_role)
          if (fields[f].name == wanted[i]) field = f;
      places_.push_back({field, feeds[i]});
    }
  };
  std::vector<std::string> wanted, feeds;
  for (std::size_t i = 0; i < topology.inputs.size(); ++i) {
    wanted.push_back(topology.inputs[i].name);
    feeds.push_back(input_feed(topology, i));
  }
  place(DataField::Role::input, wanted, feeds, "input");
  for (std::size_t i = 0; i < topology.inputs.size(); ++i) check_input(topology, i, fields[places_[i].field].type);
  if (!options_.targets) return;
  wanted.clear();
  feeds.clear();
  for (std::size_t i = 0; i < topology.outputs.size(); ++i) {
    if (!core_.wants_target(i)) continue;
    wanted.push_back(topology.output_names[i]);
    feeds.push_back(target_feed(topology, i));
    target_outputs_.push_back(i);
  }
  place(DataField::Role::target, wanted, feeds, "target");
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (fields[f].role == DataField::Role::weight)
      for (std::size_t i : target_outputs_) places_.push_back({f, weight_feed(topology, i)});
  if (!options_.class_weight.empty()) {
    if (target_outputs_.size() != 1)
      throw Error(cat("class_weight needs a model with one output that has a target; '", topology.name, "' has ",
                      target_outputs_.size()));
    if (std::any_of(fields.begin(), fields.end(), [](auto& f) { return f.role == DataField::Role::weight; }))
      throw Error("class_weight and sample weights in the data exclude each other; take one");
    label_field_ = places_[topology.inputs.size()].field;
    const Shape& label = fields[label_field_].type.shape;
    if (label.size() != 1 && label.rank() != 1)
      throw Error(cat("class_weight needs one class per row; the target '", fields[label_field_].name, "' is ", label));
  }
}

std::int64_t Batches::count() const { return (row_count() + options_.batch_size - 1) / options_.batch_size; }
std::int64_t Batches::row_count() const {
  return (options_.last < 0 ? reader_->size() : options_.last) - options_.first;
}
void Batches::start(std::int64_t epoch, std::int64_t batch) { loader_.start(epoch, batch); }

BatchTypes Batches::types_of(std::int64_t rows) const {
  auto& topology = *core_.topology;
  BatchTypes types;
  types.rows = rows;
  types.inputs.resize(topology.inputs.size());
  types.targets.resize(topology.outputs.size());
  types.weights.resize(topology.outputs.size());
  for (std::size_t i = 0; i < topology.inputs.size(); ++i) {
    const Type& row = reader_->fields()[places_[i].field].type;
    types.inputs[i] = {topology.inputs[i].type.shape.prepend(rows), row.dtype};
  }
  for (std::size_t i : target_outputs_) {
    for (auto& place : places_) {
      const Type& row = reader_->fields()[place.field].type;
      if (place.feed == target_feed(topology, i)) types.targets[i] = {row.shape.prepend(rows), row.dtype};
      if (place.feed == weight_feed(topology, i)) types.weights[i] = {row.shape.prepend(rows), row.dtype};
    }
    if (!options_.class_weight.empty()) types.weights[i] = {{rows}, DType::float32};
  }
  return types;
}

bool Batches::next() {
  if (!loader_.next(batch_)) return false;
  auto& topology = *core_.topology;
  const std::int64_t rows = options_.fill ? options_.batch_size : batch_.rows;
  if (fed_.types.rows != rows) fed_.types = types_of(rows);
  for (std::size_t p = 0; p < places_.size(); ++p) {
    Tensor& from = batch_.fields[places_[p].field];
    Tensor tensor = from;
    if (rows != batch_.rows) {
      // Filled up with copies of row 0: what it gives is thrown away.
      Tensor full(Type{from.shape().with(0, rows), from.dtype()});
      copy_rows(full, 0, from, batch_.rows);
      for (std::int64_t r = batch_.rows; r < rows; ++r) copy_rows(full, r, from, 1);
      tensor = full;
    }
    if (p < topology.inputs.size() && tensor.shape() != fed_.types.inputs[p].shape)
      tensor = tensor.reshaped(fed_.types.inputs[p].shape);
    fed_.feeds[places_[p].feed] = tensor;
  }
  if (!options_.class_weight.empty()) {
    const Tensor& label = batch_.fields[label_field_];
    const auto values = label.to_doubles();
    const std::int64_t width = label.shape().size() / std::max<std::int64_t>(rows, 1);
    Tensor weights(Type{{rows}, DType::float32});
    for (std::int64_t r = 0; r < rows; ++r) {
      auto begin = values.begin() + r * width;
      const std::int64_t label_class =
          width > 1 ? std::max_element(begin, begin + width) - begin : std::llround(*begin);
      auto it = options_.class_weight.find(label_class);
      weights.as<float>()[static_cast<std::size_t>(r)] =
          it == options_.class_weight.end() ? 1.f : static_cast<float>(it->second);
    }
    fed_.feeds[weight_feed(topology, target_outputs_[0])] = weights;
  }
  return true;
}

RunResult StepRunner::run(StepPlans& plans, const std::map<std::string, Tensor>& feeds, std::int64_t first_row) {
  RunResult result = core_.run(plans.micro, feeds, first_row);
  if (result.status != Status::ok || plans.joined) return result;
  // The window's place is a state, so that a stop in the middle of one can go on.
  const std::string window = names::window;
  if (!core_.store.has(window)) core_.store.add(window, Tensor(Type{{}, DType::int64}), false);
  Tensor place = core_.store.read(window);
  auto& done = place.as<std::int64_t>()[0];
  if (++done >= core_.binding.accumulation) {
    done = 0;
    result = core_.run(plans.update, {}, 0);
  }
  core_.store.write(window, place);
  return result;
}

namespace {

// The rows of each part but the last, which may have fewer.
std::int64_t rows_of_a_part(const BatchTypes& types, std::int64_t parts) { return (types.rows + parts - 1) / parts; }

BatchTypes part_of(const BatchTypes& types, std::int64_t rows) {
  BatchTypes part = types;
  part.rows = rows;
  part.step_rows = types.rows;
  for (auto* list : {&part.inputs, &part.targets, &part.weights})
    for (auto& type : *list)
      if (type) type.shape = type.shape.with(0, rows);
  return part;
}

}  // namespace

void StepRunner::prepare_parts(const BatchTypes& types, std::int64_t parts) {
  const std::int64_t share = rows_of_a_part(types, parts);
  for (const std::int64_t rows : {std::min(share, types.rows), types.rows % share}) {
    if (rows == 0) continue;
    (void)core_.count_plan(part_of(types, rows));
    (void)core_.train_plan(part_of(types, rows));
  }
}

RunResult StepRunner::run_parts(const BatchTypes& types, const std::map<std::string, Tensor>& feeds, std::int64_t parts,
                                std::int64_t first_row) {
  Runner& runner = core_.ready();
  const std::int64_t share = rows_of_a_part(types, parts);
  auto take = [&](std::int64_t begin, std::int64_t end, BatchTypes& part, std::map<std::string, Tensor>& fed) {
    part = part_of(types, end - begin);
    for (auto& [name, tensor] : feeds) fed[name] = tensor.rows(begin, end);
  };
  std::map<std::string, double> counts;
  std::map<std::string, DType> count_types;
  BatchTypes part;
  std::map<std::string, Tensor> fed;
  RunResult result;
  for (std::int64_t begin = 0; begin < types.rows; begin += share) {
    take(begin, std::min(types.rows, begin + share), part, fed);
    auto& plan = core_.count_plan(part);
    result = core_.run(plan, fed, first_row + begin, begin);
    if (result.status != Status::ok) return result;
    for (auto& [name, _] : plan.plans[0].outputs) {
      const Tensor count = runner.output(plan, name);
      counts[name] += count.to_doubles()[0];
      count_types[name] = count.dtype();
    }
  }
  for (auto& [_, count] : counts)
    if (count == 0) count = 1;  // nothing counted: the loss is 0, not 0 / 0
  StepPlans* last = nullptr;
  for (std::int64_t begin = 0; begin < types.rows; begin += share) {
    take(begin, std::min(types.rows, begin + share), part, fed);
    for (auto& [name, count] : counts)
      fed[name] = Tensor::from_doubles({{}, count_types[name]}, std::span<const double>(&count, 1));
    last = &core_.train_plan(part);
    result = core_.run(last->micro, fed, first_row + begin, begin);
    if (result.status != Status::ok) return result;
  }
  return last ? core_.run(last->update, {}, 0) : result;
}

}  // namespace strata
