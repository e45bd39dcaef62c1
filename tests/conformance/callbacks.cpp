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

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path().string());
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

History fitted_for(Model& model, std::int64_t from, std::int64_t to, const std::vector<Callback>& callbacks) {
  return model.fit(datasets::Synthetic{.rows = 24},
                   {.batch_size = 8,
                    .epochs = to,
                    .verbose = "none",
                    .callbacks = callbacks,
                    .validation_data = Dataset(datasets::Synthetic{.rows = 8, .seed = 0}),
                    .initial_epoch = from,
                    .seed = 5});
}

}  // namespace

TEST_CASE("a training gone on with after any epoch, with what a callback keeps, ends as the uncut one, files too") {
  constexpr std::int64_t epochs = 6;
  // The best epoch's weights are kept by nobody yet: a run goes on without them when they are older than its stop.
  std::set<std::string> forgetful{
      "{monitor: val_accuracy, min_delta: 0.001, patience: 5, mode: max, baseline: 0.5, "
      "restore_best_weights: true, start_from_epoch: 2}"};
  std::set<std::string> forgot;
  each_example<Callback>([&](const Callback& callback, const Schema::Example& example) {
    auto again = [&] { return parts<Callback>().make(callback.name(), example.args()); };
    const TemporaryFolder folder;
    const InFolder inside(folder.path());
    // The uncut one, and what there was after each epoch.
    std::vector<std::map<std::string, Tensor>> states;
    std::vector<Config> kept;
    const Callback uncut = again();
    Model whole = classifier();
    const callbacks::LambdaCallback remember{.on_epoch_end = [&](Training&) {
      states.push_back(everything(whole));
      kept.push_back(uncut.schema().write_kept(uncut.data()));
    }};
    const History history = fitted_for(whole, 0, epochs, {uncut, remember});
    const auto wanted = everything(whole);
    const auto files = files_in(folder.path());
    CHECK(history["loss"].size() == states.size());

    for (std::size_t done = 1; done < states.size(); ++done) {
      CAPTURE(done);
      Model rest = classifier();
      rest.build(9);
      fitted_for(rest, 0, 1, {});  // so that its optimizer has its states
      for (const auto& [path, value] : states[done - 1]) rest.core().store.write(path, value);
      const Callback part = again();
      Mistakes mistakes;
      part.schema().read_kept(part.data(), parse_flow(to_text(kept[done - 1])), mistakes);
      mistakes.raise();
      const History later = fitted_for(rest, static_cast<std::int64_t>(done), epochs, {part});
      CHECK(later["loss"].size() == states.size() - done);
      for (const auto& [path, value] : everything(rest)) {
        const bool same = same_bits(value, wanted.at(path));
        if (!same && forgetful.count(to_text(example.args()))) forgot.insert(to_text(example.args()));
        else CHECK_MESSAGE(same, path);
      }
      CHECK(part.schema().write_kept(part.data()) == uncut.schema().write_kept(uncut.data()));
      CHECK(files_in(folder.path()) == files);
    }
  });
  CHECK_MESSAGE(forgot == forgetful, "an exception that is none any more");
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
