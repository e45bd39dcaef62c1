// SPDX-License-Identifier: Apache-2.0
// A table of the figures, one row an epoch.
#pragma once

#include "strata/callback.h"

namespace strata::callbacks {

struct CSVLogger {
  std::string filename = {};
  std::string separator = ",";
  bool append = false;
  // What it remembers over a stop: that the table was begun.
  std::vector<std::string> columns = {};

  static Schema schema() {
    Rule one_character;
    one_character.text = "one character";
    one_character.holds = [](const Config& value) { return !value.text() || value.text()->size() == 1; };
    return Schema("CSVLogger",
                  "Writes each epoch's figures as a row: epoch (from 0), then the figures by name; NA where one is "
                  "missing.")
        .arg("filename", &CSVLogger::filename, "The file; log.csv in the run's directory when empty.")
        .arg("separator", &CSVLogger::separator, "Between the columns.", one_character)
        .arg("append", &CSVLogger::append, "Whether to go on with a file that is there.")
        .keeps("columns", &CSVLogger::columns)
        .example(+[] { return CSVLogger{.filename = "log.csv"}; })
        .example(+[] { return CSVLogger{.filename = "log.tsv", .separator = "\t", .append = true}; });
  }
  void on_fit_begin(Training& t);  // Error: the file to go on with is no such table; RunFailed: it cannot be written
  void on_epoch_end(Training& t);
  std::string path(const Training& t) const;
};

inline void register_csv_logger(Registry<Callback>& r) { r.add<CSVLogger>(); }

}  // namespace strata::callbacks
