// SPDX-License-Identifier: Apache-2.0
// Damaged files: whatever is done to a text, reading it gives a value that can be written and read again, or an Error.
#include <doctest/doctest.h>

#include <string>

#include "base/text.h"
#include "core/random.h"
#include "support/kitchen.h"
#include "schema/reference.h"
#include "schema/yaml.h"

namespace strata::test {
namespace {

constexpr std::string_view sample =
    "version: 1\nname: fashion_mnist\nmodel:\n  inputs: {image: {shape: [28, 28, 1]}}\n  layers:\n    - Rescaling: "
    "{scale: 1/255}\n"
    "    - Conv2D: {filters: &n 32, activation: \"relu\"}\n    - Flatten\n    - Dense: {units: *n, name: 'log its'}\n"
    "compile:\n  text: |\n    two\n    lines\n  folded: >-\n    one\n    line\ndata: {split: 1e-1, on: off}\n# end "
    "ä€\n";
constexpr std::string_view alphabet = "{}[]:,-#&*!|>'\"%@`? \n\t\\abn019._~$<=/\r\xc3\xa4\xff";

std::string mutated(std::string_view text, std::uint64_t number) {
  std::uint64_t state = mix64(number + 1);
  const auto next = [&](std::uint64_t below) { return (state = mix64(state + 0x9e3779b97f4a7c15u)) % below; };
  std::string result(text);
  for (std::uint64_t edits = 1 + next(4); edits > 0; --edits) {
    const std::size_t at = next(result.size());
    const std::size_t count = 1 + next(6);
    switch (next(4)) {
      case 0: result[at] = alphabet[next(alphabet.size())]; break;
      case 1: result.insert(at, 1, alphabet[next(alphabet.size())]); break;
      case 2: result.erase(at, count); break;
      default: result.insert(at, result.substr(next(result.size()), count * 3)); break;
    }
    if (result.empty()) result = "x";
  }
  return result;
}

TEST_CASE("a damaged YAML file gives a value that survives writing, or an Error with its place") {
  int read = 0;
  constexpr int tries = 3000;
  for (int i = 0; i < tries; ++i) {
    const std::string text = mutated(sample, static_cast<std::uint64_t>(i));
    INFO(i, "\n", text);
    try {
      const Config config = read_yaml(text, "f.yaml");
      ++read;
      CHECK(read_yaml(write_yaml(config), "g.yaml") == config);
      CHECK(read_yaml(write_yaml(config, true), "g.yaml") == config);
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).starts_with("f.yaml:"));
    }
  }
  CHECK(read > tries / 10);
  CHECK(read < tries);
}

TEST_CASE("damaged flow text gives a value that survives writing, or an Error") {
  constexpr std::string_view flow_sample =
      "{Box: {inside: {Knife: {units: 1_0, strides: [1, 2]}}, lid: 'it''s', more: [\"a\\tb\", 1e-3, ~]}}";
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = mutated(flow_sample, static_cast<std::uint64_t>(i));
    INFO(i, "\n", text);
    try {
      const Config config = parse_flow(text, {"", 0, 0, "--set"});
      ++read;
      CHECK(parse_flow(to_text(config)) == config);
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).starts_with("--set: "));
    }
  }
  CHECK(read > 300);
}

TEST_CASE("damaged arguments give a part or mistakes") {
  constexpr std::string_view flow_sample =
      "{Box: {inside: {Knife: {units: 3, edge: plain, counts: {a: 1}, shape: [2, 3]}}, lid: relu, more: [leaky_relu]}}";
  int made = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Config config;
    try {
      config = parse_flow(mutated(flow_sample, static_cast<std::uint64_t>(i)));
    } catch (const Error&) {
      continue;
    }
    Mistakes mistakes;
    const Tool tool = parts<Tool>().read(config, "tool", mistakes);
    if (mistakes.empty()) {
      ++made;
      CHECK_NOTHROW(tool->use());
    } else {
      ++refused;
      CHECK_THROWS_AS(mistakes.raise(), Error);
    }
  }
  CHECK(made > 5);
  CHECK(refused > 50);
}

}  // namespace
}  // namespace strata::test
