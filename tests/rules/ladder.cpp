// SPDX-License-Identifier: Apache-2.0
// The ladder: a file includes its own rung and lower ones. The engine (6 to 8) and the parts (5) do not know each other;
// they meet in the model. Public headers include public headers only.
#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "tree.h"

namespace strata::rules {
namespace {

constexpr int parts_rung = 5, first_engine_rung = 6, last_engine_rung = 8, data_rung = 9;

// What stands on each rung: folders, and headers of include/strata/ by their name. Tests stand beside the ladder.
struct Rung {
  int rung;
  std::string_view folders;
  std::string_view headers;
};

constexpr Rung ladder_rungs[] = {
    {1, "src/base", "error"},
    {2, "src/core", "shape dtype tensor device"},
    {3, "src/schema", "config schema part"},
    {4, "src/graph",
     "graph ops step scope initializer regularizer constraint precision"},  // the language parts are written in
    {5, "src/parts layers strategies",
     "layer loss metric optimizer schedule strategy callback dataset layers "
     "strategies optimizers losses metrics schedules initializers regularizers constraints callbacks datasets"},
    {6, "src/backends", ""},
    {7, "src/compiler", ""},
    {8, "src/runtime", ""},
    {9, "src/data", ""},
    {10, "src/model", "model checkpoint"},
    {11, "src/cli apps", "strata"}};

const std::map<std::string, int, std::less<>>& rungs() {
  static const auto table = [] {
    std::map<std::string, int, std::less<>> by_path;
    for (const auto& [rung, folders, headers] : ladder_rungs) {
      for (const std::string& folder : split(folders, ' ')) by_path[folder] = rung;
      for (const std::string& header : split(headers, ' ')) by_path["include/strata/" + header] = rung;
    }
    return by_path;
  }();
  return table;
}

// Of a file by its folder, of a public header also by its name: include/strata/layers.h holds all of layers/.
std::optional<int> rung_of(std::string_view path) {
  std::string place(path);
  if (is_under(path, "include") && path.ends_with(".h")) place.resize(place.size() - 2);
  for (; place != "." && place != "include/strata"; place = folder_of(place)) {
    if (const auto found = rungs().find(place); found != rungs().end()) return found->second;
  }
  return std::nullopt;
}

bool is_public(std::string_view path) {
  return is_under(path, "include") || is_under(path, "layers") || is_under(path, "strategies");
}

bool is_engine(int rung) { return rung >= first_engine_rung && rung <= last_engine_rung; }

// The file an include names; nothing when it is none of ours.
std::optional<std::string> target_of(const File& file, const Include& include, const std::set<std::string>& paths) {
  if (include.name.starts_with("strata/layers/") || include.name.starts_with("strata/strategies/")) {
    return include.name.substr(7);
  }
  if (include.name.starts_with("strata/")) return "include/" + include.name;
  if (include.angle) return std::nullopt;
  for (const std::string& folder : {folder_of(file.path), std::string("src"), std::string("apps/cli")}) {
    if (const std::string path = folder + "/" + include.name; paths.contains(path)) return path;
  }
  return "src/" + include.name;  // not there (yet); its folder still says its rung
}

Faults ladder(const File& file, const std::set<std::string>& paths) {
  if (!is_source(file.path) || is_under(file.path, "tests")) return {};
  const std::optional<int> own = rung_of(file.path);
  if (!own) return {file.path + ": has no rung; give its folder or header one in tests/rules/ladder.cpp"};
  Faults faults;
  for (const Include& include : includes_of(file)) {
    const std::optional<std::string> target = target_of(file, include, paths);
    if (!target) continue;
    const std::optional<int> rung = rung_of(*target);
    const auto fault = [&](std::string_view what) {
      faults.push_back(at(file, include.line, cat(include.name, ' ', what)));
    };
    if (!rung) {
      fault("has no rung; third-party headers are included with <>");
    } else if (*rung > *own) {
      fault(cat("climbs the ladder, from rung ", *own, " to ", *rung));
    } else if (is_engine(*own) && *rung == parts_rung) {
      fault("is a part, and the engine knows none");
    } else if (*own == data_rung && is_engine(*rung)) {
      fault("belongs to the engine; data and engine meet in the model");
    } else if (is_public(file.path) && !is_public(*target)) {
      fault("is private, and a public header includes public ones only");
    }
  }
  return faults;
}

// The rule on one made-up file, in a tree that has these other files.
Faults try_ladder(std::string path, std::string include, std::set<std::string> others = {}) {
  return ladder({std::move(path), cat("#pragma once\n#include ", include, "\n")}, others);
}

TEST_CASE("no include climbs the ladder") {
  const std::vector<File> files = read_tree(STRATA_SOURCE_DIR);
  std::set<std::string> paths;
  for (const File& file : files) paths.insert(file.path);
  CHECK(paths.size() > 20);
  CHECK(faults_of(files, [&](const File& file) { return ladder(file, paths); }) == "");
}

TEST_CASE("the ladder rule finds an include that climbs") {
  CHECK(try_ladder("src/graph/graph.cpp", "\"backends/backend.h\"", {"src/backends/backend.h"}) ==
        Faults{"src/graph/graph.cpp:2: backends/backend.h climbs the ladder, from rung 4 to 6"});
  CHECK(try_ladder("src/base/text.h", "<strata/shape.h>").size() == 1);
  CHECK(try_ladder("include/strata/graph.h", "\"strata/layers.h\"").size() == 1);
  CHECK(try_ladder("src/compiler/fuse.cpp", "\"strata/model.h\"").size() == 1);
  CHECK(try_ladder("src/model/fit.cpp", "\"strata/strata.h\"").size() == 1);
}

TEST_CASE("the ladder rule keeps parts and engine apart") {
  CHECK(try_ladder("layers/core.h", "\"compiler/compile.h\"", {"src/compiler/compile.h"}).size() == 1);
  CHECK(try_ladder("src/parts/layer.cpp", "\"runtime/store.h\"", {"src/runtime/store.h"}).size() == 1);
  for (const char* file : {"src/backends/x.cpp", "src/compiler/x.cpp", "src/runtime/x.cpp"}) {
    for (const char* part :
         {"<strata/layers/core.h>", "\"strata/layer.h\"", "<strata/optimizers/sgd.h>", "<strata/losses.h>"}) {
      CHECK(try_ladder(file, part) ==
            Faults{cat(file, ":2: ", trim(std::string_view(part).substr(1, std::string_view(part).size() - 2)),
                       " is a part, and the engine knows none")});
    }
  }
  CHECK(try_ladder("src/data/loader.cpp", "\"runtime/store.h\"", {"src/runtime/store.h"}).size() == 1);
}

TEST_CASE("the ladder rule finds private headers in public ones, and headers without a rung") {
  CHECK(try_ladder("layers/core.h", "\"base/text.h\"", {"src/base/text.h"}).size() == 1);
  CHECK(try_ladder("include/strata/model.h", "\"model/step.h\"", {"src/model/step.h"}).size() == 1);
  CHECK(try_ladder("include/strata/new_idea.h", "<vector>").size() == 1);
  CHECK(try_ladder("src/new_folder/x.cpp", "<vector>").size() == 1);
  CHECK(try_ladder("src/base/x.cpp", "\"yaml-cpp/yaml.h\"").size() == 1);
}

TEST_CASE("the ladder rule lets good includes pass") {
  CHECK(try_ladder("src/model/fit.cpp", "\"runtime/store.h\"", {"src/runtime/store.h"}).empty());
  CHECK(try_ladder("src/model/fit.cpp", "\"strata/layer.h\"").empty());
  CHECK(try_ladder("src/data/csv.cpp", "\"strata/dataset.h\"").empty());
  CHECK(try_ladder("src/graph/graph.cpp", "\"graph/print.h\"", {"src/graph/print.h"}).empty());
  CHECK(try_ladder("apps/cli/verbs/train.h", "\"verb.h\"", {"apps/cli/verb.h"}).empty());
  CHECK(try_ladder("layers/core.h", "<vector>").empty());
  CHECK(try_ladder("tests/base/x.cpp", "\"strata/strata.h\"").empty());
}

}  // namespace
}  // namespace strata::rules
