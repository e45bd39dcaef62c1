// SPDX-License-Identifier: Apache-2.0
// Flags and help, both from the verbs' schemas.
#include "flags.h"

#include <algorithm>

#include "base/text.h"

namespace strata {

namespace {

bool takes_list(const Schema::Arg& arg) { return arg.fallback.list() != nullptr; }

// --fresh alone says true.
bool is_switch(const Schema::Arg& arg) { return std::holds_alternative<bool>(arg.fallback.data); }

std::string flag_of(const Schema::Arg& arg) { return "--" + arg.name; }

}  // namespace

Config read_flags(const Schema& schema, std::span<const std::string> words) {
  Config config(Config::Map{});
  std::vector<std::string> known{"--help"};
  for (const auto& arg : schema.args) known.push_back(flag_of(arg));
  auto give = [&](const Schema::Arg& arg, const std::string& text) {
    Config value(text, Where{"", 0, 0, flag_of(arg)});
    value.plain = true;
    value.key = value.where;
    if (takes_list(arg)) {
      const Config* before = config.find(arg.name);
      Config::List list = before ? *before->list() : Config::List{};
      list.push_back(value);
      Config all(list, value.where);
      all.key = value.where;
      config.set(arg.name, all);
      return;
    }
    if (config.find(arg.name)) throw UsageError(cat("strata ", schema.name, ": ", flag_of(arg), " is given twice"));
    config.set(arg.name, value);
  };
  std::size_t positional = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      while (positional < schema.args.size() &&
             (config.find(schema.args[positional].name) || takes_list(schema.args[positional]) ||
              is_switch(schema.args[positional])))
        ++positional;
      if (positional == schema.args.size())
        throw UsageError(cat("strata ", schema.name, ": nothing takes '", word, "'"));
      give(schema.args[positional++], word);
      continue;
    }
    const auto equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const Schema::Arg* arg = schema.find(replace_all(flag.substr(2), "-", "_"));
    if (!arg) throw UsageError(cat("strata ", schema.name, " has no flag ", flag, did_you_mean(flag, known)));
    if (equals != std::string::npos) give(*arg, word.substr(equals + 1));
    else if (is_switch(*arg)) give(*arg, "true");
    else if (i + 1 < words.size()) give(*arg, words[++i]);
    else throw UsageError(cat("strata ", schema.name, ": ", flag, " needs a value (", arg->type->name, ")"));
  }
  return config;
}

std::string help_of(const Schema& schema) {
  std::string text = cat("strata ", schema.name);
  for (const auto& arg : schema.args)
    if (arg.required) text += " " + arg.name;
  text += cat("\n  ", schema.doc, "\n");
  for (const auto& arg : schema.args) {
    text += cat("\n  ", flag_of(arg), "   ", arg.doc);
    if (!arg.rule.choices.empty()) text += cat(" One of ", listed(arg.rule.choices, "or"), ".");
    const bool plain =
        arg.fallback.is_null() || (arg.fallback.text() && arg.fallback.text()->empty()) || arg.fallback.list();
    if (!arg.required && !plain) text += cat(" Default ", to_text(arg.fallback), ".");
  }
  return text + (schema.args.empty() ? "" : "\n");
}

std::string help_of_all() {
  std::string text = "strata trains neural networks from a YAML file.\n\n  strata VERB …\n\n";
  const auto& verbs = parts<Verb>();
  std::size_t width = 0;
  for (const auto& name : verbs.names()) width = std::max(width, name.size());
  for (const auto& name : verbs.names())
    text += cat("  ", name, std::string(width - name.size() + 2, ' '), verbs.schema(name).doc, "\n");
  return text +
         "\n  strata VERB --help tells more. Exit codes: 0 done, 1 the input is wrong, 2 usage, 3 the run failed, 70 a "
         "bug of strata.\n";
}

}  // namespace strata
