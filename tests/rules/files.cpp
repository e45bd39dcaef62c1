// SPDX-License-Identifier: Apache-2.0
// What holds for every file: its first line, its length, and the few constructs that are not used here.
#include <doctest/doctest.h>

#include "tree.h"

namespace strata::rules {
namespace {

constexpr std::size_t most_lines = 450;

bool is_code(std::string_view path) {
  return is_source(path) || has_ending(path, {".py", ".sh", ".cmake", "CMakeLists.txt"}) || path == "bootstrap" ||
         path == ".ci/run";
}

bool is_product(std::string_view path) { return is_source(path) && !is_under(path, "tests"); }

// The licence stands in the first line; behind "#!" in a script, and beside the schema's line in a config.
Faults licence_rule(const File& file) {
  if (!is_code(file.path) && !(is_under(file.path, "configs") && file.path.ends_with(".yaml"))) return {};
  const std::string line = cat(is_source(file.path) ? "//" : "#", " SPDX-License-Identifier: Apache-2.0");
  const std::vector<std::string> all = lines(file.text);
  const bool later = file.path.ends_with(".yaml") || file.text.starts_with("#!");
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), later ? 2 : 1); ++i) {
    if (all[i] == line) return {};
  }
  return {cat(file.path, ":1: lacks the line \"", line, "\"")};
}

Faults length_rule(const File& file) {
  const std::size_t count = is_code(file.path) ? lines(file.text).size() : 0;
  if (count <= most_lines) return {};
  return {
      cat(file.path, ": has ", count, " lines, at most ", most_lines, " are read with pleasure: more than one idea?")};
}

Faults once_rule(const File& file) {
  if (!is_header(file.path)) return {};
  for (const std::string& line : lines(file.text)) {
    if (line == "#pragma once") return {};
  }
  return {file.path + ": lacks #pragma once"};
}

// Macros are error.h's, conditions backends.cpp's and CUDA's; kernels may ask the compiler for its instruction set.
Faults preprocessor_rule(const File& file) {
  if (!is_product(file.path) || is_under(file.path, "src/backends/cuda")) return {};
  const bool may_ask = file.path == "src/backends/backends.cpp" || is_under(file.path, "src/backends/cpu/kernels");
  Faults faults;
  int number = 0;
  for (const std::string& line : lines(file.text)) {
    ++number;
    std::string_view rest = trim(line);
    if (!rest.starts_with('#')) continue;
    rest = trim(rest.substr(1));
    if (rest.starts_with("if") && !may_ask)
      faults.push_back(at(file, number, "#if: only src/backends/backends.cpp has conditions"));
    if (rest.starts_with("define") && file.path != "include/strata/error.h") {
      faults.push_back(at(file, number, "#define: STRATA_CHECK is the only macro"));
    }
  }
  return faults;
}

Faults using_rule(const File& file) {
  if (!is_header(file.path) || !is_product(file.path)) return {};
  Faults faults;
  int number = 0;
  for (const std::string& line : lines(file.text)) {
    ++number;
    const std::string_view rest = trim(line);
    const bool own = rest.starts_with("using namespace layers") || file.path == "include/strata/strata.h";
    if (rest.starts_with("using namespace") && !own) faults.push_back(at(file, number, "using namespace in a header"));
  }
  return faults;
}

TEST_CASE("every file begins with its licence") { CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), licence_rule) == ""); }
TEST_CASE("no file is long") { CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), length_rule) == ""); }
TEST_CASE("every header has #pragma once") { CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), once_rule) == ""); }
TEST_CASE("macros and conditions stand in their places only") {
  CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), preprocessor_rule) == "");
}
TEST_CASE("no header says using namespace") { CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), using_rule) == ""); }

TEST_CASE("the rule of the licence finds a file without it") {
  const std::string cpp = "// SPDX-License-Identifier: Apache-2.0\n", hash = "# SPDX-License-Identifier: Apache-2.0\n";
  CHECK(licence_rule({"src/base/x.cpp", "#include <x>\n"}) ==
        Faults{"src/base/x.cpp:1: lacks the line \"// SPDX-License-Identifier: Apache-2.0\""});
  CHECK(licence_rule({"src/base/x.cpp", ""}).size() == 1);
  CHECK(licence_rule({"src/base/x.cpp", "// A head.\n" + cpp}).size() == 1);
  CHECK(licence_rule({"cmake/x.cmake", cpp}).size() == 1);
  CHECK(licence_rule({"configs/x.yaml", "version: 1\n"}).size() == 1);
  CHECK(licence_rule({"src/base/x.cpp", cpp}).empty());
  CHECK(licence_rule({"tests/golden/make.py", hash}).empty());
  CHECK(licence_rule({"bootstrap", "#!/bin/sh\n" + hash}).empty());
  CHECK(licence_rule({"configs/x.yaml", "# yaml-language-server: $schema=strata.schema.json\n" + hash}).empty());
  CHECK(licence_rule({"tests/golden/data.txt", "1 2 3\n"}).empty());
}

TEST_CASE("the rule of the length finds a long file") {
  std::string text;
  for (std::size_t i = 0; i < most_lines; ++i) text += "x\n";
  CHECK(length_rule({"src/base/x.cpp", text}).empty());
  CHECK(length_rule({"src/base/x.cpp", text + "x"}) ==
        Faults{"src/base/x.cpp: has 451 lines, at most 450 are read with pleasure: more than one idea?"});
  CHECK(length_rule({"docs/x.md", text + "x"}).empty());
}

TEST_CASE("the rule of #pragma once finds a header without it") {
  CHECK(once_rule({"layers/core.h", "// #pragma once\n"}) == Faults{"layers/core.h: lacks #pragma once"});
  CHECK(once_rule({"layers/core.h", "// x\n#pragma once\n"}).empty());
  CHECK(once_rule({"src/base/x.cpp", ""}).empty());
}

TEST_CASE("the rule of the preprocessor finds macros and conditions out of place") {
  CHECK(preprocessor_rule({"src/model/fit.cpp", "# ifdef CUDA\n#endif\n"}).size() == 1);
  CHECK(preprocessor_rule({"layers/core.h", "#define LAYER(x) x\n"}).size() == 1);
  CHECK(preprocessor_rule({"src/backends/cpu/kernels/simd.h", "#define WIDTH 8\n"}).size() == 1);
  CHECK(preprocessor_rule({"src/backends/cpu/kernels/simd.h", "#ifdef __AVX512F__\n"}).empty());
  CHECK(preprocessor_rule({"src/backends/backends.cpp", "#ifdef STRATA_CUDA\n"}).empty());
  CHECK(preprocessor_rule({"src/backends/cuda/check.h", "#define STRATA_CUDA_CHECK(x) x\n"}).empty());
  CHECK(preprocessor_rule({"src/model/fit.cpp", "#include <x>\n"}).empty());
}

TEST_CASE("the rule of using finds a header that opens a namespace for all") {
  CHECK(using_rule({"src/base/x.h", "  using namespace std;\n"}).size() == 1);
  CHECK(using_rule({"src/base/x.cpp", "using namespace std;\n"}).empty());
  CHECK(using_rule({"src/base/x.h", "using Words = int;\n"}).empty());
}

}  // namespace
}  // namespace strata::rules
