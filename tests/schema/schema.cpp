// SPDX-License-Identifier: Apache-2.0
#include "strata/schema.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/kitchen.h"
#include "support/message.h"

namespace strata::test {
namespace {

template <class T> std::string refused(const std::string& text) {
  return message_of([&] { read<T>(parse_flow(text)); });
}

TEST_CASE("a struct is filled from named arguments of every type") {
  const auto knife = read<Knife>(
      flow("{units: 8, edge: serrated, use_bias: false, strides: [2, 3], rate: 1/4, slope: 2, axis: [0, 2], "
           "shape: [28, 28], dtype: bfloat16, weights: [1, 2.5], counts: {a: 1_000}, scale: 1e-3, extra: {k: [x]}}"));
  CHECK(knife.units == 8);
  CHECK(knife.edge == "serrated");
  CHECK_FALSE(knife.use_bias);
  CHECK(knife.strides == Pair(2, 3));
  CHECK(knife.rate == 0.25);
  CHECK(*knife.slope == 2);
  CHECK(knife.axis == Ints{0, 2});
  CHECK(knife.shape == Shape{28, 28});
  CHECK(knife.dtype == DType::bfloat16);
  CHECK(knife.weights == std::vector<double>{1, 2.5});
  CHECK(knife.counts.at("a") == 1000);
  CHECK(knife.scale == 0.001);
  CHECK(to_text(knife.extra) == "{k: [x]}");
}

TEST_CASE(
    "short forms: one integer for a pair, an axis, a list of one; null for none; a bare value for the only required "
    "one") {
  const auto knife = read<Knife>(flow("{units: 1, strides: 2, axis: 1, weights: 3, slope: null}"));
  CHECK(knife.strides == Pair(2, 2));
  CHECK(knife.axis == Ints{1});
  CHECK(knife.weights == std::vector<double>{3});
  CHECK_FALSE(knife.slope);
  CHECK(read<Knife>(Config(10)).units == 10);
  CHECK(read<ReLU>(Config()).slope == 0);
  CHECK(refused<ReLU>("0.5") == "ReLU takes named arguments, as in {slope: …}; got 0.5");
  CHECK(refused<Plain>("0.5") == "Plain takes no arguments; got 0.5");
  CHECK(refused<Knife>("[1, 2]") == "Knife: 'units' should be an integer, got [1, 2]");
}

TEST_CASE("what is written is read back") {
  Knife knife{.units = 3,
              .edge = "serrated",
              .slope = 0.5,
              .axis = {0, 1},
              .shape = {2, 3},
              .weights = {1},
              .counts = {{"x y", 2}},
              .extra = 5};
  const Schema& schema = schema_of<Knife>();
  const Config all = schema.write(&knife), short_form = schema.write(&knife, false);
  CHECK(to_text(short_form) ==
        "{units: 3, edge: serrated, slope: 0.5, axis: [0, 1], shape: [2, 3], weights: [1.0], counts: {x y: 2}, extra: "
        "5}");
  for (const Config& config : {all, short_form, parse_flow(to_text(all)), parse_flow(to_text(short_form))}) {
    const auto again = read<Knife>(config);
    CHECK(schema.write(&again) == all);
  }
  CHECK(all.map()->size() == schema.args.size());
}

TEST_CASE("an unknown argument is refused with the nearest, or with all there are") {
  CHECK(refused<Knife>("{unit: 2}") == "Knife has no argument 'unit'; did you mean 'units'?");
  CHECK(refused<ReLU>("{zzz: 2}") == "ReLU has no argument 'zzz'; it takes slope");
  CHECK(refused<Plain>("{zzz: 2}") == "Plain has no argument 'zzz'; it takes none of its own");
  Config twice = flow("{units: 1}");
  twice.set_entry("units", 2);
  CHECK(message_of([&] { read<Knife>(twice); }) == "Knife: 'units' is given twice");
}

TEST_CASE("a missing argument is asked for with its type, rule and meaning") {
  CHECK(refused<Knife>("{}") == "Knife needs 'units' (an integer, at least 1): Size of the output.");
  CHECK(refused<Knife>("null") == "Knife needs 'units' (an integer, at least 1): Size of the output.");
  CHECK(refused<Box>("{}") == "Box needs 'inside' (a tool): The tool inside.");
}

TEST_CASE("a value of the wrong type is refused with what was wanted and what is there") {
  const auto knife = [](const std::string& rest) { return refused<Knife>("{units: 1, " + rest + "}"); };
  CHECK(refused<Knife>("{units: ten}") == "Knife: 'units' should be an integer, got ten");
  CHECK(refused<Knife>("{units: 010}") ==
        "Knife: 'units' should be an integer, got 010; a number does not begin with 0; write 10");
  CHECK(refused<Knife>("{units: 5.0}") == "Knife: 'units' should be an integer, got 5.0; write 5");
  CHECK(refused<Knife>("{units: \"5\"}") == "Knife: 'units' should be an integer, got \"5\"; in quotes it is text");
  CHECK(refused<Knife>("{units: null}") == "Knife: 'units' should be an integer, got null");
  CHECK(refused<Knife>("{units: true}") == "Knife: 'units' should be an integer, got true");
  CHECK(knife("rate: 0.1f") == "Knife: 'rate' should be a number, got 0.1f; 'f' is no part of a number");
  CHECK(knife("rate: 1e400") == "Knife: 'rate' should be a number, got 1e400; it does not fit a 64-bit float");
  CHECK(knife("edge: null") == "Knife: 'edge' should be text, got null");
  CHECK(knife("edge: [plain]") == "Knife: 'edge' should be text, got [plain]");
  CHECK(knife("use_bias: no") == "Knife: 'use_bias' should be true or false, got no; write false");
  CHECK(knife("use_bias: on") == "Knife: 'use_bias' should be true or false, got on; write true");
  CHECK(knife("use_bias: 0") == "Knife: 'use_bias' should be true or false, got 0");
  CHECK(knife("use_bias: \"true\"") == "Knife: 'use_bias' should be true or false, got \"true\"; in quotes it is text");
  CHECK(knife("strides: [1, 2, 3]") == "Knife: 'strides' should be an integer or a list of two, got [1, 2, 3]");
  CHECK(knife("strides: [1, x]") == "Knife: 'strides' item 2 should be an integer, got x");
  CHECK(knife("axis: {a: 1}") == "Knife: 'axis' should be an integer or a list of integers, got {a: 1}");
  CHECK(knife("shape: 784") == "Knife: 'shape' should be a list of at most 8 extents, got 784");
  CHECK(knife("shape: [3, -1]") == "Knife: 'shape' item 2 should be an extent of at least 0, got -1");
  CHECK(knife("shape: [3, null]") == "Knife: 'shape' item 2 should be an integer, got null");
  CHECK(knife("shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]") ==
        "Knife: 'shape' should be a list of at most 8 extents, got [1, 1, 1, 1, 1, 1, 1, 1, 1]");
  CHECK(knife("dtype: flaot16").starts_with("Knife: 'dtype': there is no dtype 'flaot16'; did you mean 'float16'?"));
  CHECK(knife("dtype: 16") == "Knife: 'dtype' should be a dtype, got 16; as in float32");
  CHECK(knife("weights: [1, x]") == "Knife: 'weights' item 2 should be a number, got x");
  CHECK(knife("weights: null") == "Knife: 'weights' should be a list, each a number, got null");
  CHECK(knife("counts: [1]") == "Knife: 'counts' should be a map, each value an integer, got [1]");
  CHECK(knife("counts: {a: 1, b: x}") == "Knife: 'counts' entry 'b' should be an integer, got x");
  CHECK(knife("slope: x") == "Knife: 'slope' should be a number, got x");
  CHECK(knife(cat("edge: [", std::string(100, 'x'), "]")) ==
        cat("Knife: 'edge' should be text, got [", std::string(59, 'x'), "…"));
}

TEST_CASE("a value that breaks a rule is refused with the rule, its own words and the nearest choice") {
  const auto knife = [](const std::string& rest) { return refused<Knife>("{units: 1, " + rest + "}"); };
  CHECK(refused<Knife>("{units: 0}") == "Knife: 'units' must be at least 1, got 0");
  CHECK(knife("rate: 1.0") == "Knife: 'rate' must be at least 0 and below 1, got 1.0");
  CHECK(knife("rate: 4/2") == "Knife: 'rate' must be at least 0 and below 1, got 4/2");
  CHECK(knife("slope: 0") == "Knife: 'slope' must be above 0, got 0.0");
  CHECK(knife("strides: [1, 0]") == "Knife: 'strides' must be at least 1, got 0");
  CHECK(knife("weights: [1, 11]") == "Knife: 'weights' must be between 0 and 10, got 11.0");
  CHECK(knife("edge: plian") == "Knife: 'edge' must be one of plain or serrated, got plian; did you mean 'plain'?");
  CHECK(knife("scale: 0.0") == "Knife: 'scale' must be other than 0, got 0.0");
}

TEST_CASE("a struct that a program made is checked by the same rules, into the parts it holds") {
  const auto checked = [](const auto& part) {
    return message_of([&] {
      Mistakes mistakes;
      schema_of<std::remove_cvref_t<decltype(part)>>().check(&part, {}, mistakes);
      mistakes.raise();
    });
  };
  CHECK(checked(Knife{.units = 1}) == "(no error)");
  CHECK(checked(Knife{}) == "Knife needs 'units' (an integer, at least 1): Size of the output.");
  CHECK(checked(Knife{.units = -2}) == "Knife: 'units' must be at least 1, got -2");
  CHECK(checked(Knife{.units = 1, .scale = 1 / 255}) ==
        "Knife: 'scale' must be other than 0, got 0.0; in C++ write 1.0/255: 1/255 is 0 there");
  CHECK(checked(Knife{.units = 1, .rate = std::nan("")}) == "Knife: 'rate' must be at least 0 and below 1, got .nan");
  CHECK(checked(Box{}) == "Box needs 'inside' (a tool): The tool inside.");
  CHECK(checked(Box{.inside = Knife{}}) == "Knife needs 'units' (an integer, at least 1): Size of the output.");
  CHECK(checked(Box{.inside = "relu", .lid = Knife{.units = -1}}) == "Knife: 'units' must be at least 1, got -1");
  CHECK(checked(Box{.inside = "relu", .more = {Tool("relux")}}) ==
        "Box: 'more' item 1: there is no tool 'relux'; did you mean 'relu'?");
  CHECK(checked(Box{.inside = "knife"}) ==
        "Box: 'inside': Knife needs 'units' (an integer, at least 1): Size of the output.");
}

TEST_CASE("all mistakes come at once") {
  CHECK(refused<Knife>("{ratio: 1, rate: 2, edge: x, weights: [a, 3, b]}") ==
        "Knife needs 'units' (an integer, at least 1): Size of the output.\n"
        "Knife has no argument 'ratio'; did you mean 'rate'?\n"
        "Knife: 'rate' must be at least 0 and below 1, got 2.0\n"
        "Knife: 'edge' must be one of plain or serrated, got x\n"
        "Knife: 'weights' item 1 should be a number, got a\n"
        "Knife: 'weights' item 3 should be a number, got b");
}

TEST_CASE("infinities are for programs and their saved state, not for files") {
  CHECK(std::isinf(read<Knife>(flow("{units: 1, scale: -.inf}")).scale));
  const std::string refusal = message_of([] {
    read<Knife>(parse_flow("{units: 1, scale: .inf}", {"", 0, 0, "--set"}));
  });
  CHECK(refusal == "--set: Knife: 'scale' should be a number, got .inf; a number must be finite");
}

TEST_CASE("text arguments take what a flag's letters were") {
  CHECK(read<ToolCommon>(flow("{name: 12}")).name == "12");
  CHECK(read<ToolCommon>(flow("{name: no}")).name == "no");
  CHECK(read<ToolCommon>(flow("{name: true}")).name == "true");
  CHECK(read<ToolCommon>(flow("{name: 1e-3}")).name == "1e-3");
}

TEST_CASE("kept state is written and read apart from arguments") {
  const Box box{.inside = "relu", .best = -std::numeric_limits<double>::infinity(), .note = "x"};
  const Config state = schema_of<Box>().write_kept(&box);
  CHECK(to_text(state) == "{best: -.inf, note: x}");
  CHECK(schema_of<Box>().write(&box).find("best") == nullptr);
  Box again;
  Mistakes mistakes;
  schema_of<Box>().read_kept(&again, parse_flow(to_text(state)), mistakes);
  CHECK(mistakes.empty());
  CHECK(again.best == box.best);
  CHECK(again.note == "x");
  schema_of<Box>().read_kept(&again, flow("{best: 1}"), mistakes);
  CHECK(message_of([&] { mistakes.raise(); }) == "Box: the saved state has no 'note'");
}

TEST_CASE("rules for lists and words") {
  struct Listed {
    std::vector<double> values;
    std::string path;
    static Schema schema() {
      return Schema("Listed", "A list and a path.")
          .arg("values", &Listed::values, "The values.", not_empty())
          .arg("path", &Listed::path, "The path.", not_empty());
    }
  };
  CHECK(refused<Listed>("{values: [], path: x}") == "Listed: 'values' must be not empty, got []");
  CHECK(refused<Listed>("{values: [1]}") == "Listed needs 'path' (text, not empty): The path.");
  CHECK(read<Listed>(flow("{values: [1], path: x}")).path == "x");
}

}  // namespace
}  // namespace strata::test
