// SPDX-License-Identifier: Apache-2.0
#include "schema/reference.h"

#include <doctest/doctest.h>

#include <limits>

#include "support/kitchen.h"
#include "schema/json.h"

namespace strata::test {
namespace {

TEST_CASE("the manual as plain text") {
  CHECK(schema_of<Box>().page() == R"(Box
  Holds tools.

  inside (a tool; required)
      The tool inside.

  lid (a tool or null; default null)
      The lid | if any.

  more (a list, each a tool; default [])
      More tools.

  Passes its input's mask on.

  Examples
      Box: {inside: {ReLU: {slope: 0.5}}, lid: relu}
)");
  const std::string knife = schema_of<Knife>().page();
  CHECK(knife.find("\n  units (an integer, at least 1; required)\n      Size of the output.\n") != std::string::npos);
  CHECK(knife.find("\n  edge (one of plain or serrated; default plain)\n") != std::string::npos);
  CHECK(knife.find("\n  slope (a number or null, above 0; default null)\n") != std::string::npos);
  CHECK(knife.ends_with("      Knife: {units: 3}\n      Knife: {units: 8, edge: serrated, slope: 2.0}\n"));
  CHECK(schema_of<ReLU>().page().find("\n  Also written: relu\n") != std::string::npos);
}

TEST_CASE("the manual as Markdown") {
  CHECK(markdown_page(schema_of<Box>(), &schema_of<ToolCommon>()) == R"(# Box

Holds tools.

Passes its input's mask on.

| argument | value | default | meaning |
|---|---|---|---|
| `inside` | a tool | required | The tool inside. |
| `lid` | a tool or null | `null` | The lid \| if any. |
| `more` | a list, each a tool | `[]` | More tools. |

Every part of this kind also takes

| argument | value | default | meaning |
|---|---|---|---|
| `name` | text | `""` | How it is called. |
| `trainable` | true or false | `true` | Whether it learns. |

```yaml
- Box: {inside: {ReLU: {slope: 0.5}}, lid: relu}
```
)");
  CHECK(markdown_page(schema_of<Plain>()) == "# Plain\n\nTakes nothing.\n");
}

TEST_CASE("JSON escapes text and keeps order") {
  const Config value(Config::Map{{"b", Config("a\"\\\n\x01")},
                                 {"a", Config(Config::List{Config(1), Config(2.5), Config(true), Config()})},
                                 {"m", Config(Config::Map{})},
                                 {"l", Config(Config::List{Config(Config::Map{{"x", Config("é")}})})},
                                 {"i", Config(std::numeric_limits<double>::infinity())}});
  CHECK(to_json(value) == R"({
  "b": "a\"\\\n\u0001",
  "a": [1, 2.5, true, null],
  "m": {},
  "l": [
    {
      "x": "é"
    }
  ],
  "i": null
})");
}

TEST_CASE("the JSON Schema of a part says types, bounds, choices and what is required") {
  const Config schema = json_schema(schema_of<Knife>(), &schema_of<ToolCommon>());
  const Config& object = schema.find("anyOf")->list()->front();
  CHECK(to_text(*object.find("required")) == "[units]");
  CHECK(to_text(*object.find("additionalProperties")) == "false");
  const Config& properties = *object.find("properties");
  CHECK(to_text(*properties.find("units")->find("type")) == "[integer, string]");
  CHECK(to_text(*properties.find("units")->find("minimum")) == "1.0");
  CHECK(properties.find("units")->find("default") == nullptr);
  CHECK(to_text(*properties.find("rate")->find("exclusiveMaximum")) == "1.0");
  CHECK(to_text(*properties.find("rate")->find("default")) == "0.5");
  CHECK(to_text(*(*properties.find("edge")->find("anyOf")->list())[0].find("enum")) == "[plain, serrated]");
  CHECK(to_text(*(*properties.find("slope")->find("anyOf")->list())[0].find("exclusiveMinimum")) == "0.0");
  CHECK(to_text(*(*properties.find("slope")->find("anyOf")->list())[1].find("type")) == "\"null\"");
  CHECK(to_text(*(*properties.find("strides")->find("anyOf")->list())[1].find("items")->find("minimum")) == "1.0");
  CHECK(to_text(*properties.find("trainable")->find("default")) == "true");
  CHECK(to_text(*properties.find("dtype")->find("enum")).starts_with("[float32, float16"));
  for (const auto& [name, property] : *properties.map()) {
    INFO(name);
    CHECK(property.find("description"));
  }
}

TEST_CASE("the JSON Schema of a kind allows words that need nothing, and one-key maps of all") {
  const Config schema = json_schema(parts<Tool>(), &schema_of<ToolCommon>());
  const Config& words = *(*schema.find("anyOf")->list())[0].find("enum");
  CHECK(to_text(words) == "[Plain, ReLU, leaky_relu, plain, re_lu, relu]");
  const Config& map = (*schema.find("anyOf")->list())[1];
  CHECK(to_text(*map.find("maxProperties")) == "1");
  CHECK(map.find("properties")->map()->size() == parts<Tool>().words().size());
  CHECK(to_text(*map.find("properties")->find("relu")) == "{$ref: \"#/$defs/tool/anyOf/1/properties/ReLU\"}");
  const Config& box = *map.find("properties")->find("Box");
  CHECK(to_text(*(*box.find("anyOf")->list())[0].find("properties")->find("inside")->find("$ref")) ==
        "\"#/$defs/tool\"");
}

}  // namespace
}  // namespace strata::test
