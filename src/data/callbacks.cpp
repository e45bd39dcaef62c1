// SPDX-License-Identifier: Apache-2.0
// History, monitors, and the bodies of callbacks that write.
#include "strata/callback.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "strata/callbacks/csv_logger.h"
#include "strata/callbacks/progress.h"

namespace strata {

const std::vector<double>& History::operator[](const std::string& name) const {
  if (const auto it = figures.find(name); it != figures.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [figure, _] : figures) known.push_back(figure);
  throw Error(cat("the history has no figure '", name, "'", did_you_mean(name, known), "; it has ", listed(known)));
}

namespace {

bool wants_more(const Monitor& monitor, const Training& training) {
  if (monitor.mode != "auto") return monitor.mode == "max";
  switch (training.direction(monitor.figure)) {
    case Direction::up: return true;
    case Direction::down: return false;
    default:
      throw Error(
          cat("whether more or less of '", monitor.figure, "' is better cannot be known; set mode to min or max"));
  }
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool Monitor::better(const Training& training, double value, double best) const {
  if (std::isnan(value)) return false;
  return wants_more(*this, training) ? value > best + min_delta : value < best - min_delta;
}

double Monitor::worst(const Training& training) const {
  const double infinite = std::numeric_limits<double>::infinity();
  return wants_more(*this, training) ? -infinite : infinite;
}

Optional<double> Monitor::read(const Training& training) const {
  const Figures& figures = training.figures();
  if (const auto it = figures.find(figure); it != figures.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [name, _] : figures) known.push_back(name);
  warn(cat("there is no figure '", figure, "' to monitor in epoch ", training.epoch() + 1, "; there are ",
           listed(known)));
  return {};
}

namespace callbacks {

std::string CSVLogger::path(const Training& t) const {
  if (!filename.empty()) return filename;
  return (std::filesystem::path(t.directory()) / "log.csv").string();
}

void CSVLogger::on_fit_begin(Training& t) {
  const std::string file = path(t);
  if (append && std::filesystem::exists(file)) {
    std::ifstream in(file);
    std::string head;
    std::getline(in, head);
    columns = split(head, separator[0]);
    if (!columns.empty()) columns.erase(columns.begin());
    return;
  }
  columns.clear();
  if (!std::ofstream(file, std::ios::trunc)) throw Error(cat(file, ": cannot be written"));
}

void CSVLogger::on_epoch_end(Training& t) {
  std::ofstream out(path(t), std::ios::app);
  if (columns.empty()) {
    bool validated = false;
    for (const auto& [name, _] : t.figures()) {
      columns.push_back(name);
      validated = validated || name.starts_with("val_");
    }
    if (!validated)
      for (std::size_t i = 0, n = columns.size(); i < n; ++i) columns.push_back("val_" + columns[i]);
    out << "epoch";
    for (const auto& column : columns) out << separator << column;
    out << "\n";
  }
  out << t.epoch();
  for (const auto& column : columns) {
    const auto it = t.figures().find(column);
    out << separator << (it == t.figures().end() ? "NA" : to_text(it->second));
  }
  out << "\n";
  out.flush();
  if (!out) throw RunFailed(cat(path(t), ": cannot be written"));
}

namespace {

std::string four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) >= 1e-3 && std::abs(value) < 1e4 ? "%.4f" : "%.3e", value);
  return text;
}

std::string figures_text(const Figures& figures) {
  std::string text;
  // Losses first, then by name, training before validation.
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

}  // namespace

void ProgressBar::on_epoch_begin(Training& t) {
  epoch_began = now();
  drawn = 0;
  if (verbose != "none" && draws_bar(*this)) std::cerr << "Epoch " << t.epoch() + 1 << "/" << t.epochs() << "\n";
}

void ProgressBar::on_step_end(Training& t) {
  if (verbose == "none" || !draws_bar(*this)) return;
  const double time = now();
  if (time - drawn < 0.1 && t.step() < t.steps()) return;
  drawn = time;
  const double elapsed = time - epoch_began, each = elapsed / static_cast<double>(std::max<std::int64_t>(1, t.step()));
  const int cells = 24, done = static_cast<int>(cells * t.step() / std::max<std::int64_t>(1, t.steps()));
  std::string line = cat(t.step(), "/", t.steps(), " ");
  for (int i = 0; i < cells; ++i) line += i < done ? '=' : i == done ? '>' : '.';
  line += cat(" ", duration_text(each * static_cast<double>(t.steps() - t.step())), " left, ", duration_text(each),
              "/step", figures_text(t.figures()));
  const std::size_t most = terminal_width() - 1;
  if (line.size() > most) line.resize(most);
  std::cerr << "\r" << line << "\x1b[K" << std::flush;
}

void ProgressBar::on_epoch_end(Training& t) {
  if (verbose == "none") return;
  const double elapsed = now() - epoch_began;
  const std::string line = cat(t.steps(), "/", t.steps(), " - ", duration_text(elapsed), figures_text(t.figures()));
  if (draws_bar(*this)) std::cerr << "\r" << line << "\x1b[K\n" << std::flush;
  else std::cerr << "Epoch " << t.epoch() + 1 << "/" << t.epochs() << " - " << line << "\n";
}

void TerminateOnNaN::on_step_end(Training& t) {
  const auto it = t.figures().find("loss");
  if (it != t.figures().end() && !std::isfinite(it->second))
    throw RunFailed(cat("loss is ", it->second, " at step ", t.step(), " of epoch ", t.epoch() + 1));
}

}  // namespace callbacks

}  // namespace strata
