// SPDX-License-Identifier: Apache-2.0
// Reads what to_text prints. For tests of passes, and for looking at dumped graphs.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "strata/graph.h"

namespace strata {

namespace {

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
        const Value state = reference(graph, numbers);
        expect("=");
        const Value value = reference(graph, numbers);
        graph.next(state, value, take_word("always") ? Advance::always : Advance::if_ok);
      } else if (take_word("output")) {
        const std::string name = quoted();
        expect("=");
        graph.output(name, reference(graph, numbers));
      } else if (take_word("guard")) {
        graph.guard(reference(graph, numbers));
      } else {
        node(graph, numbers);
      }
    }
    if (body) fail("a body is not closed with '}'");
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(cat("graph:", row_ + 1, ":", at_ + 1, ": ", what));
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
    return (end >= line_.size() || line_[end] == ' ') && take(word);
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
    const std::size_t end = line_.find('"', at_);
    if (end == std::string::npos) fail("a name is not closed");
    std::string text = line_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  int number() {
    int value = 0;
    const auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), value);
    if (error != std::errc()) fail("a number is expected here");
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
  Type type() {
    const std::string name = word();
    Type type;
    if (name == "opaque") type.dtype = DType::opaque;
    else if (name != "none") type.dtype = dtype_named(name);
    expect("[");
    std::vector<std::int64_t> extents;
    while (!take("]")) {
      if (!extents.empty()) expect(",");
      skip();
      extents.push_back(number());
    }
    type.shape = Shape(extents);
    return type;
  }

  void node(Graph& graph, std::map<int, int>& numbers) {
    expect("%");
    const int printed = number();
    expect("=");
    const std::string name = word();
    const auto it = ops().find(name);
    if (it == ops().end()) {
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
    skip();
    Attributes attributes;
    if (at_ < line_.size() && line_[at_] == '{') attributes = read_attributes(op);
    expect(":");
    std::vector<Type> types{type()};
    while (take(",")) types.push_back(type());
    std::string scope;
    if (take("@")) {
      scope = line_.substr(at_);
      at_ = line_.size();
    }
    Bodies bodies;
    while (row_ + 1 < lines_.size() && trim(lines_[row_ + 1]) == "{") {
      row_ += 2;
      bodies.push_back(std::make_shared<const Graph>(parse(true)));
    }
    const std::size_t row = row_;
    const Graph::Labelled labelled(graph, scope);
    Value made = !op.infer ? (name == "input" ? graph.input(label, types[0]) : graph.state(label, types[0]))
                           : graph.add_all(op, inputs, attributes, bodies)[0];
    row_ = row;
    if (graph[made.node].types != types)
      fail(cat(name, " gives ", graph[made.node].types[0], ", but ", types[0], " is written"));
    numbers[printed] = made.node;
  }

  Attributes read_attributes(const OpDef& op) {
    if (!op.read) fail(cat(op.name, " has no attributes"));
    int depth = 0;
    std::size_t end = at_;
    bool in_quotes = false;
    for (; end < line_.size(); ++end) {
      if (line_[end] == '"') in_quotes = !in_quotes;
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
