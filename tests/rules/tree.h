// SPDX-License-Identifier: Apache-2.0
// The source tree as the rules read it: files by path, and what each includes. A rule is a function from a File to what
// is wrong with it, so that each is tried on made-up files as well as on the tree.
#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata::rules {

struct File {
  std::string path;  // from the root, with /
  std::string text;
};

// What is wrong, one line each: "src/graph/graph.cpp:12: ...".
using Faults = std::vector<std::string>;

inline bool is_under(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/' || folder.ends_with('/'));
}

inline bool has_ending(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return path.ends_with(ending); });
}

inline bool is_header(std::string_view path) { return has_ending(path, {".h", ".cuh"}); }
inline bool is_source(std::string_view path) { return is_header(path) || has_ending(path, {".cpp", ".cu"}); }

// Every file of the project's own folders, and those at the root; build and run folders are not read.
inline std::vector<File> read_tree(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<File> files;
  const auto add = [&](const fs::path& path) {
    files.push_back({fs::relative(path, root).generic_string(), read_file(path.string())});
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) add(entry.path());
  }
  for (const char* folder :
       {"include", "src", "layers", "strategies", "configs", "apps", "tests", "cmake", ".ci", "docs"}) {
    if (!fs::exists(fs::path(root) / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      const bool text = is_source(entry.path().string()) ||
                        has_ending(entry.path().string(), {".py", ".sh", ".cmake", ".txt", ".yaml", ".md", "/.ci/run"});
      if (entry.is_regular_file() && text) add(entry.path());
    }
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

struct Include {
  int line;
  std::string name;
  bool angle;  // <name>, not "name"
};

inline std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  int number = 0;
  for (const std::string& line : lines(file.text)) {
    ++number;
    std::string_view rest = trim(line);
    if (!rest.starts_with('#')) continue;
    rest = trim(rest.substr(1));
    if (!rest.starts_with("include")) continue;
    rest = trim(rest.substr(7));
    if (rest.empty() || (rest.front() != '<' && rest.front() != '"')) continue;
    const bool angle = rest.front() == '<';
    const std::size_t end = rest.find(angle ? '>' : '"', 1);
    if (end != std::string_view::npos) includes.push_back({number, std::string(rest.substr(1, end - 1)), angle});
  }
  return includes;
}

inline std::string at(const File& file, int line, std::string_view what) {
  return cat(file.path, ":", line, ": ", what);
}

// The faults of all files by one rule, as text to compare with "".
template <class Rule> std::string faults_of(const std::vector<File>& files, Rule rule) {
  std::string all;
  for (const File& file : files) {
    for (const std::string& fault : rule(file)) all += fault + "\n";
  }
  return all;
}

}  // namespace strata::rules
