// SPDX-License-Identifier: Apache-2.0
// The bar and the lines that a person watches.
#include "strata/callbacks/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "base/log.h"
#include "base/text.h"

namespace strata::callbacks {

namespace {

constexpr double bar_interval = 0.1, line_interval = 10;  // seconds

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Four digits after the point, as Keras; in powers of ten where they would say nothing.
std::string four_digits(double value) {
  if (std::isnan(value)) return "nan";  // printf would show its sign
  char text[32];
  const bool plain = value == 0 || (std::abs(value) >= 1e-3 && std::abs(value) < 1e4);
  std::snprintf(text, sizeof text, plain ? "%.4f" : "%.3e", value);
  return text;
}

// Losses first, then by name, training before validation.
std::string figures_text(const Figures& figures) {
  std::string text;
  for (const bool validation : {false, true})
    for (const bool loss : {true, false})
      for (const auto& [name, value] : figures)
        if (name.starts_with("val_") == validation && (name == "loss" || name == "val_loss") == loss)
          text += cat(" - ", name, ": ", four_digits(value));
  return text;
}

bool draws_bar(const ProgressBar& bar) { return bar.verbose == "bar" || (bar.verbose == "auto" && is_terminal(2)); }

std::size_t terminal_width() {
  winsize size{};
  return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string epoch_text(const Training& t) { return cat("Epoch ", t.epoch() + 1, "/", t.epochs()); }

// How far, how fast and for how long still. A run may go on in the middle of an epoch: only its own steps took time.
std::string pace_text(const ProgressBar& bar, const Training& t, double time) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, t.step() - bar.first_step));
  const double each = (time - bar.epoch_began) / steps, left = each * static_cast<double>(t.steps() - t.step());
  return cat(duration_text(std::max(0.0, left)), " left, ", duration_text(each), "/step");
}

}  // namespace

void ProgressBar::on_fit_begin(Training& t) {
  if (t.resumed() && t.step() > 0) on_epoch_begin(t);  // its epoch had begun
}

void ProgressBar::on_epoch_begin(Training& t) {
  epoch_began = shown = now();
  first_step = t.step();
  if (verbose != "none" && draws_bar(*this)) std::cerr << coloured(epoch_text(t), Colour::bold, 2) + "\n";
}

void ProgressBar::on_step_end(Training& t) {
  if (verbose == "none") return;
  const double time = now();
  const bool bar = draws_bar(*this);
  // The epoch's first and last step always show on the bar.
  const bool due = time - shown >= (bar ? bar_interval : line_interval);
  if (!due && !(bar && (t.step() >= t.steps() || t.step() == first_step + 1))) return;
  shown = time;
  const std::string place = cat(t.step(), "/", t.steps());
  if (!bar) {
    std::cerr << cat(epoch_text(t), " - ", place, " - ", pace_text(*this, t, time), figures_text(t.figures()), "\n");
    return;
  }
  const std::int64_t cells = 24, done = cells * t.step() / std::max<std::int64_t>(1, t.steps());
  std::string line = place + " ";
  for (std::int64_t i = 0; i < cells; ++i) line += i < done ? '=' : i == done ? '>' : '.';
  line += " " + pace_text(*this, t, time) + figures_text(t.figures());
  // A line that wraps could not be drawn over.
  if (const std::size_t most = terminal_width() - 1; line.size() > most) line.resize(most);
  std::cerr << "\r" + line + "\x1b[K";
}

void ProgressBar::on_epoch_end(Training& t) {
  if (verbose == "none") return;
  const std::string line =
      cat(t.step(), "/", t.steps(), " - ", duration_text(now() - epoch_began), figures_text(t.figures()), "\n");
  std::cerr << (draws_bar(*this) ? "\r\x1b[K" + line : cat(epoch_text(t), " - ", line));
}

void TerminateOnNaN::on_step_end(Training& t) {
  const auto it = t.figures().find("loss");
  if (it != t.figures().end() && !std::isfinite(it->second))
    throw RunFailed(cat("loss is ", it->second, " at step ", t.step(), " of epoch ", t.epoch() + 1,
                        "; a smaller learning_rate, or clipnorm, usually cures this"));
}

}  // namespace strata::callbacks
