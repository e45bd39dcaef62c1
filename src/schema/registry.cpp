// SPDX-License-Identifier: Apache-2.0
// Names of parts: class names, snake case, aliases; what a file's word or one-key map says.
#include <algorithm>

#include "base/text.h"
#include "strata/part.h"

namespace strata {

std::vector<std::string> Names::names() const {
  std::vector<std::string> all;
  for (const auto& [_, entry] : by_word_) all.push_back(entry.name);
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
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
  // A class name is the better suggestion for a capitalised word.
  std::vector<std::string> known = words();
  const bool capital = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
  std::ranges::stable_partition(known, [&](const std::string& k) { return (k[0] >= 'A' && k[0] <= 'Z') == capital; });
  mistakes.add(where, cat("there is no ", word_, " '", word, "'", did_you_mean(word, known)));
  return nullptr;
}

void Names::insert(const std::string& name, const Schema& (*schema)(), std::size_t maker) {
  const Entry entry{name, schema, maker};
  STRATA_CHECK(by_word_.emplace(name, entry).second, word_, " '", name, "' is registered twice");
  by_word_.emplace(snake_case(name), entry);
  for (const auto& alias : schema().aliases) by_word_.insert_or_assign(alias, entry);
}

void Names::insert_alias(const std::string& alias, const std::string& name, std::size_t maker) {
  const auto it = by_word_.find(name);
  STRATA_CHECK(it != by_word_.end(), "alias ", alias, " of an unknown ", word_, " ", name);
  by_word_.insert_or_assign(alias, Entry{it->second.name, it->second.schema, maker});
}

bool Names::split(const Config& config, std::string_view kind, const std::string& subject, std::string& name, Config& args, Mistakes& mistakes) {
  const std::string article = kind.find_first_of("aeiou") == 0 ? "an " : "a ";
  if (config.text()) {
    name = *config.text();
    args = Config().at(config.where);
    return true;
  }
  const auto* map = config.map();
  if (!map || map->empty()) {
    mistakes.add(config.where, cat(subject, " should be ", article, kind, ": a name, or a name with its arguments; got ", to_text(config)));
    return false;
  }
  if (map->size() > 1) {
    const auto& second = (*map)[1];
    mistakes.add(second.second.key, cat(subject, " should be one ", kind, ", but names two: '", (*map)[0].first, "' and '", second.first,
                                        "'; arguments stand indented below their ", kind));
    return false;
  }
  name = map->front().first;
  args = map->front().second;
  args.key = map->front().second.key;
  if (args.is_null() || args.where.line == 0) args.where = args.key;
  return true;
}

}  // namespace strata
