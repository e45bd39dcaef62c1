// SPDX-License-Identifier: Apache-2.0
// Plans by batch, figures, and the loops over data that do not train: evaluate, predict, one batch.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/batches.h"
#include "model/core.h"

namespace strata {

namespace {

std::string key_of(const BatchTypes& types) {
  std::string key;
  for (auto* list : {&types.inputs, &types.targets, &types.weights}) {
    for (auto& type : *list) key += type ? to_text(type) : "-";
    key += ';';
  }
  return cat(key, types.step_rows);
}

// The first label that is no class, if there is one: a check is a bit and does not know.
std::string wrong_label(const Model::Core& core, const std::map<std::string, Tensor>& feeds, std::int64_t part_row) {
  if (!core.topology) return "";
  const Topology& topology = *core.topology;
  for (std::size_t i = 0; i < core.binding.losses.size(); ++i) {
    const auto fed = feeds.find(target_feed(topology, i));
    if (!core.binding.losses[i] || (*core.binding.losses[i])->target() != Target::classes || fed == feeds.end())
      continue;
    const Config arguments = core.binding.losses[i]->write();
    auto number = [&](const char* name) -> std::optional<std::int64_t> {
      const Config* said = arguments.find(name);
      const auto* value = said ? std::get_if<std::int64_t>(&said->data) : nullptr;
      return value ? std::optional(*value) : std::nullopt;
    };
    const auto ignored = number("ignore_class");
    const auto classes = static_cast<double>(core.output_types[i].shape[static_cast<int>(number("axis").value_or(-1))]);
    const auto labels = fed->second.to_doubles();
    const auto a_row = labels.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, fed->second.shape()[0]));
    for (std::size_t k = 0; k < labels.size(); ++k)
      if ((labels[k] < 0 || labels[k] >= classes) && !(ignored && labels[k] == static_cast<double>(*ignored)))
        return cat(": ", labels[k], " in row ", part_row + static_cast<std::int64_t>(k / a_row), " of the batch",
                   topology.outputs.size() > 1 ? cat(", for output '", topology.output_names[i], "'") : "");
  }
  return "";
}

void check_positive(const char* what, std::int64_t value) {
  if (value < 1) throw Error(cat(what, " must be at least 1, got ", value));
}

std::vector<std::string> messages_of(const Trace& trace) {
  std::vector<std::string> messages;
  for (auto& [_, message] : trace.checks) messages.push_back(message);
  return messages;
}

}  // namespace

StepPlans& Model::Core::train_plan(const BatchTypes& types) {
  const std::string key = key_of(types);
  if (auto it = train_plans.find(key); it != train_plans.end()) return it->second;
  bind(types);
  Built built = build_train(*topology, binding, types);
  built.trace.graph = &built.step.micro;
  adopt(built.trace);
  Runner& run = ready();
  if (!built.step.joined) {
    built.update_trace.graph = &built.step.update;
    adopt(built.update_trace);
  }
  StepPlans plans;
  plans.joined = built.step.joined;
  plans.micro = run.compile(built.step.micro, cat("train ", types.rows), types.rows);
  plans.micro.checks = messages_of(built.trace);
  plans.micro.learns = true;
  if (!plans.joined) {
    plans.update = run.compile(built.step.update, "update", 0);
    plans.update.checks = messages_of(built.update_trace);
    plans.update.learns = true;
  }
  return train_plans.emplace(key, std::move(plans)).first->second;
}

Compilation& Model::Core::evaluate_plan(const BatchTypes& types) {
  const std::string key = key_of(types);
  if (auto it = evaluate_plans.find(key); it != evaluate_plans.end()) return it->second;
  bind(types);
  Built built = build_evaluate(*topology, binding, types);
  built.trace.graph = &built.step.micro;
  adopt(built.trace);
  Compilation plan = ready().compile(built.step.micro, cat("evaluate ", types.rows), types.rows);
  plan.checks = messages_of(built.trace);
  return evaluate_plans.emplace(key, std::move(plan)).first->second;
}

Compilation& Model::Core::predict_plan(const BatchTypes& types) {
  const std::string key = key_of(types);
  if (auto it = predict_plans.find(key); it != predict_plans.end()) return it->second;
  Built built = build_predict(*topology, binding.precision, types);
  built.trace.graph = &built.step.micro;
  adopt(built.trace);
  if (!strategy)
    strategy = StrategyScope::current() ? *StrategyScope::current() : parts<Strategy>().make("DefaultStrategy");
  return predict_plans.emplace(key, ready().compile(built.step.micro, cat("predict ", types.rows), types.rows))
      .first->second;
}

Compilation& Model::Core::count_plan(const BatchTypes& types) {
  const std::string key = key_of(types);
  if (auto it = count_plans.find(key); it != count_plans.end()) return it->second;
  Built built = build_counts(*topology, binding, types);
  built.trace.graph = &built.step.micro;
  adopt(built.trace);
  Compilation plan = ready().compile(built.step.micro, cat("count ", types.rows), types.rows);
  plan.checks = messages_of(built.trace);
  plan.learns = true;
  return count_plans.emplace(key, std::move(plan)).first->second;
}

void Model::Core::reset_metrics() {
  for (auto& [path, variable] : store.variables())
    if (path.starts_with("metric/")) store.write(path, Tensor(variable->type));
}

Figures Model::Core::figures(const std::string& prefix) {
  Figures figures;
  auto totals = [&](const std::string& name) {
    std::vector<Array> arrays;
    for (std::size_t k = 0;; ++k) {
      const std::string path = metric_state(name, k);
      if (!store.has(path)) break;
      const Tensor value = store.read(path);
      arrays.emplace_back(value.shape(), value.to_doubles());
    }
    return arrays;
  };
  auto mean = [&](const std::string& name) {
    const auto arrays = totals(name);
    if (arrays.size() == 2) figures[prefix + name] = mean_result(arrays);
  };
  mean("loss");
  for (auto& name : topology->output_names) mean(name + "_loss");
  for (auto& bound : binding.metrics)
    if (const auto arrays = totals(bound.name); !arrays.empty())
      figures[prefix + bound.name] = bound.metric->result(arrays);
  return figures;
}

RunResult Model::Core::run(Compilation& compilation, const std::map<std::string, Tensor>& feeds, std::int64_t first_row,
                           std::int64_t part_row) {
  const RunResult result = ready().run(compilation, feeds, first_row);
  // A step may also be passed over because a gradient was too large for 16 bits: then no check has failed.
  if (result.committed || compilation.checks.empty() || !store.has(names::faults)) return result;
  const auto bits = store.read(names::faults).as<std::int64_t>()[0];
  if (!bits) return result;
  store.write(names::faults, Tensor(Type{{}, DType::int64}));
  for (std::size_t k = 0; k < compilation.checks.size(); ++k)
    if (bits >> std::min<std::size_t>(k, 52) & 1) {
      if (compilation.checks[k] == not_finite) throw NotFinite(not_finite);
      throw Error(cat(subject(), ": ", compilation.checks[k], wrong_label(*this, feeds, part_row),
                      compilation.learns ? "; nothing was learnt from this batch" : ""));
    }
  return result;
}

Figures Model::evaluate(const Dataset& data, const EvaluateOptions& options) {
  core_->need_compiled("evaluate");
  check_positive("evaluate: batch_size", options.batch_size);
  if (options.steps) check_positive("evaluate: steps", *options.steps);
  Batches batches(*core_, data->open(), {.batch_size = options.batch_size, .targets = true});
  if (batches.row_count() == 0) throw Error(cat(core_->subject(), ": there are no rows to evaluate on"));
  core_->reset_metrics();
  batches.start(0);
  for (std::int64_t done = 0; (!options.steps || done < *options.steps) && batches.next(); ++done) {
    auto& plan = core_->evaluate_plan(batches.types());
    if (core_->run(plan, batches.feeds(), batches.first_row()).status != Status::ok)
      throw RunFailed(cat("model '", name(), "': a kernel failed while evaluating batch ", done));
  }
  return core_->figures();
}

Figures Model::evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options) {
  return evaluate(arrays_of({x}, {y}), options);
}

std::vector<Tensor> Model::predict(const Dataset& data, const PredictOptions& options) {
  check_positive("predict: batch_size", options.batch_size);
  build();
  auto reader = data->open();
  const std::int64_t rows = reader->size();
  if (rows == 0) throw Error(cat(core_->subject(), ": there are no rows to predict from"));
  std::vector<Tensor> results;
  // The last batch is filled up with rows already seen, so that one plan serves.
  Batches batches(*core_, reader, {.batch_size = std::min(options.batch_size, rows), .targets = false, .fill = true});
  batches.start(0);
  std::int64_t done = 0;
  while (batches.next()) {
    auto& plan = core_->predict_plan(batches.types());
    if (core_->ready().run(plan, batches.feeds(), batches.first_row()).status != Status::ok)
      throw RunFailed(cat("model '", name(), "': a kernel failed while predicting rows from ", done));
    for (std::size_t i = 0; i < core_->topology->output_names.size(); ++i) {
      const Tensor part = core_->ready().output(plan, core_->topology->output_names[i]);
      if (results.size() <= i) results.emplace_back(Type{part.shape().with(0, rows), part.dtype()});
      copy_rows(results[i], done, part, batches.rows());
    }
    done += batches.rows();
  }
  return results;
}

std::vector<Tensor> Model::predict(const std::vector<Tensor>& x, const PredictOptions& options) {
  return predict(arrays_of(x, {}), options);
}

Tensor Model::predict(const Tensor& x, const PredictOptions& options) {
  auto results = predict(std::vector<Tensor>{x}, options);
  if (results.size() != 1)
    throw Error(cat("model '", name(), "' has ", results.size(), " outputs; predict(std::vector{x}) gives them all"));
  return results[0];
}

Figures Model::train_on_batch(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& sample_weight) {
  core_->need_compiled("train_on_batch");
  const Fed fed = feed_tensors(*core_, x, y, sample_weight);
  auto& plans = core_->train_plan(fed.types);
  core_->reset_metrics();
  try {
    if (StepRunner(*core_).run(plans, fed.feeds, 0).status != Status::ok)
      throw RunFailed(cat("model '", name(), "': a kernel failed"));
  } catch (const NotFinite&) {
    throw RunFailed(cat("model '", name(), "': ", blame(*core_, fed.types, fed.feeds)));
  }
  return core_->figures();
}

Figures Model::test_on_batch(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& sample_weight) {
  core_->need_compiled("test_on_batch");
  const Fed fed = feed_tensors(*core_, x, y, sample_weight);
  auto& plan = core_->evaluate_plan(fed.types);
  core_->reset_metrics();
  if (core_->run(plan, fed.feeds).status != Status::ok) throw RunFailed(cat("model '", name(), "': a kernel failed"));
  return core_->figures();
}

}  // namespace strata
