// SPDX-License-Identifier: Apache-2.0
// Talk: notes and warnings on stderr, one whole line at a time from any thread. Data goes to stdout and is not here.
#pragma once

#include <string>
#include <string_view>

namespace strata {

void note(std::string_view text);  // a line of its own
void warn(std::string_view text);  // "warning: ..."

bool is_terminal(int descriptor);  // 1 is stdout, 2 is stderr

// Whether to colour what is written there: a terminal that is not dumb, and NO_COLOR is not set.
bool use_colour(int descriptor);

enum class Colour { red, green, yellow, blue, grey, bold };

// The text between the colour's codes, or plain where descriptor is not to be coloured.
std::string coloured(std::string_view text, Colour colour, int descriptor);

}  // namespace strata
