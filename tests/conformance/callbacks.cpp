// SPDX-License-Identifier: Apache-2.0
// Every callback's examples in a training, whole and gone on with in another process's place; every dataset's rows.
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "base/file.h"
#include "model/core.h"
#include "strata/callbacks.h"
#include "strata/datasets.h"
#include "strata/layers.h"
#include "support/catalogues.h"
#include "support/message.h"
#include "support/temporary.h"
#include "support/training.h"

namespace strata::test {
namespace {

// A current directory of its own while it lives: callbacks write files there.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~InFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// What a training leaves beside its checkpoints, by path within the folder.
std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = std::filesystem::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && !path.starts_with("checkpoints/")) files[path] = read_file(entry.path().string());
  }
  return files;
}

std::map<std::string, Tensor> everything(const Model& model) {
  std::map<std::string, Tensor> all;
  for (const auto& [path, _] : model.core().store.variables()) all[path] = model.core().store.read(path).clone();
  return all;
}

Model classifier() {
  Sequential model({8}, {Layer(layers::Dense{.units = 6, .activation = "tanh"}), Layer(layers::Dropout{.rate = 0.2}),
                         Layer(layers::Dense{.units = 4})});
  model.compile({.optimizer = parts<Optimizer>().make("Adam", parse_flow("{learning_rate: 0.05}")),
                 .loss = parts<Loss>().make("SparseCategoricalCrossentropy", parse_flow("{from_logits: true}")),
                 .metrics = {"accuracy"}});
  return model;
}

struct Ended {
  History history;
  std::map<std::string, Tensor> states;
  std::map<std::string, std::string> files;
  Config kept;
};

// Trains in a folder of its own; cut before epoch `cut` (-1: never) and gone on with by a new model and a new callback.
Ended trained(const std::function<Callback()>& part, std::int64_t cut) {
  const TemporaryFolder folder;
  const InFolder inside(folder.path());
  for (const bool cut_now : {true, false}) {
    if (cut_now && cut < 0) continue;
    Model model = classifier();
    const Callback callback = part();
    FitOptions options;
    options.batch_size = 8;
    options.epochs = 6;
    options.verbose = "none";
    options.validation_data = Dataset(datasets::Synthetic{.rows = 8, .seed = 0});
    options.seed = 5;
    options.callbacks = {callback};
    // One of them brings a directory of its own.
    if (!callback.get_if<callbacks::BackupAndRestore>())
      options.checkpoint = {.directory = "checkpoints", .every = {"1 epoch"}};
    options.callbacks.push_back(callbacks::LambdaCallback{.on_epoch_begin = [cut, cut_now](Training& t) {
      if (cut_now && t.epoch() == cut) throw RunFailed("cut");
    }});
    try {
      const History history = model.fit(datasets::Synthetic{.rows = 24}, options);
      return {history, everything(model), files_in(folder.path()), callback.schema().write_kept(callback.data())};
    } catch (const RunFailed& failed) {
      REQUIRE(std::string(failed.what()) == "cut");
    }
  }
  return {};
}

}  // namespace

TEST_CASE("a training gone on with after any epoch ends as the uncut one: states, history, what is kept, files too") {
  each_example<Callback>([&](const Callback& callback, const Schema::Example& example) {
    auto again = [&] { return parts<Callback>().make(callback.name(), example.args()); };
    const Ended uncut = trained(again, -1);
    for (std::int64_t cut = 1; cut < static_cast<std::int64_t>(uncut.history.epoch.size()); ++cut) {
      CAPTURE(cut);
      const Ended cut_one = trained(again, cut);
      CHECK(cut_one.history.epoch == uncut.history.epoch);
      CHECK(cut_one.history.figures == uncut.history.figures);
      CHECK(cut_one.kept == uncut.kept);
      CHECK(cut_one.files == uncut.files);
      REQUIRE(cut_one.states.size() == uncut.states.size());
      for (const auto& [path, value] : uncut.states) CHECK_MESSAGE(same_bits(value, cut_one.states.at(path)), path);
    }
  });
}

TEST_CASE("every dataset opens to rows that are the same each time and from any thread, or names the file it lacks") {
  int opened = 0;
  each_example<Dataset>([&](const Dataset& dataset, const Schema::Example& example) {
    std::shared_ptr<const Reader> reader;
    const std::string said = message_of([&] { reader = dataset->open(); });
    if (!reader) {
      // Its files are not here: one of the texts that the example gives is named.
      const Config args = example.args();
      CHECK_MESSAGE(std::ranges::any_of(*args.map(),
                                        [&](const auto& entry) {
                                          return entry.second.text() &&
                                                 said.find(*entry.second.text()) != std::string::npos;
                                        }),
                    said);
      return;
    }
    ++opened;
    CHECK(reader->size() > 0);
    std::set<std::string> names;
    for (const DataField& field : reader->fields()) {
      CHECK_FALSE(field.name.empty());
      CHECK(names.insert(field.name).second);
      CHECK(field.type.bytes() > 0);
    }
    auto rows_of = [&](const Reader& from, std::int64_t first, std::int64_t step) {
      std::vector<std::vector<char>> rows(static_cast<std::size_t>(from.size()));
      for (std::int64_t i = 0; i < from.size(); ++i) {
        const std::int64_t row = (first + i * step) % from.size();
        std::vector<std::vector<char>> fields;
        std::vector<void*> to;
        for (const DataField& field : from.fields()) fields.emplace_back(field.type.bytes());
        for (auto& field : fields) to.push_back(field.data());
        from.read(row, to);
        for (std::size_t f = 0; f < fields.size(); ++f) {
          const DataField& field = from.fields()[f];
          Tensor value(field.type);
          std::memcpy(value.host_data(), fields[f].data(), fields[f].size());
          for (const double number : value.to_doubles()) {
            CHECK(std::isfinite(number));
            if (field.classes > 0) CHECK((number >= 0 && number < static_cast<double>(field.classes)));
          }
          auto& bytes = rows[static_cast<std::size_t>(row)];
          bytes.insert(bytes.end(), fields[f].begin(), fields[f].end());
        }
      }
      return rows;
    };
    const auto rows = rows_of(*reader, 0, 1);
    std::vector<std::vector<char>> other, threaded;
    std::thread second([&] { threaded = rows_of(*reader, 3, reader->size() - 1); });
    other = rows_of(*dataset->open(), 1, 1);
    second.join();
    CHECK(other == rows);
    CHECK(threaded == rows);
    CHECK(std::set(rows.begin(), rows.end()).size() > 1);
  });
  CHECK(opened > 1);
}

}  // namespace strata::test
