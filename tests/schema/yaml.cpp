// SPDX-License-Identifier: Apache-2.0
#include "schema/yaml.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/file.h"
#include "support/kitchen.h"
#include "support/message.h"
#include "support/temporary.h"

namespace strata::test {
namespace {

Config yaml(std::string_view text) { return read_yaml(text, "f.yaml"); }
std::string refused(std::string_view text) {
  return message_of([&] { yaml(text); });
}
// Without the source line.
std::string refusal(std::string_view text) {
  const std::string message = refused(text);
  return message.substr(0, message.find("\n  "));
}
std::string place(const Where& where) { return cat(where.line, ":", where.column); }

TEST_CASE("maps, lists and text come with their places") {
  const Config root = yaml("name: run\nmodel:\n  layers:\n    - Dense: {units: 10}\n    - 'relu'\n");
  CHECK(to_text(root) == "{name: run, model: {layers: [{Dense: {units: 10}}, relu]}}");
  CHECK(place(root.find("name")->key) == "1:1");
  CHECK(place(root.find("name")->where) == "1:7");
  const Config& layers = *root.find("model")->find("layers");
  CHECK(place(layers.where) == "4:5");
  const Config& dense = *(*layers.list())[0].find("Dense");
  CHECK(place(dense.key) == "4:7");
  CHECK(place(dense.find("units")->key) == "4:15");
  CHECK(place(dense.find("units")->where) == "4:22");
  CHECK(dense.find("units")->where.file == "f.yaml");
  CHECK((*layers.list())[1].text());
  CHECK_FALSE((*layers.list())[1].plain);
}

TEST_CASE("every scalar stays text; only the schema types it") {
  const Config root = yaml(
      "{a: 1, b: 1.5, c: true, d: no, e: on, f: 010, g: 0x10, h: 1e400, i: .nan, j: 2001-01-01, k: 1/255, l: 1_000}");
  for (const auto& [key, value] : *root.map()) {
    INFO(key);
    CHECK(value.text());
    CHECK(value.plain);
  }
  CHECK(to_text(root) ==
        "{a: 1, b: 1.5, c: true, d: no, e: on, f: 010, g: 0x10, h: 1e400, i: .nan, j: 2001-01-01, k: 1/255, l: 1_000}");
}

TEST_CASE("null is written null, ~, or left out") {
  const Config root = yaml("a: null\nb: ~\nc:\nd: Null\ne: NULL\nf: 'null'\ng: {Dense}\n");
  for (const char* key : {"a", "b", "c", "d", "e"}) CHECK(root.find(key)->is_null());
  CHECK(*root.find("f") == Config("null"));
  CHECK(root.find("g")->find("Dense")->is_null());
  CHECK(place(root.find("a")->where) == "1:4");
  CHECK(place(root.find("c")->where) == "3:1");  // where the key stands, not what follows
  CHECK(place(root.find("g")->find("Dense")->where) == "7:5");
}

TEST_CASE("values of the words that YAML readers disagree about") {
  const auto value = [](const std::string& text) {
    return message_of([&] { read<Knife>(yaml("units: 1\n" + text)); }).substr(0, 60);
  };
  const auto knife = read<Knife>(yaml("units: 1_0\nrate: 1/255\nscale: 1e-3\nuse_bias: True\nextra: no\n"));
  CHECK(knife.units == 10);
  CHECK(knife.rate == 1.0 / 255);
  CHECK(knife.scale == 1e-3);
  CHECK(knife.use_bias);
  CHECK(knife.extra == Config("no"));
  CHECK(read<ToolCommon>(yaml("name: no")).name == "no");
  CHECK(read<ToolCommon>(yaml("name: on")).name == "on");
  CHECK(read<ToolCommon>(yaml("name: 010")).name == "010");
  CHECK(value("scale: 010").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got 010;"));
  CHECK(value("scale: 0x10").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got 0x10;"));
  CHECK(value("scale: 1e400").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got 1e400"));
  CHECK(value("scale: .nan").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got .nan"));
  CHECK(value("scale: .inf").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got .inf"));
  CHECK(value("scale: '2'").starts_with("f.yaml:2:8: Knife: 'scale' should be a number, got \"2\";"));
  CHECK(value("use_bias: yes").starts_with("f.yaml:2:11: Knife: 'use_bias' should be true or false"));
  CHECK(value("use_bias:").starts_with("f.yaml:2:1: Knife: 'use_bias' should be true or false, got n"));
}

TEST_CASE("mistakes of a file come in its order, each with its line and a caret") {
  const TemporaryFolder folder;
  const std::string path = folder / "mnist.yaml";
  write_file(path, "# a run\nBox:\n  inside:\n    Knife: {unit: 10, rate: 2}\n  lid: {Kinfe: 1}\n");
  Mistakes mistakes;
  parts<Tool>().read(read_yaml_file(path), "tool", mistakes);
  CHECK(message_of([&] { mistakes.raise(); }) == cat(path,
                                                     ":4:13: Knife has no argument 'unit'; did you mean 'units'?\n"
                                                     "  4 |     Knife: {unit: 10, rate: 2}\n"
                                                     "    |             ^\n",
                                                     path,
                                                     ":4:29: Knife: 'rate' must be at least 0 and below 1, got 2\n"
                                                     "  4 |     Knife: {unit: 10, rate: 2}\n"
                                                     "    |                             ^\n",
                                                     path,
                                                     ":5:9: there is no tool 'Kinfe'; did you mean 'Knife'?\n"
                                                     "  5 |   lid: {Kinfe: 1}\n"
                                                     "    |         ^"));
}

TEST_CASE("two parts in one map name both places") {
  Mistakes mistakes;
  parts<Tool>().read(yaml("- Dense:\n  units: 3\n").list()->front(), "layers[0]", mistakes);
  CHECK(message_of([&] { mistakes.raise(); }) ==
        "f.yaml:2:3: layers[0] should be one tool, but has two names: 'Dense' (1:3) and 'units' (2:3); the arguments "
        "of Dense stand "
        "below it, further in: {Dense: {units: …}}");
}

TEST_CASE("columns and carets count characters, not bytes") {
  const TemporaryFolder folder;
  const std::string path = folder / "f.yaml";
  write_file(path, "größe: {Maß: 1, Maß: 2}\n");
  CHECK(message_of([&] { read_yaml_file(path); }) == cat(path,
                                                         ":1:17: the key 'Maß' stands twice; first in line 1\n"
                                                         "  1 | größe: {Maß: 1, Maß: 2}\n"
                                                         "    |                 ^"));
}

TEST_CASE("a long line is shown around its caret, tabs and control characters as blanks") {
  const TemporaryFolder folder;
  const std::string path = folder / "f.yaml";
  write_file(path, cat("a: {", std::string(200, ' '), "b: 1, b: 2,", std::string(200, ' '), "c:\t3}\n"));
  const std::string message = message_of([&] { read_yaml_file(path); });
  CHECK(message == cat(path, ":1:211: the key 'b' stands twice; first in line 1\n  1 | …", std::string(49, ' '),
                       "b: 1, b: 2,", std::string(50, ' '), "…\n    | ", std::string(56, ' '), "^"));
}

TEST_CASE("keys that stand twice, merge keys, tags and keys that are no words come all at once") {
  CHECK(refused("a: 1\nb: {x: 1, x: 2}\n<<: {c: 1}\nd: !!int 3\ne: !evil {a: 1}\n? [k]\n: 1\na: 3\n") ==
        "f.yaml:2:11: the key 'x' stands twice; first in line 2\n"
        "f.yaml:3:1: merge keys (<<) are not applied; write the entries out, or use include\n"
        "f.yaml:4:4: the tag !!int is not read; leave it out: the argument says what its value is\n"
        "f.yaml:5:4: the tag !evil is not read; leave it out: the argument says what its value is\n"
        "f.yaml:6:3: a key is a word, not a list\n"
        "f.yaml:8:1: the key 'a' stands twice; first in line 1");
  CHECK(refusal("~: 1\n") == "f.yaml:1:1: a key is a word, not nothing");
  CHECK(refusal("'<<': 1\n") == "(no error)");
}

TEST_CASE("aliases are applied, and counted as what they stand for") {
  const Config root = yaml("a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n");
  CHECK(to_text(root) == "{a: {k: [1, 2]}, b: {k: [1, 2]}, c: [{k: [1, 2]}, {k: [1, 2]}]}");
  CHECK(place(root.find("b")->where) == "2:4");
  CHECK(place(root.find("b")->find("k")->where) == "1:11");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += cat("a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) bomb += cat(k ? ", " : "", "*a", i - 1);
    bomb += "]\n";
  }
  CHECK(refusal(bomb) == "f.yaml:5:45: more than 100000 values; an alias counts as what it stands for");
  CHECK(refusal("a: &x {b: *x}\n") == "f.yaml:1:11: an alias stands inside the value that it names");
  CHECK(refusal("a: *x\n") ==
        "f.yaml:1:4: this alias names no anchor above it; text that begins with '*' needs quotes");
  std::string many = "[";
  for (int i = 0; i < 100'001; ++i) many += "1,";
  CHECK(refusal(many + "]").ends_with("more than 100000 values; an alias counts as what it stands for"));
}

TEST_CASE("nesting is limited long before the stack is") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(refusal(nested(100)) == "(no error)");
  CHECK(refusal(nested(101)) == "f.yaml:1:101: nested more than 100 deep");
  CHECK(refusal(std::string(1'000'000, '[')).ends_with("nested more than 100 deep"));
  CHECK(refusal(std::string(100'000, '{')).ends_with("nested more than 100 deep"));
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  CHECK(refusal(dashes) == "f.yaml:1:201: nested more than 100 deep");
  std::string keys;
  for (int i = 0; i < 5000; ++i) keys += "? ";
  CHECK(refusal(keys).ends_with("nested more than 100 deep"));
}

TEST_CASE("one file holds one document") {
  CHECK(refused("a: 1\n---\nb: 2\n") ==
        "f.yaml:2:1: a second document begins here; a file holds one\n  2 | ---\n    | ^");
  CHECK(refusal("a: 1\n...\nb\n") == "f.yaml:3:1: a second document begins here; a file holds one");
  CHECK(refusal("- a\nb: 1\n") ==
        "f.yaml:2:1: this line belongs neither to the list nor to the map above it: its indentation, its '-' or its "
        "':' is missing");
  CHECK(refusal("%YAML 1.2\n---\na: 1\n...\n") == "(no error)");
}

TEST_CASE("an empty file says so") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "null\n"})
    CHECK(refused(text) == "f.yaml: the file is empty");
}

TEST_CASE("tabs are refused where they indent") {
  const std::string words = "a tab in the indentation; YAML is indented with spaces";
  CHECK(refusal("a:\n\tb: 1\n").ends_with(words));
  CHECK(refusal("a: 1\n\tb: 2\n") == "f.yaml:2:1: " + words);
  CHECK(refusal("a:\n  - x\n\t- y\n") == "f.yaml:3:1: " + words);
  CHECK(refusal("\ta: 1\n").ends_with(words));
  CHECK(refusal("a: {x: 1,\n\ty: 2}\n") == "(no error)");
}

TEST_CASE("syntax errors are told in words, with the cure") {
  CHECK(refused("model:\n  Dense: {units: ${vars.width}, name: x}\n") ==
        "f.yaml:2:19: an interpolation inside { } or [ ] needs quotes: \"${vars.width}\"\n"
        "  2 |   Dense: {units: ${vars.width}, name: x}\n"
        "    |                   ^");
  CHECK(refusal("[${w}, 1]\n") == "f.yaml:1:3: an interpolation inside { } or [ ] needs quotes: \"${w}\"");
  CHECK(refusal("a: ${w}\n") == "(no error)");
  CHECK(refusal("a: b: c\n") == "f.yaml:1:5: a ':' cannot stand here; text with ': ' in it needs quotes");
  CHECK(refusal("a: 1\n  b: 2\n") ==
        "f.yaml:2:4: this line goes on with the text of line 1 ('1 b'): it is indented too far");
  CHECK(refusal("a: 1\nb 2\nc: 3\n") == "f.yaml:3:2: the line above, 'b 2', has no ':'");
  CHECK(refusal("a:\n  b: 1\n c: 2\n") ==
        "f.yaml:3:2: this line fits no map above it: the keys of one map begin in the same column");
  CHECK(refusal("a: [1, 2\nb: 3\n") == "f.yaml:2:2: ',' or ']' is expected here: a '[' above is not closed");
  CHECK(refusal("a: {b: 1\nc: 3\n") == "f.yaml:2:2: ',' or '}' is expected here: a '{' above is not closed");
  CHECK(refusal("a: [1, 2]]\n") == "f.yaml:1:10: this bracket closes nothing");
  CHECK(refusal("a: - b\n") == "f.yaml:1:4: a list cannot begin here; its '- ' stand on lines of their own");
  CHECK(refusal("a: @x\n") == "f.yaml:1:4: text cannot begin with '@'; put it in quotes");
  CHECK(refusal("a: \"\\q\"\n") == "f.yaml:1:7: the escape \\q is not known; in single quotes a backslash is itself");
  CHECK(refusal("a: \"x\nb: 3\n") == "f.yaml:1:4: this quote is not closed");
  CHECK(refusal("a: 'it''s\nb: 3\n") == "f.yaml:1:4: this quote is not closed");
  CHECK(refusal("a: \"x\\\"\nb: 3\n") == "f.yaml:1:4: this quote is not closed");
  CHECK(refusal("a: 'it''s'\nb: \"\\\"\"\n") == "(no error)");
}

TEST_CASE("text that is no UTF-8 text is refused with its place") {
  CHECK(refused("a: 1\nb: x\xff\n") == "f.yaml:2:5: byte 0xff is not UTF-8; save the file as UTF-8");
  CHECK(refused("ä: \xc3\n") == "f.yaml:1:4: byte 0xc3 is not UTF-8; save the file as UTF-8");
  CHECK(refused("a: \xc0\xaf") == "f.yaml:1:4: byte 0xc0 is not UTF-8; save the file as UTF-8");
  CHECK(refused("a: \xed\xa0\x80") == "f.yaml:1:4: byte 0xed is not UTF-8; save the file as UTF-8");
  CHECK(refused("a: \xf4\x90\x80\x80") == "f.yaml:1:4: byte 0xf4 is not UTF-8; save the file as UTF-8");
  CHECK(refused(std::string_view("a: \0b", 5)) == "f.yaml:1:4: control character 0x00; a configuration is text");
  CHECK(refused("a: 1\rb: 2") == "f.yaml:1:5: control character 0x0d; a configuration is text");
  CHECK(refused("\xef\xbb\xbf"
                "a: 1") == "f.yaml:1:1: the file begins with a byte order mark; save it as UTF-8 without one");
  CHECK(refused("\xff\xfe"
                "a") == "f.yaml:1:1: the file is UTF-16; save it as UTF-8");
  CHECK(to_text(yaml("a: \xf0\x9f\x98\x80 €\r\nb: 2\r\n")) == "{a: \xf0\x9f\x98\x80 €, b: 2}");
}

TEST_CASE("files are refused by size before they are read, and missing ones named") {
  const TemporaryFolder folder;
  const std::string path = folder / "big.yaml";
  { std::ofstream(path).seekp(17 << 20) << "x"; }
  CHECK(message_of([&] { read_yaml_file(path); }) == cat(path, ": has 17.0 MiB; a configuration has at most 16.0 MiB"));
  CHECK(message_of([&] { read_yaml_file(folder / "none.yaml"); }).starts_with(folder / "none.yaml"));
  CHECK(refused(std::string((16 << 20) + 1, ' ')) == "f.yaml: has 16.0 MiB; a configuration has at most 16.0 MiB");
}

TEST_CASE("what is written is read back, with origins or without") {
  const Config run = yaml(
      "name: run\nmodel:\n  layers: [relu, {Dense: {units: 10, note: \"a: b\"}}]\n  sizes: [1, 2]\n"
      "vars: {}\nempty: ''\nnothing: null\n'1': x\n");
  CHECK(write_yaml(run) ==
        "name: run\nmodel:\n  layers:\n    - relu\n    - {Dense: {units: 10, note: \"a: b\"}}\n  sizes: [1, 2]\n"
        "vars: {}\nempty: \"\"\nnothing: null\n1: x\n");
  CHECK(yaml(write_yaml(run)) == run);
  CHECK(yaml(write_yaml(run, true)) == run);
  CHECK(write_yaml(run, true).starts_with("name: run  # f.yaml:1:7\nmodel:\n  layers:\n    - relu  # f.yaml:3:12\n"));
  Config set = run;
  set.set("name", Config("x", {"", 0, 0, "--set"}));
  CHECK(write_yaml(set, true).starts_with("name: x  # --set\n"));
  const Config typed(Config::Map{
      {"a", Config(true)}, {"b", Config(1.5)}, {"c", Config("1.5")}, {"d", Config("no")}, {"e", Config("x\ny")}});
  const Config again = yaml(write_yaml(typed));
  CHECK(again.find("b")->plain);
  CHECK_FALSE(again.find("c")->plain);
  CHECK(*again.find("e") == Config("x\ny"));
}

}  // namespace
}  // namespace strata::test
