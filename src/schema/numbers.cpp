// SPDX-License-Identifier: Apache-2.0
// One grammar for numbers everywhere. What some readers take for something else (010, 0x10) is refused, not guessed.
#include "schema/numbers.h"

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "strata/error.h"

namespace strata {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The length of digits at the front, single underscores between them allowed.
std::size_t digits_at(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && (is_digit(text[i]) || (text[i] == '_' && i > 0 && is_digit(text[i - 1]) &&
                                                   i + 1 < text.size() && is_digit(text[i + 1]))))
    ++i;
  return i;
}

// A decimal number split as it stands; `rest` is what is left over.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction, exponent;  // digits; the exponent with its sign
  bool pointed = false;
  std::string_view rest;
};

Decimal decimal(std::string_view text) {
  Decimal d;
  const auto take = [&](std::size_t count) {
    const std::string_view taken = text.substr(0, count);
    text.remove_prefix(count);
    return taken;
  };
  if (text.starts_with('-') || text.starts_with('+')) d.negative = take(1) == "-";
  d.whole = take(digits_at(text));
  if (text.starts_with('.')) {
    take(1);
    d.pointed = true;
    d.fraction = take(digits_at(text));
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    const std::size_t sign = text.size() > 1 && (text[1] == '-' || text[1] == '+') ? 1 : 0;
    const std::size_t count = digits_at(text.substr(1 + sign));
    if (count > 0) d.exponent = take(1 + sign + count).substr(1);
  }
  d.rest = text;
  return d;
}

bool is_not_finite(std::string_view text) {
  std::string word = lower(text);
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  if (word.starts_with('.')) word.erase(0, 1);
  return word == "nan" || word == "inf" || word == "infinity";
}

std::string without_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return std::string(digits);
}

// What is wrong with the text as a decimal number; "" when nothing is or it does not resemble one.
std::string fault_of(std::string_view text, const Decimal& d) {
  if (is_not_finite(text)) return "a number must be finite";
  if (d.whole.empty() && d.fraction.empty()) return "";
  if (d.whole == "0" && !d.pointed && !d.rest.empty() &&
      std::string_view("xXbBoO").find(d.rest[0]) != std::string_view::npos && d.rest.size() > 1) {
    return "only decimal numbers are read";
  }
  if (!d.rest.empty()) {
    if (d.rest[0] == ',') return "a number has a point, not a comma";
    if (d.rest[0] == '_') return "'_' stands between two digits only";
    return is_letter(d.rest[0]) || d.rest[0] == '%' ? cat("'", d.rest, "' is no part of a number") : "";
  }
  if (d.whole.size() > 1 && d.whole[0] == '0')
    return cat("a number does not begin with 0; write ", d.negative ? "-" : "", without_zeros(d.whole),
               d.pointed ? cat(".", d.fraction) : "");
  return "";
}

bool is_decimal(const Decimal& d) {
  return d.rest.empty() && !(d.whole.empty() && d.fraction.empty()) && !(d.whole.size() > 1 && d.whole[0] == '0');
}

Numeral<double> read_decimal(std::string_view text) {
  const Decimal d = decimal(text);
  if (!is_decimal(d)) return {{}, fault_of(text, d)};
  std::string digits = replace_all(text, "_", "");
  if (digits[0] == '+') digits.erase(0, 1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return {{}, "it does not fit a 64-bit float"};
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return {value, ""};
}

}  // namespace

Numeral<double> read_numeral(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return read_decimal(text);
  const Numeral<double> above = read_decimal(trim(text.substr(0, slash))),
                        below = read_decimal(trim(text.substr(slash + 1)));
  if (!above.value) return above;
  if (!below.value) return below;
  if (*below.value == 0) return {{}, "it divides by 0"};
  const double value = *above.value / *below.value;
  if (!std::isfinite(value)) return {{}, "it does not fit a 64-bit float"};
  return {value, ""};
}

Numeral<std::int64_t> read_whole(std::string_view text) {
  if (text.find('/') != std::string_view::npos) {
    const Numeral<double> number = read_numeral(text);
    if (!number.value) return {{}, number.fault};
    return {{},
            *number.value == std::floor(*number.value) && std::abs(*number.value) < 1e15 ? cat("write ", *number.value)
                                                                                         : "it is a fraction"};
  }
  const Decimal d = decimal(text);
  if (!is_decimal(d)) return {{}, fault_of(text, d)};
  if (!d.pointed && d.exponent.empty()) {
    std::string digits = replace_all(text, "_", "");
    if (digits[0] == '+') digits.erase(0, 1);
    std::int64_t value = 0;
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
    if (error != std::errc()) return {{}, "it does not fit 64 bits"};
    return {value, ""};
  }
  const Numeral<double> number = read_decimal(text);
  if (!number.value) return {{}, number.fault};
  if (std::abs(*number.value) > 0x1p53) return {{}, "write it with all its digits"};
  if (*number.value != std::floor(*number.value)) return {{}, "it is a fraction"};
  const auto value = static_cast<std::int64_t>(*number.value);
  if (d.exponent.empty()) return {{}, cat("write ", value)};  // 5.0: whoever wrote the point thought of something else
  return {value, ""};
}

std::optional<double> read_number(std::string_view text) { return read_numeral(text).value; }
std::optional<std::int64_t> read_integer(std::string_view text) { return read_whole(text).value; }

}  // namespace strata
