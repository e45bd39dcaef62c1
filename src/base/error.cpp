// SPDX-License-Identifier: Apache-2.0
#include "strata/error.h"

#include <charconv>
#include <cmath>

namespace strata {
namespace {

template <class Number> std::string digits(Number value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

}  // namespace

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(std::int64_t value) { return digits(value); }
std::string to_text(std::uint64_t value) { return digits(value); }

std::string to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return digits(value);
}

std::string join(std::initializer_list<Piece> pieces) {
  std::size_t size = 0;
  for (const Piece& piece : pieces) size += piece.text().size();
  std::string text;
  text.reserve(size);
  for (const Piece& piece : pieces) text += piece.text();
  return text;
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(cat(file, ":", line, ": this is a bug in strata: ", condition, " does not hold",
                          message.empty() ? "" : ": ", message));
}

}  // namespace strata
