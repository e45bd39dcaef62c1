// SPDX-License-Identifier: Apache-2.0
// Signals that ask a run to stop: seen at the next step's edge, where state can be saved.
#pragma once

namespace strata {

// Catches SIGTERM, SIGINT and SIGUSR1 while one lives. The first is remembered; a second one, of any of the three, ends
// the process at once, by that signal. Two that live at once share what was caught; a first one starts with nothing.
//
// The program around us keeps its say: a signal it ignores (nohup) stays ignored, a handler it has is called as well, and
// then that handler alone decides what the second signal does. All is given back at the end, where nothing else was
// installed over it since; a handler that was, and calls ours, then reaches the program's own through it.
//
// System calls that are interrupted go on (SA_RESTART). Made and destroyed on any thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int caught() const noexcept;  // the first signal, or 0; from any thread
};

// For a program's main: a file that grows over its limit is then a write that fails (EFBIG), with its own message.
void ignore_file_size_signal();

}  // namespace strata
