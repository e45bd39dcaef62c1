// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "strata/error.h"

namespace strata {
namespace {

// One write for the line, so that lines of threads and processes do not mix. Talk that nobody can hear is no failure.
void write_line(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string_view code(Colour colour) {
  switch (colour) {
    case Colour::red: return "31";
    case Colour::green: return "32";
    case Colour::yellow: return "33";
    case Colour::blue: return "34";
    case Colour::grey: return "90";
    case Colour::bold: return "1";
  }
  return "0";
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

}  // namespace

void note(std::string_view text) { write_line(std::string(text)); }

void warn(std::string_view text) { write_line(cat(coloured("warning:", Colour::yellow, STDERR_FILENO), ' ', text)); }

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool use_colour(int descriptor) {
  if (is_set("NO_COLOR") || !is_terminal(descriptor)) return false;
  const char* terminal = std::getenv("TERM");
  return terminal && *terminal && std::string_view(terminal) != "dumb";
}

std::string coloured(std::string_view text, Colour colour, int descriptor) {
  return use_colour(descriptor) ? cat("\x1b[", code(colour), 'm', text, "\x1b[0m") : std::string(text);
}

}  // namespace strata
