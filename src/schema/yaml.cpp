// SPDX-License-Identifier: Apache-2.0
// The only file that knows yaml-cpp: its events become Config, its errors sentences.
#include "schema/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "schema/yaml_text.h"
#include "strata/schema.h"

namespace strata {
namespace {

constexpr std::size_t most_values = 100'000;
constexpr std::size_t deepest = 100;

// A tag as it is written in files: tag:yaml.org,2002:str is !!str.
std::string tag_text(const std::string& tag) {
  constexpr std::string_view standard = "tag:yaml.org,2002:";
  return tag.starts_with(standard) ? "!!" + tag.substr(standard.size()) : tag;
}

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const YamlText& source) : source_(source) {}

  // Null when there is no document.
  Config finish() {
    mistakes_.raise();
    return std::move(root_);
  }
  const Config& last_text() const { return last_text_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    const std::string_view line = source_.line(mark.line), above = source_.line(mark.line - 1);
    source_.fail(place(mark), line.starts_with("---") || above.starts_with("---") || above.starts_with("...")
                                  ? "a second document begins here; a file holds one"
                                  : "this line belongs neither to the list nor to the map above it: its indentation, "
                                    "its '-' or its ':' is missing");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t at = source_.offset(mark.line, mark.column);
    const bool written =
        std::string_view("nN~").find(at < source_.text().size() ? source_.text()[at] : ' ') != std::string_view::npos;
    // What is only left out has yaml-cpp's place of whatever follows.
    const bool keyed = !written && !open_.empty() && open_.back().has_key;
    put(mark, "", Config().at(keyed ? open_.back().key_place : place(mark)), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Config text(value, place(mark));
    text.plain = tag == "?";
    // yaml-cpp takes the rest of the file for the text.
    if (!text.plain && !source_.closes_quote(source_.offset(mark.line, mark.column)))
      source_.fail(text.where, "this quote is not closed");
    if (text.plain && (value == "Null" || value == "NULL")) text = Config().at(text.where);
    last_text_ = text;
    put(mark, tag, std::move(text), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) source_.fail(place(mark), "an alias stands inside the value that it names");
    const auto& [value, values] = it->second;
    count(values - 1, place(mark));  // before the copy is made; put() counts the last
    put(mark, "", value.at(place(mark)), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Config(Config::List{}, place(mark)));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Config(Config::Map{}, place(mark)));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Config value;
    YAML::anchor_t anchor = 0;
    std::size_t values_before = 0;
    bool has_key = false;
    bool dropped = false;  // what this key names was refused
    std::string key;
    Where key_place;
  };

  Where place(const YAML::Mark& mark) const { return source_.place(mark.line, mark.column); }

  void count(std::size_t more, const Where& where) {
    if ((values_ += more) > most_values)
      source_.fail(where, cat("more than ", most_values, " values; an alias counts as what it stands for"));
  }
  void check_tag(const Where& where, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    mistakes_.add(where,
                  cat("the tag ", tag_text(tag), " is not read; leave it out: the argument says what its value is"));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Config value) {
    check_tag(value.where, tag);
    if (open_.size() >= deepest) source_.fail(place(mark), cat("nested more than ", deepest, " deep"));
    Open entry;
    entry.value = std::move(value);
    entry.anchor = anchor;
    entry.values_before = values_;
    open_.push_back(std::move(entry));
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    count(1, done.value.where);
    if (done.anchor) anchors_[done.anchor] = {done.value, values_ - done.values_before};
    add(std::move(done.value));
  }
  void put(const YAML::Mark& mark, const std::string& tag, Config value, YAML::anchor_t anchor) {
    check_tag(place(mark), tag);
    count(1, value.where);
    if (anchor) anchors_[anchor] = {value, 1};
    add(std::move(value));
  }

  void add(Config value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (auto* list = std::get_if<Config::List>(&parent.value.data)) {
      list->push_back(std::move(value));
    } else if (!parent.has_key) {
      add_key(parent, value);
    } else {
      value.key = parent.key_place;
      if (!parent.dropped) parent.value.set_entry(std::move(parent.key), std::move(value));
      parent.has_key = false;
    }
  }
  void add_key(Open& parent, const Config& key) {
    parent.has_key = true;
    parent.dropped = true;
    parent.key_place = key.where;
    if (!key.text()) {
      mistakes_.add(key.where, cat("a key is a word, not ", key.list() ? "a list" : key.map() ? "a map" : "nothing"));
    } else if (*key.text() == "<<" && key.plain) {
      mistakes_.add(key.where, "merge keys (<<) are not applied; write the entries out, or use include");
    } else if (const Config* first = parent.value.find(*key.text())) {
      mistakes_.add(key.where, cat("the key '", *key.text(), "' stands twice; first in line ", first->key.line));
    } else {
      parent.dropped = false;
      parent.key = *key.text();
    }
  }

  const YamlText& source_;
  Mistakes mistakes_;
  Config root_;
  Config last_text_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::pair<Config, std::size_t>> anchors_;  // a value and how many values it is
  std::size_t values_ = 0;
  int documents_ = 0;
};

bool indented_by_tab(std::string_view line) {
  const std::size_t text = line.find_first_not_of(" \t");
  return text != std::string_view::npos && line.substr(0, text).find('\t') != std::string_view::npos;
}

// A ':' where none can be: what the author likely did.
std::string illegal_colon(const YamlText& source, const YAML::Mark& mark, const Config& last) {
  const std::string_view line = source.line(mark.line);
  const std::string_view key = trim(line.substr(0, static_cast<std::size_t>(std::max(mark.column, 0))));
  if (last.text() && last.plain && last.where.line <= mark.line && !key.empty() &&
      last.text()->ends_with(cat(" ", key))) {
    return cat("this line goes on with the text of line ", last.where.line, " ('", *last.text(),
               "'): it is indented too far");
  }
  const std::string_view above = trim(source.line(mark.line - 1));
  if (!above.empty() && above[0] != '#' && above.find(':') == std::string_view::npos &&
      trim(line).find(": ") == trim(line).rfind(": ")) {
    return cat("the line above, '", above, "', has no ':'");
  }
  return "a ':' cannot stand here; text with ': ' in it needs quotes";
}

std::string reworded(const YamlText& source, const YAML::Exception& error, const Config& last) {
  namespace says = YAML::ErrorMsg;
  const std::string& message = error.msg;
  const std::size_t at = source.offset(error.mark.line, error.mark.column);
  const std::string_view rest = source.text().substr(at);
  if (at > 0 && source.text()[at - 1] == '$' && rest.starts_with('{')) {
    const std::string_view whole = source.text().substr(at - 1, rest.find_first_of("}\n") + 1);
    return cat("an interpolation inside { } or [ ] needs quotes: \"", whole, whole.ends_with('}') ? "\"" : "}\"");
  }
  if (message == says::TAB_IN_INDENTATION || indented_by_tab(source.line(error.mark.line)))
    return "a tab in the indentation; YAML is indented with spaces";
  if (message == says::MAP_VALUE) return illegal_colon(source, error.mark, last);
  if (message == says::END_OF_MAP)
    return "this line fits no map above it: the keys of one map begin in the same column";
  if (message == says::END_OF_SEQ)
    return "this line fits no list above it: the '-' of one list stand in the same column";
  if (message == says::END_OF_MAP_FLOW) return "',' or '}' is expected here: a '{' above is not closed";
  if (message == says::END_OF_SEQ_FLOW) return "',' or ']' is expected here: a '[' above is not closed";
  if (message == says::FLOW_END) return "this bracket closes nothing";
  if (message == says::BLOCK_ENTRY) return "a list cannot begin here; its '- ' stand on lines of their own";
  if (message == says::MAP_KEY) return "a key cannot stand here";
  if (message == says::UNKNOWN_TOKEN) return cat("text cannot begin with '", rest.substr(0, 1), "'; put it in quotes");
  if (message == says::UNKNOWN_ANCHOR || message == says::ALIAS_NOT_FOUND || message == says::CHAR_IN_ALIAS) {
    return "this alias names no anchor above it; text that begins with '*' needs quotes";
  }
  if (message == says::ANCHOR_NOT_FOUND || message == says::CHAR_IN_ANCHOR)
    return "this anchor has no name; text that begins with '&' needs quotes";
  if (message.starts_with(says::INVALID_ESCAPE)) {
    return cat("the escape \\", message.substr(std::string_view(says::INVALID_ESCAPE).size()),
               " is not known; in single quotes a backslash is itself");
  }
  return "this is not YAML: " + message;
}

bool is_block(const Config& value) {
  if (const auto* map = value.map()) return !map->empty();
  return value.list() &&
         std::ranges::any_of(*value.list(), [](const Config& item) { return item.map() || item.list(); });
}

void write_block(const Config& config, std::size_t indent, bool origins, std::string& out) {
  const std::string pad(indent, ' ');
  const auto line = [&](const std::string& lead, const Config& value) {
    out += pad + lead + to_text(value);
    if (std::string where = locate(value.where); origins && where.size() > 2)
      out += "  # " + where.substr(0, where.size() - 2);
    out += "\n";
  };
  if (config.map() && !config.map()->empty()) {
    for (const auto& [key, value] : *config.map()) {
      Config word(key);
      word.plain = true;  // a key is a word whatever it looks like
      if (is_block(value)) {
        out += pad + to_text(word) + ":\n";
        write_block(value, indent + 2, origins, out);
      } else {
        line(to_text(word) + ": ", value);
      }
    }
  } else if (config.list() && is_block(config)) {
    for (const Config& item : *config.list()) line("- ", item);
  } else {
    line("", config);
  }
}

}  // namespace

Config read_yaml(std::string_view text, const std::string& file) {
  const YamlText source(text, file);
  std::istringstream in{std::string(text)};
  Builder builder(source);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    source.fail(source.place(error.mark.line, error.mark.column), reworded(source, error, builder.last_text()));
  }
  Config root = builder.finish();
  if (root.is_null()) throw Error(cat(file, ": the file is empty"));
  return root;
}

Config read_yaml_file(const std::string& path) {
  if (const std::uint64_t size = file_bytes(path); size > most_yaml_bytes) {
    throw Error(cat(path, ": has ", bytes_text(size), "; a configuration has at most ", bytes_text(most_yaml_bytes)));
  }
  return read_yaml(read_file(path, most_yaml_bytes), path);
}

std::string write_yaml(const Config& config, bool origins) {
  std::string out;
  write_block(config, 0, origins, out);
  return out;
}

}  // namespace strata
