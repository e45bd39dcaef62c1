// SPDX-License-Identifier: Apache-2.0
// Where a number that is not finite came from: the step is run once more with every array of it watched, then followed
// back from the loss or gradient that failed to the first array whose own inputs were still good.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "model/batches.h"
#include "strata/ops.h"

namespace strata {

namespace {

// The model's states, given back when this ends.
class StatesKept {
 public:
  explicit StatesKept(Store& store) : store_(store) { store.copy(states_); }
  ~StatesKept() {
    for (const auto& [path, value] : states_)
      if (store_.has(path)) store_.write(path, value);
  }

 private:
  Store& store_;
  std::map<std::string, Tensor> states_;
};

bool watchable(const Graph& graph, Ref ref) {
  const Type& type = graph.type(ref);
  return is_floating(type.dtype) && type.size() > 0 && graph[ref.node].op != nullptr;
}

std::string finite_output(Ref ref) { return cat("finite/", ref.node, "/", ref.output); }

// Runs a graph that is not kept, and reads outputs.
class Trial {
 public:
  Trial(Model::Core& core, const Built& built, const BatchTypes& types, const std::map<std::string, Tensor>& feeds,
        std::int64_t first_row)
      : runner_(core.ready()), compilation_(runner_.compile(built.step.micro, "blame", types.rows)) {
    if (runner_.run(compilation_, feeds, first_row).status != Status::ok)
      throw RunFailed("a kernel failed while the step was run again");
  }
  ~Trial() { runner_.executor().forget(compilation_.plans); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  Tensor output(const std::string& name) const { return runner_.output(compilation_, name); }

 private:
  Runner& runner_;
  Compilation compilation_;
};

std::vector<std::int64_t> bad_rows(const Tensor& tensor) {
  const auto values = tensor.to_doubles();
  const auto rows = static_cast<std::size_t>(tensor.shape()[0]);
  std::vector<std::int64_t> bad;
  for (std::size_t r = 0, width = values.size() / std::max<std::size_t>(rows, 1); r < rows; ++r)
    if (std::any_of(values.begin() + static_cast<std::ptrdiff_t>(r * width),
                    values.begin() + static_cast<std::ptrdiff_t>((r + 1) * width),
                    [](double value) { return !std::isfinite(value); }))
      bad.push_back(static_cast<std::int64_t>(r));
  return bad;
}

std::string rows_text(const std::vector<std::int64_t>& rows, std::int64_t all) {
  if (static_cast<std::int64_t>(rows.size()) == all) return "every sample of the batch";
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < rows.size() && i < 5; ++i) numbers.push_back(to_text(rows[i]));
  if (rows.size() > 5) numbers.push_back(cat(rows.size() - 5, " more"));
  return cat(rows.size() == 1 ? "sample " : "samples ", listed(numbers), " of the batch");
}

}  // namespace

std::string blame(Model::Core& core, const BatchTypes& types, const std::map<std::string, Tensor>& feeds,
                  std::int64_t first_row) {
  const StatesKept kept(core.store);
  auto traced = [&] { return build_train(*core.topology, core.binding, types); };
  Built watched = traced();
  Graph& graph = watched.step.micro;
  const int nodes = graph.size();
  std::vector<Ref> refs;
  for (int node = 0; node < nodes; ++node)
    for (int output = 0; output < static_cast<int>(graph[node].types.size()); ++output)
      if (const Ref ref{node, output}; watchable(graph, ref)) refs.push_back(ref);
  for (const Ref ref : refs) graph.output(finite_output(ref), reduce_all(is_finite(graph.value(ref))));
  std::map<Ref, bool> finite;
  double loss = 0;
  {
    const Trial trial(core, watched, types, feeds, first_row);
    for (const Ref ref : refs) finite[ref] = trial.output(finite_output(ref)).to_doubles()[0] != 0;
    loss = trial.output("loss").to_doubles()[0];
  }
  auto bad = [&](Ref ref) {
    const auto it = finite.find(ref);
    return it != finite.end() && !it->second;
  };
  Ref at = watched.loss;
  std::string what = std::isnan(loss) ? "loss is nan" : std::isinf(loss) ? cat("loss is ", loss) : "";
  std::string gradient;
  if (!bad(at)) {
    for (const auto& [path, ref] : watched.gradients)
      if (bad(ref)) {
        at = ref;
        gradient = path;
        break;
      }
    if (gradient.empty()) return cat("loss is ", loss, "; every array of the step is finite");
    what = cat("the gradient of ", gradient, " is not finite");
  }
  // Back to where it began; on the way the last array that has the batch's rows tells which of them it was.
  Ref with_rows;
  for (;;) {
    const Type& type = graph.type(at);
    if (type.shape.rank() > 0 && type.shape[0] == types.rows) with_rows = at;
    const auto& inputs = graph[at.node].inputs;
    const auto next = std::find_if(inputs.begin(), inputs.end(), bad);
    if (next == inputs.end()) break;
    at = *next;
  }
  const Node& node = graph[at.node];
  std::string where;
  bool data = false;
  if (core.store.has(node.label)) {
    where = cat("the state ", node.label, ", before the step");
  } else if (!node.label.empty()) {
    data = true;
    where = cat("the data of '", node.label, "'");
  } else {
    for (const auto& [path, ref] : watched.gradients)
      if (ref == at) where = cat(path, "'s gradient");
    if (where.empty())
      where = cat(node.scope.empty() ? "the loss" : node.scope, at.node > watched.loss.node ? ", on the way back" : "",
                  " (", node.op->name, ")");
  }
  std::string rows;
  if (with_rows) {
    Built again = traced();
    again.step.micro.output("watched", again.step.micro.value(with_rows));
    const Trial trial(core, again, types, feeds, first_row);
    if (const auto found = bad_rows(trial.output("watched")); !found.empty())
      rows = ", " + rows_text(found, types.rows);
  }
  return cat(
      what, "; first in ", where, rows,
      data ? "; these rows must be mended or left out" : "; a smaller learning_rate, or clipnorm, usually cures this");
}

}  // namespace strata
