// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "support/temporary.h"

namespace strata {
namespace {

// What is written to stderr meanwhile.
template <class Talk> std::string stderr_of(Talk talk) {
  const test::TemporaryFolder folder;
  const int before = ::dup(STDERR_FILENO);
  const int file = ::open((folder / "err").c_str(), O_RDWR | O_CREAT, 0600);
  ::dup2(file, STDERR_FILENO);
  talk();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(file);
  return read_file(folder / "err");
}

TEST_CASE("notes and warnings are whole lines on stderr, plain where it is no terminal") {
  CHECK(stderr_of([] {
          note("resumed at step 400");
          warn("no GPU found");
        }) == "resumed at step 400\nwarning: no GPU found\n");
}

TEST_CASE("a file is no terminal, a pseudo terminal is one, and NO_COLOR is honoured") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  CHECK(is_terminal(terminal));
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  CHECK(use_colour(terminal));
  CHECK(coloured("x", Colour::red, terminal) == "\x1b[31mx\x1b[0m");
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(use_colour(terminal));
  CHECK(coloured("x", Colour::red, terminal) == "x");
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(use_colour(terminal));
  ::close(terminal);
  CHECK_FALSE(is_terminal(terminal));
}

}  // namespace
}  // namespace strata
