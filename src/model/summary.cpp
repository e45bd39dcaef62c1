// SPDX-License-Identifier: Apache-2.0
// What a person reads of a model: the table of layers, and the plan with its memory.
#include <algorithm>

#include "base/text.h"
#include "model/core.h"

namespace strata {

namespace {

std::string counted_digits(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string without_batch(const Shape& shape) {
  std::string text = "(batch";
  for (int i = 1; i < shape.rank(); ++i) text += cat(", ", shape[i]);
  return text + ")";
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t right_from) {
  std::vector<std::size_t> widths;
  for (auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths.size() <= c) widths.push_back(0);
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const std::string fill(widths[c] - rows[r][c].size(), ' ');
      line += (c ? "  " : "") + (c >= right_from && c + 1 < rows[r].size() + (right_from < rows[r].size() ? 1 : 0)
                                     ? fill + rows[r][c]
                                     : rows[r][c] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) text += std::string(line.size(), '-') + "\n";
  }
  return text;
}

// The outputs of each call at two rows, from a trace of its own.
std::vector<std::string> output_shapes(const Topology& topology, const Precision& precision) {
  Graph graph;
  Trace trace;
  trace.graph = &graph;
  trace.rows = 1;
  trace.precision = precision;
  Scope scope(trace, "", precision);
  std::vector<Values> results;
  Values inputs;
  for (auto& input : topology.inputs)
    inputs.push_back(graph.input(input.name, {input.type.shape.prepend(1), input.type.dtype}));
  std::vector<std::string> shapes;
  for (auto& call : topology.calls) {
    Values from;
    for (auto& edge : call.from)
      from.push_back(edge.call < 0
                         ? inputs[static_cast<std::size_t>(-edge.call - 1)]
                         : results[static_cast<std::size_t>(edge.call)][static_cast<std::size_t>(edge.output)]);
    results.push_back(call_layer(scope, call.layer, from, call.name));
    std::string text;
    for (auto& value : results.back()) text += (text.empty() ? "" : " ") + without_batch(value.shape());
    shapes.push_back(text);
  }
  return shapes;
}

}  // namespace

std::string Model::summary() const {
  const_cast<Model*>(this)->build();
  auto& topology = *core_->topology;
  const auto shapes = output_shapes(topology, core_->compiled ? core_->binding.precision : Precision{});
  const auto entries = weights();
  std::vector<std::vector<std::string>> rows{{"Layer", "Output", "Parameters", "From"}};
  for (auto& input : topology.inputs)
    rows.push_back({cat(input.name, " (input)"), without_batch(input.type.shape.prepend(1)), "0", ""});
  std::set<std::string> seen;
  for (std::size_t c = 0; c < topology.calls.size(); ++c) {
    auto& call = topology.calls[c];
    std::int64_t count = 0;
    for (auto& entry : entries)
      if (entry.path.starts_with(call.name + "/")) count += entry.type.size();
    const bool again = !seen.insert(call.name).second;
    std::vector<std::string> from;
    for (auto& edge : call.from)
      from.push_back(edge.call < 0 ? topology.inputs[static_cast<std::size_t>(-edge.call - 1)].name
                                   : topology.calls[static_cast<std::size_t>(edge.call)].name);
    rows.push_back({cat(call.name, " (", call.layer.name(), ")"), shapes[c], again ? "shared" : counted_digits(count),
                    join(from, ", ")});
  }
  // A chain needs no column that says so.
  bool chain = topology.inputs.size() == 1;
  for (std::size_t c = 0; chain && c < topology.calls.size(); ++c)
    chain = topology.calls[c].from.size() == 1 && topology.calls[c].from[0].call == static_cast<int>(c) - 1;
  if (chain)
    for (auto& row : rows) row.pop_back();
  std::int64_t trainable = 0, other = 0, bytes = 0;
  for (auto& entry : entries) {
    (entry.trainable && !frozen(entry.path, core_->binding.freeze) ? trainable : other) += entry.type.size();
    bytes += static_cast<std::int64_t>(entry.type.bytes());
  }
  return cat("Model: ", topology.name, "\n", table(rows, 2), "Parameters: ", counted_digits(trainable + other), " (",
             bytes_text(static_cast<std::uint64_t>(bytes)), "), trainable ", counted_digits(trainable),
             ", not trainable ", counted_digits(other), "\n");
}

std::string Model::plan(std::int64_t batch_size, const std::string& mode) {
  core_->need_compiled("plan");
  if (mode != "train" && mode != "evaluate" && mode != "predict")
    throw Error(cat("plan: mode is '", mode, "'; it is train, evaluate or predict"));
  BatchTypes types;
  types.rows = batch_size;
  auto& topology = *core_->topology;
  for (auto& input : topology.inputs) types.inputs.push_back({input.type.shape.prepend(batch_size), input.type.dtype});
  types.targets.resize(topology.outputs.size());
  types.weights.resize(topology.outputs.size());
  if (mode == "predict") return core_->predict_plan(types).plans[0].text();
  for (std::size_t i = 0; i < topology.outputs.size(); ++i) {
    if (!core_->binding.losses[i]) continue;
    Type target = core_->output_types[i];
    target.shape = target.shape.with(0, batch_size);
    auto& loss = *core_->binding.losses[i];
    const bool classes =
        loss.word() == "crossentropy" || loss.word() == "ce" ? target.shape[-1] > 1 : loss->target() == Target::classes;
    if (classes) target = {target.shape.without(-1), DType::int32};
    types.targets[i] = target;
  }
  if (mode == "evaluate") return core_->evaluate_plan(types).plans[0].text();
  auto& plans = core_->train_plan(types);
  std::string text = plans.micro.plans[0].text();
  if (!plans.joined) text += plans.update.plans[0].text();
  std::size_t weights = 0, slots = 0, other = 0;
  for (auto& [path, variable] : core_->store.variables())
    (core_->states.count(path) ? weights : path.starts_with("optimizer/") ? slots : other) += variable->type.bytes();
  return cat(text, "Memory on one device: weights ", bytes_text(weights), ", optimizer ", bytes_text(slots),
             ", other states ", bytes_text(other), ", arena ", bytes_text(core_->ready().executor().arena_bytes()),
             ", feeds and constants ",
             bytes_text(core_->ready().executor().allocated_bytes() - core_->ready().executor().arena_bytes()), "\n");
}

}  // namespace strata
