// SPDX-License-Identifier: Apache-2.0
// Reads what to_text prints. For tests of passes, and for looking at dumped graphs.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "strata/graph.h"

namespace strata {

namespace {

// How many inputs each op takes, as the catalogue's examples show. An op is not here when they differ, when it has
// bodies (which say it) or when no example uses it.
const std::map<std::string_view, std::size_t>& input_counts() {
  static const std::map<std::string_view, std::size_t> counts = [] {
    std::map<std::string_view, std::size_t> found;
    std::set<std::string_view> vary;
    for (const auto& [_, op] : ops()) {
      if (!op->examples) continue;
      for (const OpExample& example : op->examples()) {
        Graph graph;
        Values inputs;
        for (const auto& input : example.inputs) inputs.push_back(graph.input(cat("x", inputs.size()), input.type));
        (void)example.build(inputs);
        for (int n = 0; n < graph.size(); ++n) {
          const auto [at, added] = found.emplace(graph[n].op->name, graph[n].inputs.size());
          if ((!added && at->second != graph[n].inputs.size()) || !graph[n].bodies.empty()) vary.insert(at->first);
        }
      }
    }
    for (const std::string_view name : vary) found.erase(name);
    return found;
  }();
  return counts;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(lines(text)) {}

  Graph parse(bool body) {
    Graph graph;
    std::map<int, int> numbers;  // printed -> made
    for (; row_ < lines_.size(); ++row_) {
      line_ = lines_[row_];
      at_ = 0;
      skip();
      if (at_ >= line_.size()) continue;
      if (body && line_[at_] == '}') return graph;
      if (take_word("next")) {
        const Value state = given(graph, numbers);
        if (graph[state.node].op->name != "state") fail(cat("%", state.node, " is no state"));
        expect("=");
        const Value value = given(graph, numbers);
        const Advance advance = take_word("always") ? Advance::always : Advance::if_ok;
        placed([&] { graph.next(state, value, advance); });
      } else if (take_word("output")) {
        const std::string name = quoted();
        expect("=");
        graph.output(name, given(graph, numbers));
      } else if (take_word("guard")) {
        const Value ok = given(graph, numbers);
        placed([&] { graph.guard(ok); });
      } else {
        node(graph, numbers);
        continue;  // its bodies may have ended further down
      }
      end_of_line();
    }
    at_ = 0;
    if (body) fail("a body is not closed with '}'");
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(cat("graph:", row_ + 1, ":", at_ + 1, ": ", what));
  }
  // What the graph itself refuses is said with its place.
  template <class F> std::invoke_result_t<F> placed(F f) const {
    try {
      return f();
    } catch (const Error& error) {
      fail(error.what());
    }
  }
  void end_of_line() {
    skip();
    if (at_ < line_.size()) fail(cat("'", line_.substr(at_), "' is too much here"));
  }
  void skip() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }
  bool take(std::string_view text) {
    skip();
    if (line_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    const std::size_t end = at_ + word.size();
    return end <= line_.size() && (end == line_.size() || line_[end] == ' ') && take(word);
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(cat("'", text, "' is expected here"));
  }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < line_.size() && (std::isalnum(static_cast<unsigned char>(line_[at_])) || line_[at_] == '_')) ++at_;
    return line_.substr(begin, at_ - begin);
  }
  std::string quoted() {
    expect("\"");
    std::string text;
    for (; at_ < line_.size() && line_[at_] != '"'; ++at_) {
      if (line_[at_] == '\\' && at_ + 1 < line_.size()) ++at_;
      text += line_[at_];
    }
    expect("\"");
    return text;
  }
  int number() {
    int value = 0;
    const auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), value);
    if (error != std::errc() || value < 0) fail("a number is expected here");
    at_ = static_cast<std::size_t>(end - line_.data());
    return value;
  }
  Value reference(Graph& graph, const std::map<int, int>& numbers) {
    if (take("_")) return {};
    expect("%");
    const int printed = number();
    const auto it = numbers.find(printed);
    if (it == numbers.end()) fail(cat("%", printed, " is not defined above"));
    int output = 0;
    if (at_ < line_.size() && line_[at_] == '.') {
      ++at_;
      output = number();
    }
    if (output >= static_cast<int>(graph[it->second].types.size())) fail(cat("%", printed, " has no output ", output));
    return {&graph, it->second, output};
  }
  Value given(Graph& graph, const std::map<int, int>& numbers) {
    const Value value = reference(graph, numbers);
    if (!value) fail("a value is needed here, not _");
    return value;
  }
  Type type() {
    skip();
    const std::size_t begin = at_;
    const std::string name = word();
    const std::size_t end = std::exchange(at_, begin);
    Type type;
    type.dtype = name == "opaque" ? DType::opaque : placed([&] { return dtype_named(name); });
    at_ = end;
    expect("[");
    std::vector<std::int64_t> extents;
    while (!take("]")) {
      if (!extents.empty()) expect(",");
      skip();
      extents.push_back(number());
    }
    type.shape = placed([&] { return Shape(extents); });
    return type;
  }

  void node(Graph& graph, std::map<int, int>& numbers) {
    expect("%");
    const int printed = number();
    if (numbers.contains(printed)) fail(cat("%", printed, " is defined twice"));
    expect("=");
    skip();
    const std::size_t begin = at_;
    const std::string name = word();
    const auto it = ops().find(name);
    if (it == ops().end()) {
      at_ = begin;
      std::vector<std::string> known;
      for (const auto& [op_name, _] : ops()) known.emplace_back(op_name);
      fail(cat("there is no op '", name, "'", did_you_mean(name, known)));
    }
    const OpDef& op = *it->second;
    expect("(");
    std::string label;
    Values inputs;
    if (!op.infer) label = quoted();
    while (!take(")")) {
      if (!inputs.empty()) expect(",");
      inputs.push_back(reference(graph, numbers));
    }
    if (const auto count = input_counts().find(op.name);
        count != input_counts().end() && count->second != inputs.size())
      fail(
          cat(op.name, " takes ", counted(static_cast<std::int64_t>(count->second), "input"), ", got ", inputs.size()));
    skip();
    Attributes attributes;
    if (at_ < line_.size() && line_[at_] == '{') attributes = read_attributes(op);
    else if (op.read) attributes = placed([&] { return op.read(Config(Config::Map{})); });
    expect(":");
    std::vector<Type> types{type()};
    while (take(",")) types.push_back(type());
    std::string scope;
    if (take("@")) {
      scope = line_.substr(at_);
      at_ = line_.size();
    }
    end_of_line();
    const std::size_t row = row_;
    Bodies bodies;
    while (row_ + 1 < lines_.size() && trim(lines_[row_ + 1]) == "{") {
      row_ += 2;
      bodies.push_back(std::make_shared<const Graph>(parse(true)));
    }
    const std::size_t last = std::exchange(row_, row);  // errors are of the node's own line
    at_ = begin;
    const Graph::Labelled labelled(graph, scope);
    const Value made = placed([&] {
      if (op.infer) return graph.add_all(op, inputs, attributes, bodies)[0];
      return name == "input" ? graph.input(label, types[0]) : graph.state(label, types[0]);
    });
    const Types& own = graph[made.node].types;
    for (std::size_t o = 0; o < std::min(own.size(), types.size()); ++o)
      if (own[o] != types[o]) fail(cat(name, " gives ", own[o], ", but ", types[o], " is written"));
    if (own.size() != types.size())
      fail(cat(name, " gives ", counted(static_cast<std::int64_t>(own.size()), "output"), ", but ", types.size(),
               " are written"));
    row_ = last;
    numbers[printed] = made.node;
  }

  Attributes read_attributes(const OpDef& op) {
    if (!op.read) fail(cat(op.name, " has no attributes"));
    int depth = 0;
    std::size_t end = at_;
    bool in_quotes = false;
    for (; end < line_.size(); ++end) {
      if (in_quotes && line_[end] == '\\') ++end;
      else if (line_[end] == '"') in_quotes = !in_quotes;
      if (in_quotes) continue;
      if (line_[end] == '{' || line_[end] == '[') ++depth;
      if ((line_[end] == '}' || line_[end] == ']') && --depth == 0) break;
    }
    const Config config = parse_flow(line_.substr(at_, end + 1 - at_),
                                     {"graph", static_cast<int>(row_) + 1, static_cast<int>(at_) + 1, ""});
    at_ = end + 1;
    return op.read(config);
  }

  std::vector<std::string> lines_;
  std::size_t row_ = 0, at_ = 0;
  std::string line_;
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).parse(false); }

}  // namespace strata
