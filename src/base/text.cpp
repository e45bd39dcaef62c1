// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "strata/error.h"

namespace strata {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string without_underscores(std::string_view text) {
  std::string bare = lower(text);
  std::erase(bare, '_');
  return bare;
}

// Edits between two words; a swap of neighbours counts as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string two_units(std::int64_t big, const char* big_unit, std::int64_t small, const char* small_unit) {
  return cat(big, ' ', big_unit, ' ', small < 10 ? "0" : "", small, ' ', small_unit);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    pieces.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::vector<std::string> lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  else if (text.empty()) return {};
  std::vector<std::string> all = split(text, '\n');
  for (std::string& line : all) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return all;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  STRATA_CHECK(!from.empty());
  std::string result;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(from, begin);
    result += text.substr(begin, end - begin);
    if (end == std::string_view::npos) return result;
    result += to;
    begin = end + from.size();
  }
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  return text;
}

std::string listed(std::span<const std::string> items, std::string_view last) {
  if (items.size() < 2) return items.empty() ? "" : items.front();
  return cat(join(items.first(items.size() - 1), ", "), ' ', last, ' ', items.back());
}

std::string counted(std::int64_t count, std::string_view noun) { return cat(count, ' ', noun, count == 1 ? "" : "s"); }

std::string closest(std::string_view word, std::span<const std::string> known) {
  const std::string bare = without_underscores(word);
  const std::string* best = nullptr;
  // Half a short word, a third of a long one, may be wrong.
  std::size_t limit = bare.size() <= 4 ? bare.size() / 2 : (bare.size() + 2) / 3;
  for (const std::string& candidate : known) {
    const std::string other = without_underscores(candidate);
    const std::size_t longer = std::max(bare.size(), other.size()), shorter = std::min(bare.size(), other.size());
    if (longer - shorter > limit) continue;
    const std::size_t edits = distance(bare, other);
    if (edits > limit || edits >= longer || (best && edits == limit)) continue;
    best = &candidate;
    limit = edits;
  }
  return best ? *best : std::string();
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string near = closest(word, known);
  return near.empty() ? near : cat("; did you mean '", near, "'?");
}

// Keras: strip what is no word character; an underscore before each capital that begins a lower-case run; one between a
// lower-case letter and a capital; lower case. The scan does not overlap, as Python's re.sub does not.
std::string snake_case(std::string_view name) {
  std::string stripped;
  std::copy_if(name.begin(), name.end(), std::back_inserter(stripped), is_word);
  std::string parted;
  for (std::size_t i = 0; i < stripped.size();) {
    parted += stripped[i++];
    if (i + 1 < stripped.size() && is_upper(stripped[i]) && is_lower(stripped[i + 1])) {
      parted += '_';
      parted += stripped[i++];
      while (i < stripped.size() && is_lower(stripped[i])) parted += stripped[i++];
    }
  }
  std::string result;
  for (const char c : parted) {
    if (!result.empty() && is_lower(result.back()) && is_upper(c)) result += '_';
    result += c;
  }
  return lower(result);
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return counted(static_cast<std::int64_t>(bytes), "byte");
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1023.95 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  return cat(printed("%.1f", amount), ' ', units[unit]);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e15) return cat(seconds, " s");
  if (seconds < 0.9995e-3) return cat(printed("%.0f", seconds * 1e6), " us");
  if (seconds < 0.9995) return cat(printed("%.0f", seconds * 1e3), " ms");
  if (seconds < 59.95) return cat(printed("%.1f", seconds), " s");
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return two_units(whole / 60, "min", whole % 60, "s");
  const std::int64_t minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return two_units(minutes / 60, "h", minutes % 60, "min");
  const std::int64_t hours = (minutes + 30) / 60;
  return two_units(hours / 24, "d", hours % 24, "h");
}

std::uint64_t mix64(std::uint64_t value) {
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9u;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

std::uint64_t hash64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix64(hash);
}

std::uint64_t combine64(std::uint64_t a, std::uint64_t b) { return mix64(mix64(a + 0x9e3779b97f4a7c15u) + b); }

}  // namespace strata
