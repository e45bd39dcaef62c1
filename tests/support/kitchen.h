// SPDX-License-Identifier: Apache-2.0
// A kind of its own for the tests: tools, with every type of argument, an alias, and a tool that holds tools.
#pragma once

#include <string>
#include <vector>

#include "strata/part.h"

namespace strata::test {

struct ToolCommon {
  std::string name{};
  bool trainable = true;
  static Schema schema() {
    return Schema("tool", "What every tool takes.")
        .arg("name", &ToolCommon::name, "How it is called.")
        .arg("trainable", &ToolCommon::trainable, "Whether it learns.");
  }
};

struct ToolKind {
  static constexpr std::string_view word = "tool";
  using Common = ToolCommon;
  template <class T> static constexpr bool fits = requires(const T& t) {
    { t.use() } -> std::same_as<std::string>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    std::string use() const override { return part.use(); }
  };
  virtual ~ToolKind() = default;
  virtual std::string use() const = 0;
};
using Tool = Part<ToolKind>;

}  // namespace strata::test

namespace strata {
template <> struct FieldTypeOf<test::Tool> {
  static const FieldType& get() {
    static const FieldType type = part_field<test::Tool>("tool");
    return type;
  }
};
}  // namespace strata

namespace strata::test {

struct Knife {
  std::int64_t units = 0;
  std::string edge = "plain";
  bool use_bias = true;
  Pair strides = 1;
  double rate = 0.5;
  Optional<double> slope{};
  Ints axis = -1;
  Shape shape{};
  DType dtype = DType::float32;
  std::vector<double> weights{};
  std::map<std::string, std::int64_t> counts{};
  double scale = 1;
  Config extra{};
  static Schema schema() {
    return Schema("Knife", "Cuts.")
        .arg("units", &Knife::units, "Size of the output.", at_least(1))
        .arg("edge", &Knife::edge, "The edge.", one_of({"plain", "serrated"}))
        .arg("use_bias", &Knife::use_bias, "Whether it leans.")
        .arg("strides", &Knife::strides, "Steps, down and across.", at_least(1))
        .arg("rate", &Knife::rate, "How often.", from_up_to(0, 1))
        .arg("slope", &Knife::slope, "The slope, if any.", above(0))
        .arg("axis", &Knife::axis, "The axis, or axes.")
        .arg("shape", &Knife::shape, "The shape.")
        .arg("dtype", &Knife::dtype, "The element type.")
        .arg("weights", &Knife::weights, "A weight each.", between(0, 10))
        .arg("counts", &Knife::counts, "Counts by name.")
        .arg("scale", &Knife::scale, "The factor.", not_zero())
        .arg("extra", &Knife::extra, "Whatever else.")
        .example([] { return Knife{.units = 3}; }, {{4}})
        .example([] { return Knife{.units = 8, .edge = "serrated", .slope = 2}; }, {{4}});
  }
  std::string use() const { return cat("cuts ", units); }
};

struct ReLU {
  double slope = 0;
  static Schema schema() {
    return Schema("ReLU", "Cuts below zero.")
        .arg("slope", &ReLU::slope, "The slope below zero.")
        .alias("relu")
        .example([] { return ReLU{}; });
  }
  std::string use() const { return cat("relu ", slope); }
};

struct Box {
  Tool inside{};
  Optional<Tool> lid{};
  std::vector<Tool> more{};
  double best = 0;
  std::string note{};
  static Schema schema() {
    return Schema("Box", "Holds tools.")
        .arg("inside", &Box::inside, "The tool inside.")
        .arg("lid", &Box::lid, "The lid | if any.")
        .arg("more", &Box::more, "More tools.")
        .keeps("best", &Box::best)
        .keeps("note", &Box::note)
        .masking(Schema::Masking::passes)
        .example([] { return Box{.inside = ReLU{.slope = 0.5}, .lid = "relu"}; });
  }
  std::string use() const { return "holds " + inside->use(); }
};

struct Plain {
  static Schema schema() { return Schema("Plain", "Takes nothing."); }
  std::string use() const { return "plain"; }
};

inline Config flow(std::string_view text) { return parse_flow(text); }

// Reads a struct from flow text, raising all mistakes.
template <class T> T read(const Config& config) {
  T part{};
  Mistakes mistakes;
  schema_of<T>().read(&part, config, mistakes);
  mistakes.raise();
  return part;
}

}  // namespace strata::test

namespace strata {

// In tests there is no generated catalogue: this is what one looks like.
template <> Registry<test::Tool>& parts<test::Tool>();

}  // namespace strata
