// SPDX-License-Identifier: Apache-2.0
// Numbers as files write them, and why a text is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "strata/schema.h"

namespace strata {

// A number, or none and what is wrong with the text: "a number does not begin with 0; write 10". The fault is empty
// where the text does not even resemble a number.
template <class Number> struct Numeral {
  std::optional<Number> value;
  std::string fault;
};

Numeral<double> read_numeral(std::string_view text);      // 3, -0.5, .5, 1e-3, 1_000, 1/255
Numeral<std::int64_t> read_whole(std::string_view text);  // 3, -3, 1_000, 1e6

}  // namespace strata
