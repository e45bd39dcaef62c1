// SPDX-License-Identifier: Apache-2.0
// The table of figures: begun, gone on with, and cut back to where a run goes on.
#include "strata/callbacks/csv_logger.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace strata::callbacks {

std::string CSVLogger::path(const Training& t) const {
  if (!filename.empty()) return filename;
  return t.directory().empty() ? std::string("log.csv") : t.directory() + "/log.csv";
}

void CSVLogger::on_fit_begin(Training& t) {
  const std::string file = path(t);
  const bool goes_on = t.resumed();
  columns.clear();
  std::vector<std::string> rows;
  if ((append || goes_on) && exists(file)) rows = lines(read_file(file));
  std::string kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto cells = split(rows[i], separator[0]);
    if (i == 0) {
      if (cells[0] != "epoch")
        throw Error(cat(file, ":1: begins with '", cells[0], "', where CSVLogger's tables have 'epoch', before a '",
                        separator, "'; give another filename, or append: false to replace it"));
      columns.assign(cells.begin() + 1, cells.end());
    } else if (goes_on) {
      // What a run wrote after its last checkpoint is trained, and written, again.
      const auto epoch = read_integer(cells[0]);
      if (!epoch || *epoch >= t.epoch()) continue;
    }
    kept += rows[i] + "\n";
  }
  write_file(file, kept);
}

void CSVLogger::on_epoch_end(Training& t) {
  std::string row;
  if (columns.empty()) {
    for (const auto& [name, _] : t.figures()) columns.push_back(name);
    // Validation may come every few epochs only: its columns are made at once.
    if (std::ranges::none_of(columns, [](const std::string& name) { return name.starts_with("val_"); }))
      for (std::size_t i = 0, n = columns.size(); i < n; ++i) columns.push_back("val_" + columns[i]);
    row = "epoch";
    for (const auto& column : columns) row += separator + column;
    row += "\n";
  }
  row += to_text(t.epoch());
  for (const auto& column : columns) {
    const auto it = t.figures().find(column);
    row += separator + (it == t.figures().end() ? "NA" : to_text(it->second));
  }
  append_to_file(path(t), row + "\n");
}

}  // namespace strata::callbacks
