// SPDX-License-Identifier: Apache-2.0
// strata inspect: what a file holds, and how two differ.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "model/checkpoint.h"
#include "schema/yaml.h"
#include "verbs/look.h"

namespace strata::verbs {

namespace {

// A dataset's name in the listing: the state it holds, or its own path.
std::map<std::string, std::string> names_in(const Hdf5Reader& in) {
  std::map<std::string, std::string> names;
  for (const auto& dataset : in.datasets_under(""))
    names[in.has_attribute(dataset, "path") ? in.attribute(dataset, "path") : dataset] = dataset;
  return names;
}

bool is_record(const std::string& dataset) {
  const auto texts = {"strata/record", "strata/history", "strata/callbacks", "strata/config"};
  return std::any_of(texts.begin(), texts.end(), [&](const char* text) { return dataset.ends_with(text); });
}

std::string state_text(const std::string& file) {
  FileBlock block;
  std::string why;
  switch (check_file(file, &block, &why)) {
    case FileState::whole: return cat("whole: ", bytes_text(block.length), ", digest ", block.digest);
    case FileState::damaged: return "DAMAGED: " + why;
    case FileState::foreign: return "not of strata: no digest to check";
  }
  return "";
}

std::string figures_text(const std::map<std::string, double>& figures) {
  std::string text;
  for (const auto& [name, value] : figures) text += cat(text.empty() ? "" : ", ", name, " ", value);
  return text;
}

void show(const std::string& file, std::ostream& out) {
  const std::string state = state_text(file);
  out << file << "\n  " << state << "\n";
  const Hdf5Reader in(file);
  if (state.starts_with("whole") && in.has("strata/record")) {
    const Snapshot snapshot = read_checkpoint(file);
    const auto& place = snapshot.record.place;
    out << cat("  step ", place.batches, ", epoch ", place.epoch + 1, " (", place.step, " steps done), ",
               counted(snapshot.record.rows, "row"), ", seed ", snapshot.record.seed, "\n");
    if (!place.stop.empty()) out << "  ended: " << place.stop << "\n";
    if (!snapshot.record.figures.empty()) out << "  figures: " << figures_text(snapshot.record.figures) << "\n";
    if (snapshot.record.best.epoch >= 0)
      out << cat("  best: ", snapshot.record.best.figure, " ", snapshot.record.best.value, " in epoch ",
                 snapshot.record.best.epoch + 1, "\n");
    out << "  made with: " << snapshot.record.signature << "\n";
    out << "  callbacks: " << to_text(snapshot.callbacks) << "\n";
  }
  std::uint64_t bytes = 0;
  std::size_t widest = 0;
  const auto names = names_in(in);
  for (const auto& [name, _] : names) widest = std::max(widest, name.size());
  for (const auto& [name, dataset] : names) {
    if (is_record(dataset)) continue;
    const Type type = in.type(dataset);
    bytes += type.bytes();
    out << "  " << name << std::string(widest - name.size() + 2, ' ') << to_text(type) << "\n";
  }
  out << "  " << counted(static_cast<std::int64_t>(names.size()), "dataset") << ", " << bytes_text(bytes) << "\n";
}

// Whether they are equal.
bool compare(const std::string& one, const std::string& other, std::ostream& out) {
  const Hdf5Reader a(one), b(other);
  const auto in_a = names_in(a), in_b = names_in(b);
  bool equal = true;
  auto differ = [&](const std::string& name, const std::string& how) {
    equal = false;
    out << "  " << name << ": " << how << "\n";
  };
  for (const auto& [name, dataset] : in_a) {
    const auto it = in_b.find(name);
    if (it == in_b.end()) {
      differ(name, "only in " + one);
      continue;
    }
    if (is_record(dataset)) {
      if (a.text(dataset) != b.text(it->second)) differ(name, "differs");
      continue;
    }
    const Type type = a.type(dataset), type_b = b.type(it->second);
    if (type != type_b) {
      differ(name, cat(type, " and ", type_b));
      continue;
    }
    const auto x = a.read(dataset).to_doubles(), y = b.read(it->second).to_doubles();
    std::size_t count = 0;
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))) {
        ++count;
        most = std::max(most, std::abs(x[i] - y[i]));
      }
    if (count) differ(name, cat(count, " of ", x.size(), " differ, by up to ", most));
  }
  for (const auto& [name, _] : in_b)
    if (in_a.count(name) == 0) differ(name, "only in " + other);
  if (equal) out << "  equal\n";
  return equal;
}

}  // namespace

int Inspect::run(std::ostream& out) const {
  if (config) {
    out << write_yaml(read_checkpoint(file).config);
    return 0;
  }
  if (other.empty()) {
    show(file, out);
    return 0;
  }
  out << file << "\n" << other << "\n";
  return compare(file, other, out) ? 0 : 1;
}

}  // namespace strata::verbs
