// SPDX-License-Identifier: Apache-2.0
// Compiling for every replica, and feeding each its rows.
#include "model/plans.h"

#include <algorithm>
#include <cstring>

namespace strata {

Runner::Runner(Backend& backend, Mesh mesh, Store& store, bool fast_math)
    : backend_(backend),
      mesh_(std::move(mesh)),
      store_(store),
      fast_math_(fast_math),
      executor_(backend, mesh_.devices, store) {}

Compilation Runner::compile(const Graph& graph, const std::string& name, std::int64_t rows) {
  Compilation compilation;
  compilation.batch_rows = rows;
  const auto replicas = static_cast<std::int64_t>(mesh_.devices.size());
  const std::int64_t part = (rows + replicas - 1) / replicas;
  // One row cannot be told from an axis that broadcasts: every replica computes it whole, and all agree.
  const bool shared = rows <= 1;
  for (std::int64_t r = 0; r < replicas; ++r)
    compilation.rows.emplace_back(shared ? 0 : std::min(rows, r * part), std::min(rows, (r + 1) * part));
  for (auto& [feed, node] : graph.inputs()) compilation.whole[feed] = graph[node].types[0];
  CompileOptions options;
  options.name = name;
  options.replicas = shared ? 1 : static_cast<int>(replicas);
  options.batch_rows = rows;
  options.fast_math = fast_math_;
  for (std::int64_t r = 0; r < replicas; ++r) {
    options.replica_rows = compilation.rows[static_cast<std::size_t>(r)];
    // A plan knows its replica's rows: what it cuts out of whole arrays, and who counts a shared term.
    compilation.plans.push_back(compile_graph(graph, backend_, mesh_.devices[static_cast<std::size_t>(r)], options));
    compile_seconds_ += compilation.plans.back().compile_seconds;
    auto& feeds = compilation.feeds.emplace_back();
    for (auto& [feed, slot] : compilation.plans.back().feeds)
      feeds[feed] = feed == names::first_row ? Tensor(Type{{}, DType::int64}) : Tensor();
  }
  executor_.prepare(compilation.plans);
  return compilation;
}

RunResult Runner::run(Compilation& compilation, const std::map<std::string, Tensor>& feeds, std::int64_t row_offset) {
  for (std::size_t r = 0; r < compilation.feeds.size(); ++r) {
    const auto [begin, end] = compilation.rows[r];
    for (auto& [name, tensor] : compilation.feeds[r]) {
      if (name == names::first_row) {
        tensor.as<std::int64_t>()[0] = row_offset + begin;
        continue;
      }
      auto it = feeds.find(name);
      if (it == feeds.end())
        throw Error(cat("the step needs '", name, "' (", compilation.whole.at(name), "), which was not fed"));
      const Type& wanted = compilation.whole.at(name);
      if (it->second.type() != wanted)
        throw Error(cat("'", name, "' is ", it->second.type(), ", but this plan was made for ", wanted));
      const bool split =
          wanted.shape.rank() > 0 && wanted.shape[0] == compilation.batch_rows && compilation.feeds.size() > 1;
      tensor = split ? it->second.rows(begin, end) : it->second;
    }
  }
  return executor_.run(compilation.plans, compilation.feeds);
}

Tensor Runner::output(const Compilation& compilation, const std::string& name) const {
  Tensor first = executor_.output(compilation.plans[0], name, 0);
  if (compilation.plans[0].row_outputs.count(name) == 0) return first;
  const std::int64_t of_a_row = first.shape()[0] / (compilation.rows[0].second - compilation.rows[0].first);
  Tensor whole(Type{first.shape().with(0, of_a_row * compilation.batch_rows), first.dtype()});
  std::size_t at = 0;
  for (std::size_t r = 0; r < compilation.plans.size(); ++r) {
    if (compilation.rows[r].first == compilation.rows[r].second) continue;
    const Tensor part = executor_.output(compilation.plans[r], name, static_cast<int>(r));
    std::memcpy(static_cast<char*>(whole.host_data()) + at, part.host_data(), part.bytes());
    at += part.bytes();
  }
  return whole;
}

}  // namespace strata
