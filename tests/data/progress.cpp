// SPDX-License-Identifier: Apache-2.0
// What a person sees on a terminal and what a file gets: widths, overdrawing, figures that are no numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "strata/callbacks/progress.h"

using namespace strata;
using namespace strata::callbacks;

namespace {

class Played final : public Training {
 public:
  std::int64_t epoch() const override { return 0; }
  std::int64_t epochs() const override { return 2; }
  std::int64_t step() const override { return step_; }
  std::int64_t steps() const override { return steps_; }
  std::int64_t updates() const override { return step_; }
  const Figures& figures() const override { return figures_; }
  void log(const std::string& name, double value) override { figures_[name] = value; }
  Direction direction(const std::string&) const override { return Direction::unknown; }
  void stop(const std::string&) override {}
  double value(const std::string&) const override { return 0; }
  void set(const std::string&, double) override {}
  std::map<std::string, Tensor> weights() const override { return {}; }
  void restore(const std::map<std::string, Tensor>&) override {}
  const std::string& directory() const override { return directory_; }
  const History& history() const override { return history_; }
  bool resumed() const override { return false; }
  void save(const std::string&, bool) override {}

  std::int64_t step_ = 0, steps_ = 4;
  Figures figures_;
  History history_;
  std::string directory_;
};

// stderr as a terminal of some width, or as a pipe, while it lives.
class Stderr {
 public:
  explicit Stderr(int columns) {
    before_ = ::dup(2);
    int slave = -1;
    if (columns > 0) {
      winsize size{};
      size.ws_col = static_cast<unsigned short>(columns);
      size.ws_row = 24;
      open_ = ::openpty(&master_, &slave, nullptr, nullptr, &size) == 0;
    } else {
      int ends[2];
      open_ = ::pipe(ends) == 0;
      if (open_) master_ = ends[0], slave = ends[1];
    }
    if (!open_) return;
    ::dup2(slave, 2);
    ::close(slave);
  }
  ~Stderr() { finish(); }
  bool open() const { return open_; }
  // What was written.
  std::string finish() {
    if (before_ < 0) return text_;
    std::cerr.flush();
    if (open_) {
      ::fcntl(master_, F_SETFL, O_NONBLOCK);
      char buffer[4096];
      for (ssize_t n; (n = ::read(master_, buffer, sizeof buffer)) > 0;)
        text_.append(buffer, static_cast<std::size_t>(n));
      ::close(master_);
    }
    ::dup2(before_, 2);
    ::close(before_);
    before_ = -1;
    return text_;
  }

 private:
  int before_ = -1, master_ = -1;
  bool open_ = false;
  std::string text_;
};

void play_epoch(Played& training, ProgressBar& bar) {
  training.step_ = 0;
  bar.on_epoch_begin(training);
  for (training.step_ = 1; training.step_ <= training.steps_; ++training.step_) bar.on_step_end(training);
  training.step_ = training.steps_;
  bar.on_epoch_end(training);
}

// Lines as a terminal would end up showing them: \r goes back, ESC[K clears to the end, other escapes take no place.
std::vector<std::string> screen(const std::string& text, std::size_t& widest) {
  std::vector<std::string> lines{""};
  std::size_t at = 0;
  widest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& line = lines.back();
    if (text[i] == '\r') at = 0;
    else if (text[i] == '\n') lines.emplace_back(), at = 0;
    else if (text[i] == '\x1b') {
      const std::size_t end = text.find_first_of("Km", i);
      if (text[end] == 'K') line.resize(std::min(at, line.size()));
      i = end;
    } else {
      if (line.size() <= at) line.resize(at + 1, ' ');
      line[at++] = text[i];
      widest = std::max(widest, at);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("a terminal of any width: the bar is drawn over itself and never wraps, the epoch's line stays") {
  for (const int columns : {30, 40, 60, 80, 200}) {
    CAPTURE(columns);
    Played training;
    training.figures_ = {{"accuracy", 0.5}, {"loss", 0.25}};
    Stderr terminal(columns);
    if (!terminal.open()) return;  // no terminals here
    ProgressBar bar;               // auto: a bar, for this is a terminal
    play_epoch(training, bar);
    const std::string text = terminal.finish();
    CHECK(text.find("\r") != std::string::npos);
    std::size_t widest = 0;
    // The line that stays may wrap: nothing is drawn over it.
    (void)screen(text.substr(0, text.rfind("\r\x1b[K")), widest);
    CHECK(widest < static_cast<std::size_t>(columns));
    const auto lines = screen(text, widest);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "Epoch 1/2");
    CHECK(lines[1].starts_with("4/4 - "));
    CHECK(lines[1].ends_with(" - loss: 0.2500 - accuracy: 0.5000"));
    CHECK(lines[2].empty());
  }
}

TEST_CASE("a pipe gets one line an epoch, without escapes or carriage returns") {
  Played training;
  training.figures_ = {{"loss", 0.25}};
  Stderr pipe(0);
  REQUIRE(pipe.open());
  ProgressBar bar;
  play_epoch(training, bar);
  const std::string text = pipe.finish();
  CHECK(text.find_first_of("\r\x1b") == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.starts_with("Epoch 1/2 - 4/4 - "));
  CHECK(text.ends_with(" - loss: 0.2500\n"));
}

TEST_CASE("colours are for terminals, and not where NO_COLOR is set") {
  const char* before = std::getenv("NO_COLOR");
  const std::string kept = before ? before : "";
  for (const bool plain : {false, true}) {
    if (plain) ::setenv("NO_COLOR", "1", 1);
    else ::unsetenv("NO_COLOR");
    Played training;
    Stderr terminal(80);
    if (!terminal.open()) break;
    ProgressBar bar;
    bar.on_epoch_begin(training);
    CHECK((terminal.finish().find("\x1b[1m") == std::string::npos) == plain);
  }
  if (before) ::setenv("NO_COLOR", kept.c_str(), 1);
  else ::unsetenv("NO_COLOR");
}

TEST_CASE("a figure that is no number is nan, whatever its sign; before there are figures there are none") {
  for (const bool terminal : {false, true}) {
    Played training;
    Stderr out(terminal ? 120 : 0);
    if (!out.open()) continue;
    ProgressBar bar;
    play_epoch(training, bar);
    training.figures_ = {{"loss", -std::numeric_limits<double>::quiet_NaN()},
                         {"accuracy", std::numeric_limits<double>::quiet_NaN()},
                         {"gap", -std::numeric_limits<double>::infinity()}};
    play_epoch(training, bar);
    const std::string text = out.finish();
    CHECK(text.find("-nan") == std::string::npos);
    CHECK(text.find(" - loss: nan - accuracy: nan - gap: -inf") != std::string::npos);
    std::size_t nans = 0;
    for (std::size_t at = 0; (at = text.find("nan", at)) != std::string::npos; ++at) ++nans;
    CHECK(nans % 2 == 0);  // none but where both figures are
  }
}

TEST_CASE("an epoch without steps, or of which a part was done before, has a pace and no nan") {
  for (const auto& [first, steps] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {3, 4}, {4, 4}}) {
    Played training;
    training.steps_ = steps;
    Stderr pipe(0);
    ProgressBar bar{.verbose = "bar"};
    training.step_ = first;
    bar.on_epoch_begin(training);
    for (training.step_ = first + 1; training.step_ <= steps; ++training.step_) bar.on_step_end(training);
    training.step_ = steps;
    bar.on_step_end(training);  // with no step of its own
    bar.on_epoch_end(training);
    const std::string text = pipe.finish();
    CHECK(text.find("nan") == std::string::npos);
    CHECK(text.find("inf") == std::string::npos);
    CHECK(text.find("/step") != std::string::npos);
  }
}
