// SPDX-License-Identifier: Apache-2.0
#include "base/lock_holder.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "strata/error.h"

namespace strata {
namespace {

TEST_CASE("a process has ended when its number is free, used again, or from before the machine's start") {
  const LockHolder me = this_process();
  const auto changed = [&](std::string LockHolder::*field, std::string value) {
    LockHolder other = me;
    other.*field = std::move(value);
    return other;
  };
  CHECK_FALSE(me.gone());
  CHECK(changed(&LockHolder::started, cat(me.started, "0")).gone());
  CHECK(changed(&LockHolder::boot, "another").gone());
  CHECK_FALSE(changed(&LockHolder::machine, "1").gone());
  LockHolder free = me;
  free.pid = 0x7ffffff0;  // above what Linux gives
  CHECK(free.gone());
  LockHolder first = me;  // another user's process
  first.pid = 1;
  CHECK(first.gone());
}

TEST_CASE("only a whole text names a holder") {
  const std::string text = lock_text(this_process());
  REQUIRE(lock_holder(text));
  CHECK(lock_text(*lock_holder(text)) == text);
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(lock_holder(text.substr(0, size)));
  CHECK_FALSE(lock_holder(text + "more\n"));
  for (const char* pid : {"pid 0", "pid -1", "pid x", "pid 1x", "pid 99999999999"}) {
    CHECK_FALSE(lock_holder(pid + text.substr(text.find('\n'))));
  }
}

}  // namespace
}  // namespace strata
