// SPDX-License-Identifier: Apache-2.0
// What arguments must satisfy.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "strata/schema.h"

namespace strata {
namespace {

// A rule on a number says nothing of other values: where a schedule stands for a rate, the schedule has rules of its
// own.
std::function<bool(const Config&)> of_number(std::function<bool(double)> holds) {
  return [holds = std::move(holds)](const Config& config) {
    if (const auto* integer = std::get_if<std::int64_t>(&config.data)) return holds(static_cast<double>(*integer));
    if (const auto* number = std::get_if<double>(&config.data)) return holds(*number);
    return true;
  };
}

Rule range(std::string text, std::optional<double> low, std::optional<double> high, bool open_low, bool open_high) {
  Rule rule;
  rule.text = std::move(text);
  rule.low = low;
  rule.high = high;
  rule.open_low = open_low;
  rule.open_high = open_high;
  rule.holds = of_number([=](double value) {  // written so that a NaN satisfies none
    return (!low || (open_low ? value > *low : value >= *low)) &&
           (!high || (open_high ? value < *high : value <= *high));
  });
  return rule;
}

}  // namespace

Rule at_least(double low) { return range(cat("at least ", low), low, {}, false, false); }
Rule above(double low) { return range(cat("above ", low), low, {}, true, false); }
Rule between(double low, double high) { return range(cat("between ", low, " and ", high), low, high, false, false); }
Rule from_up_to(double low, double high) {
  return range(cat("at least ", low, " and below ", high), low, high, false, true);
}

Rule not_zero() {
  Rule rule;
  rule.text = "other than 0";
  rule.holds = of_number([](double value) { return value != 0 && !std::isnan(value); });
  rule.in_code = "; in C++ write 1.0/255: 1/255 is 0 there";
  return rule;
}

Rule not_empty() {
  Rule rule;
  rule.text = "not empty";
  rule.whole = true;
  rule.holds = [](const Config& config) {
    if (const auto* text = config.text()) return !text->empty();
    if (const auto* list = config.list()) return !list->empty();
    return !config.map() || !config.map()->empty();
  };
  return rule;
}

Rule or_empty(Rule rule) {
  rule.holds = [holds = std::move(rule.holds)](const Config& config) {
    return (config.text() && config.text()->empty()) || holds(config);
  };
  return rule;
}

Rule one_of(std::vector<std::string> choices) {
  Rule rule;
  rule.text = "one of " + listed(choices, "or");
  if (choices.size() == 1) rule.text = choices[0];
  rule.choices = choices;
  rule.holds = [choices = std::move(choices)](const Config& config) {
    return config.text() && std::ranges::find(choices, *config.text()) != choices.end();
  };
  return rule;
}

}  // namespace strata
