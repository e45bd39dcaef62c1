// SPDX-License-Identifier: Apache-2.0
// The table of passes, and the way through it.
#include "compiler/compile.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "compiler/pass.h"

namespace strata {

namespace {

struct GraphPass {
  std::string_view name;
  Graph (*run)(const Graph&, Target&);
};
constexpr GraphPass graph_passes[] = {
    {"partition", partition}, {"commit", commit}, {"simplify", simplify}, {"fuse", fuse}};
// What follows works on launches.
constexpr std::string_view launch_passes[] = {"lower", "schedule", "memory"};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void check_skips(const CompileOptions& options) {
  const auto names = pass_names();
  for (const auto& name : options.skip) {
    if (name == "lower") throw Error("pass 'lower' cannot be skipped: it makes the launches");
    if (std::ranges::find(names, name) == names.end())
      throw Error(
          cat("there is no pass '", name, "' to skip", did_you_mean(name, names), "; passes are ", listed(names)));
  }
}

Target target_for(Backend& backend, const Device& device, const CompileOptions& options) {
  Target target{backend, device, backend.model(device), options, {}, {}};
  target.model.fast_math = options.fast_math;
  return target;
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto& pass : graph_passes) names.emplace_back(pass.name);
  for (const auto name : launch_passes) names.emplace_back(name);
  return names;
}

Graph run_pass(std::string_view pass, Graph graph, Backend& backend, const Device& device,
               const CompileOptions& options) {
  Target target = target_for(backend, device, options);
  for (const auto& known : graph_passes)
    if (known.name == pass) {
      Graph result = known.run(graph, target);
      verify(result);
      return result;
    }
  const auto names = pass_names();
  throw Error(cat("there is no pass '", pass, "' over graphs", did_you_mean(pass, names)));
}

Plan compile_graph(Graph graph, Backend& backend, const Device& device, const CompileOptions& options) {
  check_skips(options);
  const double begin = now();
  Target target = target_for(backend, device, options);
  std::vector<std::pair<std::string, double>> times;
  const auto timed = [&](std::string_view name, auto&& body) {
    const double start = now();
    body();
    times.emplace_back(name, now() - start);
  };
  for (const auto& pass : graph_passes) {
    if (options.skip.count(std::string(pass.name))) continue;
    timed(pass.name, [&] { graph = pass.run(graph, target); });
    if (options.verify) verify(graph);
    if (options.dump && options.dump_after == pass.name) options.dump(std::string(pass.name), to_text(graph));
  }
  Draft draft;
  timed("lower", [&] { draft = lower(graph, target); });
  timed("schedule", [&] { schedule(draft, !options.skip.count("schedule")); });
  timed("memory", [&] { place(draft, !options.skip.count("memory")); });
  Plan plan = std::move(draft.plan);
  plan.name = options.name;
  plan.device = target.model;
  plan.row_outputs = std::move(target.row_outputs);
  plan.compile_seconds = now() - begin;
  plan.pass_seconds = std::move(times);
  if (options.dump && std::ranges::find(launch_passes, options.dump_after) != std::end(launch_passes))
    options.dump(options.dump_after, plan.text());
  return plan;
}

}  // namespace strata
