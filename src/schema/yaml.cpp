// SPDX-License-Identifier: Apache-2.0
// The only file that knows yaml-cpp: its events become Config.
#include "schema/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

constexpr std::size_t most_nodes = 100'000, most_bytes = 16 << 20;
constexpr int deepest = 100;

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  Config root;
  bool any = false;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++) fail(mark, "a second document begins here ('---'); one file holds one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { put(mark, "?", Config().at(place(mark)), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    Config text(value, place(mark));
    text.plain = tag == "?" || tag.empty();
    if (text.plain && (value == "null" || value == "~" || value.empty())) text = Config().at(place(mark));
    put(mark, tag, std::move(text), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(mark, "an alias stands inside the value it names");
    count(mark, it->second.second);
    put(mark, "?", it->second.first.at(place(mark)), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Config(Config::List{}, place(mark)));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Config(Config::Map{}, place(mark)));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Config value;
    YAML::anchor_t anchor = 0;
    std::size_t nodes_before = 0;
    bool has_key = false;
    std::string key;
    Where key_place;
  };

  Where place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1, ""}; }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const { throw Error(locate(place(mark)) + what); }

  void count(const YAML::Mark& mark, std::size_t more) {
    if ((nodes_ += more) > most_nodes) fail(mark, cat("more than ", most_nodes, " values; aliases count each time they are used"));
  }
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, cat("the tag '", tag, "' is not supported; leave it out, the argument's type decides"));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Config value) {
    check_tag(mark, tag);
    if (open_.size() >= deepest) fail(mark, cat("nested more than ", deepest, " deep"));
    if (!open_.empty() && open_.back().value.map() && !open_.back().has_key) fail(mark, "a key must be a word, not a list or a map; text with ${…} inside { } needs quotes");
    Open entry;
    entry.value = std::move(value);
    entry.anchor = anchor;
    entry.nodes_before = nodes_;
    open_.push_back(std::move(entry));
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor) anchors_[done.anchor] = {done.value, nodes_ - done.nodes_before + 1};
    add(std::move(done.value), YAML::Mark());
  }
  void put(const YAML::Mark& mark, const std::string& tag, Config value, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (anchor) anchors_[anchor] = {value, 1};
    add(std::move(value), mark);
  }
  void add(Config value, const YAML::Mark& mark) {
    if (++nodes_ > most_nodes) throw Error(cat(locate(value.where), "more than ", most_nodes, " values; aliases count each time they are used"));
    if (open_.empty()) {
      root = std::move(value);
      any = true;
      return;
    }
    Open& parent = open_.back();
    if (auto* list = std::get_if<Config::List>(&parent.value.data)) {
      list->push_back(std::move(value));
      return;
    }
    if (!parent.has_key) {
      if (!value.text()) fail(mark, "a key must be a word, not empty, a list or a map");
      if (*value.text() == "<<") fail(mark, "merge keys ('<<') are not applied; write the entries out");
      if (parent.value.find(*value.text())) fail(mark, cat("the key '", *value.text(), "' stands twice here"));
      parent.key = *value.text();
      parent.key_place = value.where;
      parent.has_key = true;
      return;
    }
    value.key = parent.key_place;
    parent.value.set_entry(std::move(parent.key), std::move(value));
    parent.has_key = false;
  }

  std::string file_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::pair<Config, std::size_t>> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// Where a text stops being UTF-8, or its size.
std::size_t valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t more = c < 0x80 ? 0 : (c >> 5) == 6 && c >= 0xC2 ? 1 : (c >> 4) == 14 ? 2 : (c >> 3) == 30 && c <= 0xF4 ? 3 : 9;
    if (more == 9 || i + more >= text.size() + (more == 0)) return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + k]) >> 6) != 2) return i;
    i += more + 1;
  }
  return text.size();
}

std::string reworded(const std::string& message) {
  if (message.find("illegal map value") != std::string::npos || message.find("end of map not found") != std::string::npos)
    return "the indentation, a ':' or a tab is wrong here: YAML is indented with spaces, and text with ': ' or ${…} inside { } needs quotes";
  if (message.find("end of sequence") != std::string::npos) return "a list is not ended here: a ',' or ']' or a '- ' is missing";
  if (message.find("bad file") != std::string::npos || message.find("deep") != std::string::npos) return cat("nested more than ", deepest, " deep");
  return "this is not YAML: " + message;
}

void check_depth(std::string_view text, const std::string& file) {
  // Before the parser recurses: brackets, and dashes on one line.
  int depth = 0, most = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if (c == ']' || c == '}') depth = std::max(0, depth - 1);
  }
  if (most > 1000) throw Error(cat(file, ": nested more than ", deepest, " deep"));
}

void write_block(const Config& config, int indent, std::string& out) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  if (const auto* map = config.map(); map && !map->empty()) {
    for (const auto& [key, value] : *map) {
      out += pad + to_text(Config(key)) + ":";
      const bool block = (value.map() && !value.map()->empty()) || (value.list() && std::ranges::any_of(*value.list(), [](auto& v) { return v.map() || v.list(); }));
      if (block) {
        out += "\n";
        write_block(value, indent + 2, out);
      } else {
        out += " " + to_text(value) + "\n";
      }
    }
  } else if (const auto* list = config.list(); list && !list->empty()) {
    for (const auto& item : *list) out += pad + "- " + to_text(item) + "\n";
  } else {
    out += pad + to_text(config) + "\n";
  }
}

}  // namespace

Config read_yaml(std::string_view text, const std::string& file) {
  if (text.size() > most_bytes) throw Error(cat(file, ": has ", bytes_text(text.size()), "; a run file has at most 16 MiB"));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (const std::size_t bad = valid_utf8(text); bad != text.size()) throw Error(cat(file, ": byte ", bad, " is not UTF-8 text"));
  check_depth(text, file);
  std::istringstream in{std::string(text)};
  Builder builder(file);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {}
  } catch (const YAML::Exception& error) {
    const Where where{file, error.mark.line + 1, error.mark.column + 1, ""};
    throw Error(locate(where) + reworded(error.msg));
  }
  if (!builder.any || builder.root.is_null()) throw Error(cat(file, ": is empty"));
  return builder.root;
}

Config read_yaml_file(const std::string& path) { return read_yaml(read_file(path, most_bytes), path); }

std::string write_yaml(const Config& config) {
  std::string out;
  write_block(config, 0, out);
  return out;
}

}  // namespace strata
