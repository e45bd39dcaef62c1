// SPDX-License-Identifier: Apache-2.0
// Small work on text: splitting, listing, Keras's snake case, the nearest known word, amounts in words, a stable hash.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

// The pieces between separators, empty ones too: split("a,,b", ',') is {"a", "", "b"}; split("", ',') is {""}.
std::vector<std::string> split(std::string_view text, char separator);

// The lines without their ends ("\n" or "\r\n"); a last line without an end counts, an empty one after it does not.
std::vector<std::string> lines(std::string_view text);

// Without the blanks (space, tab, line ends) at both ends.
std::string_view trim(std::string_view text);

std::string lower(std::string_view text);  // ASCII only
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// "a, b, c" with separator ", ".
std::string join(std::span<const std::string> items, std::string_view separator);

// As a sentence lists them: "a", "a and b", "a, b and c"; nothing for no items.
std::string listed(std::span<const std::string> items, std::string_view last = "and");

// "1 step", "2 steps".
std::string counted(std::int64_t count, std::string_view noun);

// The known word nearest to a misspelt one by insertions, deletions, substitutions and swaps of neighbours, case and
// underscores aside; empty when none is near. The earlier of equals wins.
std::string closest(std::string_view word, std::span<const std::string> known);

// "; did you mean 'units'?", or nothing when no known word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

// A class name as Keras writes it in files and default names: Conv2D -> conv2d, PReLU -> p_re_lu.
std::string snake_case(std::string_view name);

std::string bytes_text(std::uint64_t bytes);  // "512 bytes", "1.5 KiB", "6.2 GiB"
std::string duration_text(double seconds);    // "85 us", "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min", "1 d 04 h"

// Stable for ever and everywhere: streams of random numbers and fingerprints are made of them.
std::uint64_t mix64(std::uint64_t value);                   // a bijection that spreads every bit
std::uint64_t hash64(std::string_view text);                // FNV-1a, mixed
std::uint64_t combine64(std::uint64_t a, std::uint64_t b);  // depends on the order

}  // namespace strata
