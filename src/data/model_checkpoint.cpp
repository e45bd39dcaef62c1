// SPDX-License-Identifier: Apache-2.0
#include "strata/callbacks/model_checkpoint.h"

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/text.h"

namespace strata::callbacks {

namespace {

Rule epoch_or_count() {
  Rule rule;
  rule.text = "'epoch' or a number of batches";
  rule.holds = [](const Config& value) {
    const std::string text = value.text() ? *value.text() : to_text(value);
    const auto number = read_integer(text);
    return text == "epoch" || (number && *number > 0);
  };
  return rule;
}

Rule weights_or_run() {
  Rule rule;
  rule.text = "a name that ends in .h5";
  rule.holds = [](const Config& value) { return value.text() && value.text()->ends_with(".h5"); };
  return rule;
}

}  // namespace

Schema ModelCheckpoint::schema() {
  return Schema("ModelCheckpoint", "Saves the model at each epoch's end or every so many batches.")
      .arg("filepath", &ModelCheckpoint::filepath,
           "The file; {epoch:02d}, {batch} and figures such as {val_loss:.2f} are put in. With save_weights_only it "
           "must end "
           "in .weights.h5.",
           weights_or_run())
      .arg("monitor", &ModelCheckpoint::monitor, "The figure.")
      .arg("verbose", &ModelCheckpoint::verbose, "1: say when a file is written.", between(0, 1))
      .arg("save_best_only", &ModelCheckpoint::save_best_only,
           "Whether to save only when the figure is better than ever.")
      .arg("save_weights_only", &ModelCheckpoint::save_weights_only,
           "Whether to save the weights alone, or all that going on needs.")
      .arg("mode", &ModelCheckpoint::mode, "Which way is better.", one_of({"auto", "min", "max"}))
      .arg("save_freq", &ModelCheckpoint::save_freq, "When: at each epoch's end, or after so many batches.",
           epoch_or_count())
      .arg("initial_value_threshold", &ModelCheckpoint::initial_value_threshold,
           "A value that the first saved one must be better than.")
      .keeps("best", &ModelCheckpoint::best)
      .keeps("batches", &ModelCheckpoint::batches)
      .example(+[] {
        return ModelCheckpoint{.filepath = "best.weights.h5", .save_best_only = true, .save_weights_only = true};
      })
      .example(+[] {
        return ModelCheckpoint{.filepath = "better.h5",
                               .monitor = "val_accuracy",
                               .verbose = 1,
                               .save_best_only = true,
                               .mode = "max",
                               .initial_value_threshold = 0.1};
      })
      .example(+[] { return ModelCheckpoint{.filepath = "model-{epoch:03d}.h5", .save_freq = "500"}; });
}

void ModelCheckpoint::on_fit_begin(Training& t) {
  if (save_weights_only && !filepath.ends_with(".weights.h5"))
    throw Error(cat("ModelCheckpoint: filepath '", filepath, "' must end in .weights.h5 with save_weights_only"));
  if (t.resumed()) return;
  best = initial_value_threshold;
  batches = 0;
}

void ModelCheckpoint::on_step_end(Training& t) {
  const auto every = read_integer(save_freq);
  if (every && ++batches % *every == 0) save(t);
}

void ModelCheckpoint::on_epoch_end(Training& t) {
  if (save_freq == "epoch") save(t);
}

void ModelCheckpoint::save(Training& t) {
  if (save_best_only) {
    const Monitor watched{monitor, mode, 0};
    const auto value = watched.read(t);
    if (!value || (best && !watched.better(t, *value, *best))) return;
    best = *value;
  }
  const std::string file = filled_in(filepath, t.epoch() + 1, t.step(), t.figures());
  if (verbose) note(cat("ModelCheckpoint: epoch ", t.epoch() + 1, " goes to ", file));
  t.save(file, save_weights_only);
}

Schema BackupAndRestore::schema() {
  return Schema("BackupAndRestore", "Saves the whole training, and goes on from it when the program is started again.")
      .arg("backup_dir", &BackupAndRestore::backup_dir, "Where.", not_empty())
      .arg("save_freq", &BackupAndRestore::save_freq, "When: at each epoch's end, or after so many batches.",
           epoch_or_count())
      .arg("double_checkpoint", &BackupAndRestore::double_checkpoint, "Whether the last but one stays, too.")
      .arg("delete_checkpoint", &BackupAndRestore::delete_checkpoint, "Whether nothing stays when training has ended.")
      .example(+[] { return BackupAndRestore{.backup_dir = "backup"}; })
      .example(+[] {
        return BackupAndRestore{
            .backup_dir = "backup", .save_freq = "2", .double_checkpoint = true, .delete_checkpoint = false};
      });
}

std::string filled_in(const std::string& pattern, std::int64_t epoch, std::int64_t batch, const Figures& figures) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size();) {
    if (pattern[i] != '{') {
      text += pattern[i++];
      continue;
    }
    const std::size_t end = pattern.find('}', i);
    if (end == std::string::npos) throw Error(cat("'", pattern, "': a '{' is never closed"));
    const std::string inside = pattern.substr(i + 1, end - i - 1);
    const std::string name = inside.substr(0, inside.find(':'));
    const std::string format = inside.size() > name.size() ? inside.substr(name.size() + 1) : "";
    i = end + 1;
    double value = 0;
    const bool whole = name == "epoch" || name == "batch";
    if (whole) {
      value = static_cast<double>(name == "epoch" ? epoch : batch);
    } else if (const auto it = figures.find(name); it != figures.end()) {
      value = it->second;
    } else {
      std::vector<std::string> known{"epoch", "batch"};
      for (const auto& [figure, _] : figures) known.push_back(figure);
      throw Error(cat("'", pattern, "': there is no figure '", name, "'", did_you_mean(name, known), "; there are ",
                      listed(known)));
    }
    // [0][width][.precision][d, f, e, g]
    const std::string digits = "0123456789";
    std::size_t at = format.find_first_not_of(digits);
    std::string spec = "%" + format.substr(0, at);
    std::string rest = at == std::string::npos ? "" : format.substr(at);
    if (rest.starts_with('.')) {
      at = rest.find_first_not_of(digits, 1);
      spec += rest.substr(0, at);
      rest = at == std::string::npos ? "" : rest.substr(at);
    }
    const bool known = spec.size() <= 8 &&
                       (rest.empty() || (rest.size() == 1 && std::string("dfeg").find(rest[0]) != std::string::npos));
    if (!known)
      throw Error(cat("'", pattern, "': the format '", format, "' is not understood; write {", name, ":02d} or {", name,
                      ":.2f}"));
    char shown[400];
    if (rest == "d" || (rest.empty() && whole))
      std::snprintf(shown, sizeof shown, (spec + "lld").c_str(), static_cast<long long>(value));
    else if (format.empty()) std::snprintf(shown, sizeof shown, "%s", to_text(value).c_str());
    else std::snprintf(shown, sizeof shown, (spec + (rest.empty() ? "g" : rest)).c_str(), value);
    text += shown;
  }
  return text;
}

void register_model_checkpoint(Registry<Callback>& r) {
  r.add<ModelCheckpoint>();
  r.add<BackupAndRestore>();
}

}  // namespace strata::callbacks
