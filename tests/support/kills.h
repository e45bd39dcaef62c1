// SPDX-License-Identifier: Apache-2.0
// The program killed at random moments while it saves after every step, and started again until it has ended.
#pragma once

namespace strata::test {

struct Kills {
  int kills = 0, in_saves = 0;  // those that left a half-written file
  int runs_ended = 0;           // each is CHECKed against the run that was never killed
};
Kills kill_and_go_on(int kills);

// Two are started together in one folder, so often: CHECKs that one trains and leaves what a lone one does, and that the
// other is refused with the first one's name.
void race(int times);

}  // namespace strata::test
