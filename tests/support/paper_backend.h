// SPDX-License-Identifier: Apache-2.0
// A backend on paper: it takes what a test says and runs nothing, so that what passes make of a graph can be read.
#pragma once

#include <functional>
#include <utility>

#include "backends/kernel_table.h"
#include "compiler/compile.h"
#include "strata/error.h"

namespace strata::test {

// A kernel that does nothing; opaque outputs take 64 bytes in this format.
inline Choice taken(const Problem& problem, std::string name = "any", const std::string& format = "plain") {
  Choice choice;
  choice.kernel = kernel_of([](const Launch&) { return Status::ok; });
  choice.name = std::move(name);
  choice.opaque.resize(problem.outputs.size());
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    if (problem.outputs[i].dtype == DType::opaque) choice.opaque[i] = {64, format};
  }
  return choice;
}

class PaperBackend final : public Backend {
 public:
  using Answer = std::function<Choice(const Problem&)>;
  PaperBackend() : answer_([](const Problem& problem) { return taken(problem); }) {}
  explicit PaperBackend(Answer answer) : answer_(std::move(answer)) {}

  std::string_view name() const override { return "paper"; }
  std::vector<Device> devices() const override { return {{"paper", 0}}; }
  DeviceModel model(const Device&) const override {
    DeviceModel model;
    model.backend = "paper";
    model.isa = "none";
    return model;
  }
  Choice choose(const Problem& problem) const override { return answer_(problem); }
  std::shared_ptr<Buffer> allocate(const Device&, std::size_t, std::string_view) override { nothing_runs(); }
  std::unique_ptr<Stream> stream(const Device&) override { nothing_runs(); }
  void copy_in(void*, const void*, std::size_t, Stream&) override { nothing_runs(); }
  void copy_out(void*, const void*, std::size_t, Stream&) override { nothing_runs(); }
  void copy(void*, const void*, std::size_t, Stream&) override { nothing_runs(); }
  std::unique_ptr<Communicator> connect(std::span<const Device>) override { nothing_runs(); }
  std::size_t free_bytes(const Device&) const override { return 0; }

 private:
  [[noreturn]] static void nothing_runs() { throw Error("nothing runs on paper"); }
  Answer answer_;
};

// A graph as text after one pass, and the same of a whole plan's launches: the plan's text without its first and last
// line, which hold times and a digest. Both begin with an empty line, as raw strings do.
inline std::string after(std::string_view pass, std::string_view graph, PaperBackend::Answer answer = {},
                         const CompileOptions& options = {}) {
  PaperBackend backend = answer ? PaperBackend(std::move(answer)) : PaperBackend();
  return "\n" + to_text(run_pass(pass, parse_graph(graph), backend, backend.devices()[0], options));
}
inline Plan planned(std::string_view graph, PaperBackend::Answer answer = {}, CompileOptions options = {}) {
  PaperBackend backend = answer ? PaperBackend(std::move(answer)) : PaperBackend();
  options.verify = true;
  return compile_graph(parse_graph(graph), backend, backend.devices()[0], options);
}
inline std::string launches_of(const Plan& plan) {
  const std::string text = plan.text();
  const std::size_t begin = text.find('\n'), end = text.rfind('\n', text.size() - 2);
  return text.substr(begin, end - begin + 1);
}

}  // namespace strata::test
