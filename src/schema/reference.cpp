// SPDX-License-Identifier: Apache-2.0
#include "schema/reference.h"

#include <algorithm>

#include "base/text.h"

namespace strata {
namespace {

bool is_plain_default(const Schema::Arg& arg) { return !arg.required && !arg.fallback.is_null(); }

// "an integer, at least 1": the type and the rule, unless the rule says more by itself ("one of same or valid").
std::string kind_of(const Schema::Arg& arg) {
  if (!arg.rule.choices.empty()) return arg.rule.text + (arg.type->name.ends_with(" or null") ? ", or null" : "");
  return cat(arg.type->name, arg.rule.text.empty() ? "" : ", ", arg.rule.text);
}

std::string default_of(const Schema::Arg& arg) { return arg.required ? "required" : to_text(arg.fallback); }

// A cell of a Markdown table is ended by a bar and by a line.
std::string cell(std::string_view text) { return replace_all(replace_all(text, "|", "\\|"), "\n", " "); }

std::string rows_of(const Schema& schema) {
  std::string text;
  for (const Schema::Arg& arg : schema.args) {
    const std::string fallback = arg.required ? "required" : cat("`", default_of(arg), "`");
    text += cat("| `", arg.name, "` | ", cell(kind_of(arg)), " | ", cell(fallback), " | ", cell(arg.doc), " |\n");
  }
  return text;
}

constexpr std::string_view table_head = "| argument | value | default | meaning |\n|---|---|---|---|\n";

std::string example_line(const Schema& schema, const Schema::Example& example) {
  const Config args = example.args();
  if (args.is_null() || (args.map() && args.map()->empty())) return schema.name;
  return cat(schema.name, ": ", to_text(args));
}

// The words of a mask's fate, for the manual of layers that say something of it.
std::string masking_of(const Schema& schema) {
  if (schema.mask == Schema::Masking::passes) return "Passes its input's mask on.";
  if (schema.mask == Schema::Masking::uses) return "Uses its input's mask.";
  return "";
}

Config ruled(Config schema, const Rule& rule) {
  if (rule.whole) {
    if (rule.holds && schema.find("type") && *schema.find("type") == Config("string")) schema.set("minLength", 1);
    return schema;
  }
  if (!rule.choices.empty()) {
    Config::List choices;
    for (const std::string& choice : rule.choices) choices.emplace_back(choice);
    choices.push_back(Config(Config::Map{{"pattern", Config("^.*\\$\\{.+\\}.*$")}}));
    const Config pattern = choices.back();
    choices.pop_back();
    return Config(Config::Map{
        {"anyOf", Config(Config::List{Config(Config::Map{{"enum", Config(std::move(choices))}}), pattern})}});
  }
  // Bounds hold for numbers only, so they may stand beside the pattern of a number's text; in lists, for each item.
  if (auto* map = std::get_if<Config::Map>(&schema.data)) {
    for (auto& [key, value] : *map) {
      if (key == "items") value = ruled(value, rule);
      if (key == "anyOf")
        for (Config& one : std::get<Config::List>(value.data)) one = ruled(one, rule);
    }
  }
  if (schema.find("pattern")) {
    if (rule.low) schema.set(rule.open_low ? "exclusiveMinimum" : "minimum", *rule.low);
    if (rule.high) schema.set(rule.open_high ? "exclusiveMaximum" : "maximum", *rule.high);
  }
  return schema;
}

Config json_of(const Schema::Arg& arg) {
  Config value = arg.type->json_schema ? arg.type->json_schema() : Config(Config::Map{});
  const bool nullable = arg.type->name.ends_with(" or null");
  value = ruled(std::move(value), arg.rule);
  if (nullable && !arg.rule.choices.empty()) {
    const Config null(Config::Map{{"type", Config("null")}});
    value = Config(Config::Map{{"anyOf", Config(Config::List{value, null})}});
  }
  value.set("description", arg.doc);
  if (is_plain_default(arg)) value.set("default", arg.fallback);
  return value;
}

}  // namespace

std::string Schema::page() const {
  std::string text = cat(name, "\n  ", doc, "\n");
  for (const Arg& arg : args) {
    text += cat("\n  ", arg.name, " (", kind_of(arg),
                arg.required ? "; required)" : cat("; default ", default_of(arg), ")"), "\n      ", arg.doc, "\n");
  }
  if (!aliases.empty()) text += cat("\n  Also written: ", listed(aliases), "\n");
  if (const std::string masking = masking_of(*this); !masking.empty()) text += cat("\n  ", masking, "\n");
  if (!examples.empty()) text += "\n  Examples\n";
  for (const Example& example : examples) text += cat("      ", example_line(*this, example), "\n");
  return text;
}

std::string markdown_page(const Schema& schema, const Schema* common) {
  std::string text = cat("# ", schema.name, "\n\n", schema.doc, "\n");
  if (!schema.aliases.empty()) text += cat("\nAlso written ", listed(schema.aliases), ".\n");
  if (const std::string masking = masking_of(schema); !masking.empty()) text += cat("\n", masking, "\n");
  if (!schema.args.empty()) text += cat("\n", table_head, rows_of(schema));
  if (common && !common->args.empty())
    text += cat("\nEvery part of this kind also takes\n\n", table_head, rows_of(*common));
  if (!schema.examples.empty()) {
    text += "\n```yaml\n";
    for (const Schema::Example& example : schema.examples) text += cat("- ", example_line(schema, example), "\n");
    text += "```\n";
  }
  return text;
}

Config json_schema(const Schema& schema, const Schema* common) {
  Config properties(Config::Map{});
  Config::List required;
  for (const Schema::Arg& arg : schema.args) {
    properties.set_entry(arg.name, json_of(arg));
    if (arg.required) required.emplace_back(arg.name);
  }
  if (common) {
    for (const Schema::Arg& arg : common->args) {
      if (!schema.find(arg.name)) properties.set_entry(arg.name, json_of(arg));
    }
  }
  Config object(Config::Map{{"type", Config("object")},
                            {"description", Config(schema.doc)},
                            {"properties", std::move(properties)},
                            {"additionalProperties", Config(false)}});
  const std::size_t needed = required.size();
  if (needed > 0) object.set_entry("required", Config(std::move(required)));
  if (needed == 1) {  // its bare value stands for the map
    const Schema::Arg& only = *std::ranges::find_if(schema.args, &Schema::Arg::required);
    return Config(Config::Map{{"anyOf", Config(Config::List{std::move(object), json_of(only)})}});
  }
  if (needed > 0) return object;
  return Config(
      Config::Map{{"anyOf", Config(Config::List{std::move(object), Config(Config::Map{{"type", Config("null")}})})}});
}

Config json_schema(const Names& registry, const Schema* common) {
  Config::List bare;
  Config properties(Config::Map{});
  for (const std::string& word : registry.words()) {
    const Schema& schema = registry.schema(word);
    if (std::ranges::none_of(schema.args, &Schema::Arg::required)) bare.emplace_back(word);
    properties.set_entry(word, word == schema.name
                                   ? json_schema(schema, common)
                                   : Config(Config::Map{{"$ref", Config(cat("#/$defs/", registry.word(),
                                                                            "/anyOf/1/properties/", schema.name))}}));
  }
  const Config word(Config::Map{{"enum", Config(std::move(bare))}});
  const Config map(Config::Map{{"type", Config("object")},
                               {"properties", std::move(properties)},
                               {"additionalProperties", Config(false)},
                               {"minProperties", Config(1)},
                               {"maxProperties", Config(1)}});
  return Config(Config::Map{{"anyOf", Config(Config::List{word, map})}});
}

}  // namespace strata
