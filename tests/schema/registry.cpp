// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "support/kitchen.h"
#include "support/message.h"

namespace strata::test {
namespace {

Tool read_tool(const Config& config) {
  Mistakes mistakes;
  Tool tool = parts<Tool>().read(config, "layers[0]", mistakes);
  mistakes.raise();
  return tool;
}
std::string refused(const std::string& text) {
  return message_of([&] { read_tool(parse_flow(text)); });
}

TEST_CASE("a class name, its snake case and its aliases name a part") {
  CHECK(parts<Tool>().names() == std::vector<std::string>{"Box", "Knife", "Plain", "ReLU"});
  CHECK(parts<Tool>().words() == std::vector<std::string>{"Box", "Knife", "Plain", "ReLU", "box", "chef_knife", "knife",
                                                          "leaky_relu", "plain", "re_lu", "relu"});
  CHECK(parts<Tool>().has("re_lu"));
  CHECK_FALSE(parts<Tool>().has("relu6"));
  CHECK(parts<Tool>().schema("relu").name == "ReLU");
  CHECK(read_tool("relu")->use() == "relu 0");
  CHECK(read_tool("ReLU").name() == "ReLU");
}

TEST_CASE("a part is a word, a key with arguments, or a key alone") {
  CHECK(read_tool(flow("{Knife: {units: 4}}"))->use() == "cuts 4");
  CHECK(read_tool(flow("{Knife: 4}"))->use() == "cuts 4");
  CHECK(read_tool(flow("{ReLU}"))->use() == "relu 0");
  CHECK(read_tool(flow("{Box: {inside: {Knife: 2}, lid: relu, more: [relu, {ReLU: {slope: 1}}]}}"))->use() ==
        "holds cuts 2");
}

TEST_CASE("an alias has its own defaults, and still takes arguments") {
  CHECK(read_tool("leaky_relu")->use() == "relu 0.25");
  CHECK(read_tool(flow("{leaky_relu: {slope: 0.75}}"))->use() == "relu 0.75");
  CHECK(read_tool(flow("{leaky_relu: {name: x}}")).common().name == "x");
  CHECK(read_tool("chef_knife")->use() == "cuts 21");
  CHECK(refused("{chef_knife: {units: 0}}") == "Knife: 'units' must be at least 1, got 0");
  CHECK(read_tool(flow("{leaky_relu: {slope: 0.75}}"))->use() != read_tool("leaky_relu")->use());
}

TEST_CASE("common arguments go to the kind, whatever the part") {
  const Tool tool = read_tool(flow("{Knife: {units: 4, name: fork, trainable: false}}"));
  CHECK(tool.common().name == "fork");
  CHECK_FALSE(tool.common().trainable);
  CHECK(refused("{Knife: {units: 4, trainabel: false}}") ==
        "Knife has no argument 'trainabel'; did you mean 'trainable'?");
  CHECK(refused("{Plain: {zzz: 1}}") == "Plain has no argument 'zzz'; it takes none of its own");
}

TEST_CASE("unknown names are refused with the nearest of their kind") {
  CHECK(refused("Kinfe") == "there is no tool 'Kinfe'; did you mean 'Knife'?");
  CHECK(refused("kinfe") == "there is no tool 'kinfe'; did you mean 'knife'?");
  CHECK(refused("{Spoon: {}}") == "there is no tool 'Spoon'; there are Box, Knife, Plain and ReLU");
  CHECK(message_of([] { Tool("Kinfe").schema(); }) == "there is no tool 'Kinfe'; did you mean 'Knife'?");
  CHECK(message_of([] { Tool().schema(); }) == "this tool was never set");
}

TEST_CASE("what is no part is refused") {
  CHECK(refused("[relu]") == "layers[0] should be a tool: a name, or a name with its arguments; got [relu]");
  CHECK(refused("null") == "layers[0] should be a tool: a name, or a name with its arguments; got null");
  CHECK(refused("{}") == "layers[0] should be a tool: a name, or a name with its arguments; got {}");
  CHECK(refused("12") == "layers[0] should be a tool: a name, or a name with its arguments; got 12");
  CHECK(refused("{Knife: null, units: 3}") ==
        "layers[0] should be one tool, but has two names: 'Knife' and 'units'; the arguments of Knife stand below it, "
        "further in: "
        "{Knife: {units: …}}");
  CHECK(refused("{Box: {inside: [1]}}") ==
        "Box: 'inside' should be a tool: a name, or a name with its arguments; got [1]");
}

TEST_CASE("parts are written as read: a word, a bare name, or a key with what differs") {
  CHECK(to_text(write_part(Tool("relu"))) == "relu");
  CHECK(to_text(write_part(Tool("leaky_relu"))) == "leaky_relu");
  CHECK(to_text(write_part(Tool(ReLU{}))) == "ReLU");
  CHECK(to_text(write_part(Tool(ReLU{.slope = 2}))) == "{ReLU: {slope: 2.0}}");
  CHECK(to_text(write_part(Tool(ReLU{}, {.name = "x"}))) == "{ReLU: {name: x}}");
  CHECK(to_text(write_part(Tool("relu", {.name = "x"}))) == "{relu: {name: x}}");
  CHECK(to_text(write_part(read_tool(flow("{leaky_relu: {slope: 0.75}}")))) == "{ReLU: {slope: 0.75}}");
  CHECK(to_text(write_part(Tool(Box{.inside = Knife{.units = 2}, .more = {"relu"}}))) ==
        "{Box: {inside: {Knife: {units: 2}}, more: [relu]}}");
  const Config written = write_part(Tool(Box{.inside = "leaky_relu", .lid = ReLU{.slope = 3}}));
  CHECK(write_part(read_tool(written)) == written);
}

TEST_CASE("a word that nobody knows is written without being looked up") {
  CHECK(to_text(write_part(Tool("not_yet_registered"))) == "not_yet_registered");
}

TEST_CASE("two parts of one name, or a word for two, are refused") {
  struct Other {
    static Schema schema() { return Schema("Other", "Clashes.").alias("relu"); }
    std::string use() const { return ""; }
  };
  CHECK(message_of([] {
          Registry<Tool>("tool", [](Registry<Tool>& all) {
            all.add<Plain>();
            all.add<Plain>();
          });
        }) == "there are two of the tool 'Plain'");
  CHECK(message_of([] {
          Registry<Tool>("tool", [](Registry<Tool>& all) {
            all.add<ReLU>();
            all.add<Other>();
          });
        }) == "the word 'relu' stands for two of the tools: ReLU and Other");
}

TEST_CASE("make from C++ raises all mistakes") {
  CHECK(parts<Tool>().make("Knife", flow("{units: 3}"))->use() == "cuts 3");
  CHECK(message_of([] { parts<Tool>().make("Knife", flow("{rates: 3}")); }) ==
        "Knife needs 'units' (an integer, at least 1): Size of the output.\nKnife has no argument 'rates'; did you "
        "mean 'rate'?");
}

}  // namespace
}  // namespace strata::test
