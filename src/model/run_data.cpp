// SPDX-License-Identifier: Apache-2.0
// From a run file's `data:` section to rows: where files are, which rows validate, what is wrong with them.
#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "model/batches.h"
#include "model/run_file.h"
#include "strata/datasets/idx.h"

namespace strata {

namespace {

// Some rows of a reader.
class PartReader final : public Reader {
 public:
  PartReader(std::shared_ptr<const Reader> whole, std::int64_t first, std::int64_t size)
      : whole_(std::move(whole)), first_(first), size_(size) {}
  std::int64_t size() const override { return size_; }
  const std::vector<DataField>& fields() const override { return whole_->fields(); }
  void read(std::int64_t row, std::span<void* const> out) const override { whole_->read(first_ + row, out); }

 private:
  std::shared_ptr<const Reader> whole_;
  std::int64_t first_, size_;
};

// What is open already, as a dataset.
struct Opened {
  std::shared_ptr<const Reader> reader = {};
  static Schema schema() { return Schema("Opened", "Data that is open."); }
  std::shared_ptr<const Reader> open() const { return reader; }
};

Where where_of(const RunFile& file, const std::string& which) {
  const Config* config = file.run.data.find(which);
  return config ? config->where : file.run.data.where;
}

// Relative files are looked for beside the run file, then in the current directory. The configuration is told where they
// were found: what train writes of it stands elsewhere.
void locate_files(RunFile& file, const std::string& which, const Dataset& dataset) {
  auto* idx = dataset ? dataset.get_if<datasets::IDX>() : nullptr;
  if (!idx || idx->images.empty()) return;
  const std::filesystem::path folder = idx->directory, beside = std::filesystem::path(file.path).parent_path() / folder;
  const bool here = std::filesystem::exists(folder / idx->images);
  if (file.path.empty() || (!std::filesystem::exists(beside / idx->images) && !here)) return;
  const auto found = std::filesystem::exists(beside / idx->images) ? beside : folder;
  idx->directory = (std::filesystem::current_path() / found).lexically_normal().string();
  Config* at = &file.config;
  for (const std::string& word : {std::string("data"), which, std::string("IDX")})
    if (!(at = const_cast<Config*>(at->find(word)))) return;
  at->set("directory", Config(idx->directory, at->where));
}

}  // namespace

void read_data(RunFile& file, Mistakes& mistakes) {
  const Config& validation = file.data.validation;
  if (const Config* part = validation.find("split")) {
    const std::size_t before = mistakes.count();
    field_type<double>().read(&file.validation_split, *part, "validation: 'split'", mistakes);
    if (mistakes.count() == before && (file.validation_split <= 0 || file.validation_split >= 1))
      mistakes.add(part->where, cat("validation: 'split' must be above 0 and below 1, got ", to_text(*part)));
    for (const auto& [word, value] : *validation.map())
      if (word != "split") mistakes.add(value.key, cat("validation has 'split' alone, not '", word, "' beside it"));
  } else if (!validation.is_null()) {
    if (Dataset dataset = parts<Dataset>().read(validation, "validation", mistakes)) file.validation = dataset;
  }
  locate_files(file, "train", file.data.train);
  if (file.data.test) locate_files(file, "test", *file.data.test);
  if (file.validation) locate_files(file, "validation", *file.validation);
}

Dataset RunFile::rows(const std::string& which) {
  if (const auto it = readers.find(which); it != readers.end()) return Opened{it->second};
  Mistakes mistakes;
  std::shared_ptr<const Reader> reader;
  if (which == "validation" && validation_split > 0) {
    const auto whole = rows("train")->open();
    const std::int64_t first = training_rows(whole->size(), validation_split);
    if (first == 0 || first == whole->size())
      mistakes.add(where_of(*this, which),
                   cat("validation: 'split' ", validation_split, " of ", whole->size(), " rows leaves ", first,
                       " to train on and ", whole->size() - first, " to validate"));
    else reader = std::make_shared<PartReader>(whole, first, whole->size() - first);
  } else {
    const Dataset* dataset = which == "train" ? &data.train : nullptr;
    if (which == "test" && data.test) dataset = &*data.test;
    if (which == "validation" && validation) dataset = &*validation;
    if (!dataset) mistakes.add(run.data.where, cat("data has no '", which, "'"));
    try {
      if (dataset) reader = (*dataset)->open();
    } catch (const RunFailed&) {
      throw;
    } catch (const Error& error) {
      mistakes.add(where_of(*this, which), cat(which, ": ", error.what()));
    }
  }
  mistakes.raise();
  return Opened{readers[which] = reader};
}

Dataset first_rows(const Dataset& dataset, std::int64_t count) {
  auto whole = dataset->open();
  const std::int64_t size = std::min(count, whole->size());
  return Opened{std::make_shared<PartReader>(std::move(whole), 0, size)};
}

void RunFile::open_data() {
  std::string said;
  for (const std::string which : {"train", "validation", "test"}) {
    if (which == "test" && !data.test) continue;
    if (which == "validation" && !validation && validation_split == 0) continue;
    try {
      const auto reader = rows(which)->open();
      Mistakes mistakes;
      try {
        (void)Batches(model->core(), reader, {.batch_size = fit.batch_size});
      } catch (const Error& error) {
        mistakes.add(where_of(*this, which), cat(which, ": ", error.what()));
      }
      mistakes.raise();
    } catch (const RunFailed&) {
      throw;
    } catch (const Error& error) {
      // A split of data that cannot be opened adds nothing.
      if (said.find(error.what()) == std::string::npos) said += (said.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!said.empty()) throw Error(said);
}

}  // namespace strata
