// SPDX-License-Identifier: Apache-2.0
#include "strata/config.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "strata/error.h"
#include "support/message.h"

namespace strata {
namespace {

using test::message_of;

TEST_CASE("a place is file:line:column, a flag's origin, or nothing") {
  CHECK(locate({"configs/mnist.yaml", 14, 9, ""}) == "configs/mnist.yaml:14:9: ");
  CHECK(locate({"data.csv", 0, 0, ""}) == "data.csv: ");
  CHECK(locate({"", 0, 0, "--set"}) == "--set: ");
  CHECK(locate({}) == "");
}

TEST_CASE("a map keeps its order, is searched and set by key") {
  Config map;
  map.set("b", 1);
  map.set("a", "x");
  map.set("b", 2);
  CHECK(to_text(map) == "{b: 2, a: x}");
  CHECK(*map.find("b") == Config(2));
  CHECK(map.find("c") == nullptr);
  CHECK(Config(3).find("b") == nullptr);
  CHECK_THROWS_AS(Config(3).set("a", 1), InternalError);
}

TEST_CASE("equality is of values, not of places") {
  CHECK(Config(3, {"x.yaml", 1, 1, ""}) == Config(3));
  CHECK_FALSE(Config(3) == Config(3.0));
  CHECK(Config(3).at({"y", 2, 2, ""}).where.line == 2);
}

TEST_CASE("what is written in one line is read back as the same values") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Config values[] = {Config(),
                           Config(true),
                           Config(0),
                           Config(-7),
                           Config(std::numeric_limits<std::int64_t>::min()),
                           Config(1.0),
                           Config(-0.0),
                           Config(0.1),
                           Config(1e-300),
                           Config(1e30),
                           Config(infinity),
                           Config(-infinity),
                           Config("plain"),
                           Config("two words"),
                           Config(""),
                           Config(" x"),
                           Config("x "),
                           Config("null"),
                           Config("~"),
                           Config("true"),
                           Config("No"),
                           Config("12"),
                           Config("1e-3"),
                           Config("1/255"),
                           Config("1_000"),
                           Config("010"),
                           Config(".inf"),
                           Config("a: b"),
                           Config("a:"),
                           Config("cuda:0"),
                           Config("a #b"),
                           Config("a#b"),
                           Config("#b"),
                           Config("- a"),
                           Config("-"),
                           Config("--x"),
                           Config("-x"),
                           Config("{a}"),
                           Config("[1]"),
                           Config("a, b"),
                           Config("'q'"),
                           Config("\"q\" \\ \n\t\r\x01"),
                           Config("${vars.w}"),
                           Config("Größe"),
                           Config("*a"),
                           Config("&a"),
                           Config("!a"),
                           Config("%a"),
                           Config("@a"),
                           Config("`a"),
                           Config("a|b"),
                           Config("|"),
                           Config("?"),
                           Config(Config::List{}),
                           Config(Config::Map{}),
                           Config(Config::List{Config(1), Config("x"), Config(Config::List{Config()})}),
                           Config(Config::Map{{"a b", Config(1)},
                                              {"1", Config("2")},
                                              {"x:", Config()},
                                              {"", Config(true)},
                                              {"n", Config(Config::Map{{"m", Config(1.5)}})}})};
  for (const Config& value : values) {
    INFO(to_text(value));
    CHECK(parse_flow(to_text(value)) == value);
    const Config nested(Config::Map{{"k", value}, {"l", Config(Config::List{value, value})}});
    CHECK(parse_flow(to_text(nested)) == nested);
  }
  CHECK(std::isnan(std::get<double>(parse_flow(to_text(Config(std::nan("")))).data)));
  CHECK(to_text(Config(infinity)) == ".inf");
  CHECK(to_text(Config(2.0)) == "2.0");
}

TEST_CASE("unquoted text keeps its letters, so that a schema may want either text or a number") {
  const Config parsed = parse_flow("{a: 1e-3, b: 1_000, c: 1/255, d: 010, e: no, f: 7, g: '7'}");
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    CHECK(parsed.find(key)->text());
    CHECK(parsed.find(key)->plain);
  }
  CHECK(*parsed.find("f") == Config(7));
  CHECK(*parsed.find("g") == Config("7"));
  CHECK_FALSE(parsed.find("g")->plain);
  CHECK(to_text(parsed) == "{a: 1e-3, b: 1_000, c: 1/255, d: 010, e: no, f: 7, g: \"7\"}");
}

TEST_CASE("flow style is read with quotes, escapes, trailing commas and bare keys") {
  CHECK(parse_flow(" { 'it''s' : \"a\\tb\\u00e9\\x41\" , \"k\":[ 1 , 2, ] , Dense } ") ==
        Config(Config::Map{{"it's", Config("a\tb\xc3\xa9"
                                           "A")},
                           {"k", Config(Config::List{Config(1), Config(2)})},
                           {"Dense", Config()}}));
  CHECK(parse_flow("cuda:0") == Config("cuda:0"));
  CHECK(parse_flow("") == Config());
  CHECK(parse_flow("a b") == Config("a b"));
}

TEST_CASE("places count on from the text's own") {
  const Config parsed = parse_flow("{a: [1, x]}", {"f.yaml", 3, 10, ""});
  CHECK(parsed.where.column == 10);
  CHECK(parsed.find("a")->key.column == 11);
  CHECK((*parsed.find("a")->list())[1].where.column == 18);
  CHECK(parsed.find("a")->where.line == 3);
}

TEST_CASE("what is not flow style is refused with its column") {
  const Where flag{"", 0, 0, "--set"};
  const auto refused = [&](const char* text) { return message_of([&] { parse_flow(text, flag); }); };
  CHECK(refused("{a: 1") == "--set: ',' or '}' is expected here (at 6 of '{a: 1')");
  CHECK(refused("[1 2") == "--set: ',' or ']' is expected here (at 5 of '[1 2')");
  CHECK(refused("[1,, 2]") == "--set: a value is expected here (at 4 of '[1,, 2]')");
  CHECK(refused("[1] x") == "--set: 'x' stands after the value (at 5 of '[1] x')");
  CHECK(refused("\"abc") == "--set: a \" is not closed (at 5 of '\"abc')");
  CHECK(refused("{: 1}") == "--set: a key is expected here (at 2 of '{: 1}')");
  CHECK(refused("{a: 1, a: 2}") == "--set: the key 'a' stands twice (at 9 of '{a: 1, a: 2}')");
  CHECK(refused("\"\\q\"") ==
        "--set: this escape is not known; those there are: \\n \\t \\r \\0 \\\" \\\\ \\/ \\xNN \\uNNNN (at 3 of "
        "'\"\\q\"')");
  CHECK(refused("\"\\xg\"") == "--set: a hexadecimal digit is expected here (at 4 of '\"\\xg\"')");
  CHECK(message_of([] { parse_flow("[1", {"f.yaml", 3, 10, ""}); }) == "f.yaml:3:12: ',' or ']' is expected here");
  const std::string deep(101, '['), too_deep(102, '[');
  CHECK(message_of([&] { parse_flow(deep + std::string(101, ']')); }) == "(no error)");
  CHECK(message_of([&] { parse_flow(too_deep); }).starts_with("nested more than 100 deep (at 102 of"));
  CHECK(message_of([] { parse_flow(std::string(1'000'000, '[')); }).starts_with("nested more than 100 deep"));
}

}  // namespace
}  // namespace strata
