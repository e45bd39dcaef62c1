// SPDX-License-Identifier: Apache-2.0
// The data of run files: where files are looked for, which rows validate, what is said of what does not fit.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "model/run_file.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;

namespace {

// A run file without data.
const std::string head = R"(version: 1
model:
  inputs: {x: {shape: [4]}}
  layers: [Flatten: {}, Dense: {units: 3, name: logits}]
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 4, epochs: 2, verbose: none}
)";

void write_idx(const std::string& path, const std::vector<std::uint8_t>& extents,
               const std::vector<std::uint8_t>& values) {
  std::ofstream out(path, std::ios::binary);
  const char magic[4] = {0, 0, 8, static_cast<char>(extents.size())};
  out.write(magic, 4);
  for (const std::uint8_t extent : extents) {
    const char big[4] = {0, 0, 0, static_cast<char>(extent)};
    out.write(big, 4);
  }
  for (const std::uint8_t value : values) out.put(static_cast<char>(value));
}

std::string said(const std::string& text) {
  return test::message_of([&] { read_run_text(text, "run.yaml").open_data(); });
}

}  // namespace

TEST_CASE("files are looked for beside the run file, and the configuration says where they were") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "data");
  write_idx(folder / "data/x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  write_idx(folder / "data/y", {2}, {0, 2});
  std::ofstream(folder / "run.yaml") << head << "data: {train: {IDX: {directory: data, images: x, labels: y}}}\n";
  RunFile file = read_run_file(folder / "run.yaml");
  file.open_data();
  CHECK(file.rows("train")->open()->size() == 2);
  const Config* directory = file.config.find("data")->find("train")->find("IDX")->find("directory");
  REQUIRE(directory);
  CHECK(*directory->text() == std::filesystem::canonical(folder / "data").string());
  // A file that is nowhere is said with the line that names it.
  CHECK(test::message_of([&] {
          read_run_file(folder / "run.yaml", {"data.train.IDX.labels=z"}).open_data();
        }).find("run.yaml:7:15: train: ") != std::string::npos);
}

TEST_CASE("the tail validates: the rows that fit measures are those that are asked for by name") {
  RunFile file = read_run_text(head + R"(data:
  train: {Synthetic: {rows: 30, shape: [4], classes: 3}}
  validation: {split: 0.2}
)",
                               "run.yaml");
  CHECK(file.rows("train")->open()->size() == 30);
  CHECK(file.rows("validation")->open()->size() == 6);
  FitOptions options = file.fit_options();
  options.checkpoint = {};
  options.directory.clear();
  CHECK(options.validation_split == 0.2);
  const History history = file.model->fit(file.rows("train"), options);
  const Figures measured = file.model->evaluate(file.rows("validation"), {.batch_size = 4});
  CHECK(measured.at("loss") == history["val_loss"].back());
}

TEST_CASE("validation may be a dataset of its own") {
  RunFile file = read_run_text(head + R"(data:
  train: {Synthetic: {rows: 30, shape: [4], classes: 3}}
  validation: {Synthetic: {rows: 7, shape: [4], classes: 3, seed: 1}}
)",
                               "run.yaml");
  file.open_data();
  CHECK(file.rows("validation")->open()->size() == 7);
  CHECK(file.fit_options().validation_split == 0);
  CHECK(file.fit_options().validation_data);
  CHECK(first_rows(file.rows("train"), 8)->open()->size() == 8);
  CHECK(first_rows(file.rows("train"), 800)->open()->size() == 30);
}

TEST_CASE("data that does not fit is said with its place, all of it") {
  const std::string train = "data:\n  train: {Synthetic: {rows: 30, shape: [4], classes: 3}}\n";
  CHECK(said(head + train) == "(no error)");
  CHECK(said(head + "data:\n  train: {Synthetic: {shape: [5]}}\n  test: {Synthetic: {shape: [2, 3]}}\n") ==
        "run.yaml:8:10: train: model 'run': input 'x' is [4] a row, but the data has [5]\n"
        "run.yaml:9:9: test: model 'run': input 'x' is [4] a row, but the data has [2, 3]");
  CHECK(said(head + train + "  validation: {split: 1.5}\n") ==
        "run.yaml:9:23: validation: 'split' must be above 0 and below 1, got 1.5");
  CHECK(said(head + train + "  validation: {split: half}\n") ==
        "run.yaml:9:23: validation: 'split' should be a number, got half");
  CHECK(said(head + train + "  validation: {split: 0.1, rows: 3}\n") ==
        "run.yaml:9:28: validation has 'split' alone, not 'rows' beside it");
  CHECK(said(head + train + "  validation: {split: 0.99}\n") ==
        "run.yaml:9:15: validation: 'split' 0.99 of 30 rows leaves 0 to train on and 30 to validate");
  CHECK(said(head + train + "  validation: Synthetc\n") ==
        "run.yaml:9:15: there is no dataset 'Synthetc'; did you mean 'Synthetic'?");
  CHECK(said(head + "data: {train: {IDX: {images: none.gz}}}\n") ==
        "run.yaml:7:15: train: none.gz: there is no such file");
  CHECK(said(head + "data: {tests: IDX}\n").find("run.yaml:7:8: data has no argument 'tests'; did you mean 'test'?") !=
        std::string::npos);
}
