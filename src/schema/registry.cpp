// SPDX-License-Identifier: Apache-2.0
// Names of parts: class names, snake case, aliases; what a file's word or one-key map says.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "schema/shown.h"
#include "strata/part.h"

namespace strata {
namespace {

bool begins_upper(std::string_view word) { return !word.empty() && word[0] >= 'A' && word[0] <= 'Z'; }

std::string an(std::string_view word) {
  return cat(std::string_view("aeiou").find(word.front()) == std::string_view::npos ? "a " : "an ", word);
}

// ":14:14" of a key, for a message that names two places.
std::string at_place(const Where& where) { return where.line ? cat(" (", where.line, ":", where.column, ")") : ""; }

}  // namespace

std::vector<std::string> Names::names() const {
  std::vector<std::string> all;
  for (const auto& [_, entry] : by_word_) all.push_back(entry.name);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::string> Names::words() const {
  std::vector<std::string> all;
  for (const auto& [word, _] : by_word_) all.push_back(word);
  return all;
}

const Schema& Names::schema(std::string_view word) const {
  Mistakes mistakes;
  const Entry* entry = find(word, {}, mistakes);
  mistakes.raise();
  return entry->schema();
}

bool Names::has(std::string_view word) const { return by_word_.find(word) != by_word_.end(); }

const Names::Entry* Names::find(std::string_view word, const Where& where, Mistakes& mistakes) const {
  if (const auto it = by_word_.find(word); it != by_word_.end()) return &it->second;
  // Who writes a capital means a class, who does not, a word, with underscores or without: of equally near ones, that.
  std::vector<std::string> known = words();
  const auto unlike = [&](std::string_view other) {
    return std::pair(begins_upper(other) != begins_upper(word),
                     std::abs(std::ranges::count(other, '_') - std::ranges::count(word, '_')));
  };
  std::ranges::stable_sort(known, {}, unlike);
  std::string more = did_you_mean(word, known);
  constexpr std::size_t few = 12;
  if (const auto all = names(); more.empty() && !all.empty() && all.size() <= few)
    more = cat("; there are ", listed(all));
  mistakes.add(where, cat("there is no ", word_, " '", word, "'", more));
  return nullptr;
}

void Names::insert(const std::string& name, const Schema& (*of)(), std::size_t maker) {
  const Entry entry{name, of, maker};
  if (!by_word_.emplace(name, entry).second) throw Error(cat("there are two of the ", word_, " '", name, "'"));
  by_word_.emplace(snake_case(name), entry);  // the class whose name comes first keeps a word that two would have
  for (const std::string& alias : of().aliases) insert_alias(alias, name, maker);
}

void Names::insert_alias(const std::string& alias, const std::string& name, std::size_t maker) {
  const auto it = by_word_.find(name);
  STRATA_CHECK(it != by_word_.end(), "'", alias, "' stands for an unknown ", word_, " '", name, "'");
  const Entry entry{it->second.name, it->second.schema, maker};
  const auto [old, added] = by_word_.emplace(alias, entry);
  if (added) return;
  // Keras gives some snake cases a meaning of their own: "leaky_relu" has another slope than LeakyReLU.
  if (old->second.name != entry.name || alias == entry.name) {
    throw Error(
        cat("the word '", alias, "' stands for two of the ", word_, "s: ", old->second.name, " and ", entry.name));
  }
  old->second = entry;
}

void Names::take(const Schema& own, void* part, const Schema& common, void* shared, const Config& args,
                 Mistakes& mistakes) {
  if (!args.map()) return own.read(part, args, mistakes, &common);
  Config mine(Config::Map{}, args.where), others(Config::Map{}, args.where);
  for (const auto& [key, value] : *args.map())
    (common.find(key) && !own.find(key) ? others : mine).set_entry(key, value);
  own.read(part, mine, mistakes, &common);
  common.read(shared, others, mistakes);
}

bool Names::split(const Config& config, std::string_view kind, const std::string& subject, std::string& name,
                  Config& args, Mistakes& mistakes) {
  const std::string who = subject.empty() ? "this" : subject;
  if (config.text()) {
    name = *config.text();
    args = Config().at(config.where);
    args.key = config.where;
    return true;
  }
  const auto* map = config.map();
  if (!map || map->empty()) {
    mistakes.add(config.where,
                 cat(who, " should be ", an(kind), ": a name, or a name with its arguments; got ", shown(config)));
    return false;
  }
  if (map->size() > 1) {
    const auto& [first, first_value] = (*map)[0];
    const auto& [second, second_value] = (*map)[1];
    mistakes.add(second_value.key,
                 cat(who, " should be one ", kind, ", but has two names: '", first, "'", at_place(first_value.key),
                     " and '", second, "'", at_place(second_value.key), "; the arguments of ", first,
                     " stand below it, further in: {", first, ": {", second, ": …}}"));
    return false;
  }
  name = map->front().first;
  args = map->front().second;
  if (args.is_null() || (args.where.line == 0 && args.where.origin.empty())) args.where = args.key;
  return true;
}

}  // namespace strata
