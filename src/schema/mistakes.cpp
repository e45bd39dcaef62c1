// SPDX-License-Identifier: Apache-2.0
// Mistakes gathered over a file, and told in its order with the lines they stand in.
#include <algorithm>
#include <fstream>
#include <tuple>

#include "base/text.h"
#include "schema/excerpt.h"
#include "strata/schema.h"

namespace strata {
namespace {

constexpr std::size_t most_shown = 30;
constexpr std::size_t widest = 110;  // characters of a source line that are shown

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The bytes of the first `count` characters of a line.
std::size_t bytes_of(std::string_view line, std::size_t count) {
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    if (!continues_character(line[at]) && count-- == 0) break;
  }
  return at;
}

std::string line_with_caret(std::string line, int number, int column) {
  if (column < 1) return "";
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  auto before = static_cast<std::size_t>(column) - 1;
  std::string lead;
  if (before >= widest) {  // a long line is shown from shortly before the caret
    const std::size_t skipped = before - widest / 2;
    line.erase(0, bytes_of(line, skipped));
    before -= skipped;
    lead = "…";
  }
  if (const std::size_t end = bytes_of(line, widest); end < line.size()) line = line.substr(0, end) + "…";
  const std::string number_text = to_text(std::int64_t{number});
  return cat("\n  ", number_text, " | ", lead, line, "\n  ", std::string(number_text.size(), ' '), " | ",
             std::string(before + (lead.empty() ? 0 : 1), ' '), "^");
}

}  // namespace

std::string excerpt_of(std::string_view text, int line, int column) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  std::string_view whole = text.substr(0, text.find('\n'));
  if (whole.ends_with('\r')) whole.remove_suffix(1);
  return line < 1 ? "" : line_with_caret(std::string(whole), line, column);
}

std::string excerpt(const Where& where) {
  if (where.file.empty() || where.line < 1) return "";
  std::ifstream in(where.file);  // a folder, or a file that is gone, gives no line
  std::string line;
  for (int i = 0; i < where.line; ++i) {
    if (!std::getline(in, line)) return "";
  }
  if (line.ends_with('\r')) line.pop_back();
  return line_with_caret(std::move(line), where.line, where.column);
}

void Mistakes::add(const Where& where, const std::string& message) { entries_.push_back({where, message}); }

void Mistakes::raise() const {
  if (entries_.empty()) return;
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries_) sorted.push_back(&entry);
  const auto order = [](const Entry* entry) {
    return std::tie(entry->where.file, entry->where.line, entry->where.column);
  };
  std::ranges::stable_sort(sorted, {}, order);
  const auto same = [&](const Entry* a, const Entry* b) { return order(a) == order(b) && a->text == b->text; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_shown); ++i) {
    if (i > 0) text += "\n";
    text += locate(sorted[i]->where) + sorted[i]->text + excerpt(sorted[i]->where);
  }
  if (sorted.size() > most_shown)
    text += cat("\nand ", counted(static_cast<std::int64_t>(sorted.size() - most_shown), "further mistake"));
  throw Error(text);
}

}  // namespace strata
