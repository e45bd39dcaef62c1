// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, select, casts.
#include <cmath>

#include "graph/rules.h"

namespace strata {

Schema Cast::schema() { return Schema("cast", "To another dtype.").arg("dtype", &Cast::dtype, "The dtype."); }

namespace {

template <bool (*f)(double, double)> void reference(const Reference& r) {
  const Shape& out = r.outputs[0].shape;
  const rules::BroadcastIndex a(r.inputs[0]->shape, out), b(r.inputs[1]->shape, out);
  for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
    r.outputs[0].data[i] = f(r.inputs[0]->data[a(i)], r.inputs[1]->data[b(i)]);
}

Types comparison(const Inference& in, std::string_view op) {
  return {{rules::broadcast(in, op)[0].shape, DType::boolean}};
}
Types logic(const Inference& in, std::string_view op) {
  for (const Type& type : in.inputs)
    if (type.dtype != DType::boolean) throw Error(cat(op, " needs bool inputs, got ", type));
  return rules::broadcast(in, op);
}
Values no_gradients(const Vjp& v) { return Values(v.inputs.size()); }

std::vector<OpExample> compared(Values (*build)(std::span<const Value>)) {
  return {{"small integers", {rules::integers({3, 4}, 0, 3), rules::integers({4}, 0, 3)}, build, 1, false},
          {"floats", {rules::floats({2, 3}), rules::floats({2, 1})}, build, 1, false}};
}
std::vector<OpExample> logical(Values (*build)(std::span<const Value>)) {
  return {{"two arrays", {rules::bools({2, 3}), rules::bools({3})}, build, 1, false}};
}

bool eq(double a, double b) { return a == b; }
bool ne(double a, double b) { return a != b; }
bool lt(double a, double b) { return a < b; }
bool le(double a, double b) { return a <= b; }
bool gt(double a, double b) { return a > b; }
bool ge(double a, double b) { return a >= b; }
bool both(double a, double b) { return a != 0 && b != 0; }
bool either(double a, double b) { return a != 0 || b != 0; }

constexpr Traits each{.elementwise = true};

constinit const OpDef equal_op{
    .name = "equal",
    .doc = "a == b.",
    .infer = [](const Inference& in) { return comparison(in, "equal"); },
    .vjp = no_gradients,
    .reference = reference<eq>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {equal(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef not_equal_op{
    .name = "not_equal",
    .doc = "a != b.",
    .infer = [](const Inference& in) { return comparison(in, "not_equal"); },
    .vjp = no_gradients,
    .reference = reference<ne>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {not_equal(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef less_op{
    .name = "less",
    .doc = "a < b.",
    .infer = [](const Inference& in) { return comparison(in, "less"); },
    .vjp = no_gradients,
    .reference = reference<lt>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {less(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef less_equal_op{
    .name = "less_equal",
    .doc = "a <= b.",
    .infer = [](const Inference& in) { return comparison(in, "less_equal"); },
    .vjp = no_gradients,
    .reference = reference<le>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {less_equal(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef greater_op{
    .name = "greater",
    .doc = "a > b.",
    .infer = [](const Inference& in) { return comparison(in, "greater"); },
    .vjp = no_gradients,
    .reference = reference<gt>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {greater(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef greater_equal_op{
    .name = "greater_equal",
    .doc = "a >= b.",
    .infer = [](const Inference& in) { return comparison(in, "greater_equal"); },
    .vjp = no_gradients,
    .reference = reference<ge>,
    .examples = [] { return compared([](std::span<const Value> x) -> Values { return {greater_equal(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef logical_and_op{
    .name = "logical_and",
    .doc = "a and b.",
    .infer = [](const Inference& in) { return logic(in, "logical_and"); },
    .vjp = no_gradients,
    .reference = reference<both>,
    .examples = [] { return logical([](std::span<const Value> x) -> Values { return {logical_and(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef logical_or_op{
    .name = "logical_or",
    .doc = "a or b.",
    .infer = [](const Inference& in) { return logic(in, "logical_or"); },
    .vjp = no_gradients,
    .reference = reference<either>,
    .examples = [] { return logical([](std::span<const Value> x) -> Values { return {logical_or(x[0], x[1])}; }); },
    .traits = each};
constinit const OpDef logical_not_op{.name = "logical_not",
                                     .doc = "not a.",
                                     .infer = [](const Inference& in) { return logic(in, "logical_not"); },
                                     .vjp = no_gradients,
                                     .reference =
                                         [](const Reference& r) {
                                           for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
                                             r.outputs[0].data[i] = r.inputs[0]->data[i] == 0;
                                         },
                                     .examples = []() -> std::vector<OpExample> {
                                       return {{"an array",
                                                {rules::bools({2, 3})},
                                                [](std::span<const Value> x) -> Values { return {logical_not(x[0])}; },
                                                1,
                                                false}};
                                     },
                                     .traits = each};

constinit const OpDef is_finite_op{
    .name = "is_finite",
    .doc = "Whether x is neither infinite nor a NaN.",
    .infer = [](const Inference& in) -> Types {
      return {{in.inputs[0].shape, DType::boolean}};
    },
    .vjp = no_gradients,
    .reference =
        [](const Reference& r) {
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
            r.outputs[0].data[i] = std::isfinite(r.inputs[0]->data[i]);
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"an array with infinities",
               {rules::floats({2, 3})},
               [](std::span<const Value> x) -> Values { return {is_finite(x[0] / floor(x[0] + 0.5))}; },
               1,
               false}};
    },
    .traits = each};

constinit const OpDef select_op{
    .name = "select",
    .doc = "Where the condition holds a, elsewhere b.",
    .infer = [](const Inference& in) -> Types {
      if (in.inputs[0].dtype != DType::boolean) throw Error(cat("select needs a bool condition, got ", in.inputs[0]));
      Type type = rules::broadcast({in.inputs.subspan(1), in.attributes, in.bodies}, "select")[0];
      type.shape = rules::broadcast(in.inputs[0].shape, type.shape, "select");
      return {type};
    },
    .vjp = [](const Vjp& v) -> Values {
      Value g = v.gradients[0], none = full_like(g, 0);
      return {Value{}, sum_to(select(v.inputs[0], g, none), v.inputs[1].shape()),
              sum_to(select(v.inputs[0], none, g), v.inputs[2].shape())};
    },
    .reference =
        [](const Reference& r) {
          const Shape& out = r.outputs[0].shape;
          const rules::BroadcastIndex c(r.inputs[0]->shape, out), a(r.inputs[1]->shape, out),
              b(r.inputs[2]->shape, out);
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
            r.outputs[0].data[i] = r.inputs[0]->data[c(i)] != 0 ? r.inputs[1]->data[a(i)] : r.inputs[2]->data[b(i)];
        },
    .examples = []() -> std::vector<OpExample> {
      auto build = [](std::span<const Value> x) -> Values { return {select(x[0], x[1], x[2])}; };
      return {
          {"equal shapes", {rules::bools({2, 3}), rules::floats({2, 3}), rules::floats({2, 3})}, build},
          {"a column chooses, a scalar else", {rules::bools({2, 1}), rules::floats({2, 3}), rules::floats({})}, build}};
    },
    .traits = each};

constinit const OpDef cast_op{
    .name = "cast",
    .doc = "To another dtype: floats to integers truncate; gradients pass between floats.",
    .attributes = &schema_of<Cast>,
    .read = &read_attributes<Cast>,
    .infer = [](const Inference& in) -> Types {
      return {{in.inputs[0].shape, in.attributes.as<Cast>().dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      const bool passes = is_floating(v.inputs[0].dtype()) && is_floating(v.outputs[0].dtype());
      return {passes ? cast(v.gradients[0], v.inputs[0].dtype()) : Value{}};
    },
    .reference =
        [](const Reference& r) {
          const DType to = r.output_types[0].dtype;
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
            r.outputs[0].data[i] = is_floating(to) ? r.inputs[0]->data[i] : round_to(to, r.inputs[0]->data[i]);
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"to bfloat16 and back",
               {rules::floats({2, 3})},
               [](std::span<const Value> x) -> Values { return {cast(cast(x[0], DType::float64), DType::float32)}; }},
              {"to an integer",
               {rules::floats({2, 3}, -5, 5)},
               [](std::span<const Value> x) -> Values { return {cast(x[0], DType::int32)}; },
               1,
               false},
              {"from bytes",
               {rules::integers({2, 3}, 0, 255, DType::uint8)},
               [](std::span<const Value> x) -> Values { return {cast(x[0], DType::float32)}; },
               1,
               false}};
    },
    .traits = each,
    .shard = &shard::scaled};

}  // namespace

Value equal(Value a, Value b) { return a.graph->add(equal_op, {a, b}); }
Value not_equal(Value a, Value b) { return a.graph->add(not_equal_op, {a, b}); }
Value less(Value a, Value b) { return a.graph->add(less_op, {a, b}); }
Value less_equal(Value a, Value b) { return a.graph->add(less_equal_op, {a, b}); }
Value greater(Value a, Value b) { return a.graph->add(greater_op, {a, b}); }
Value greater_equal(Value a, Value b) { return a.graph->add(greater_equal_op, {a, b}); }
Value logical_and(Value a, Value b) { return a.graph->add(logical_and_op, {a, b}); }
Value logical_or(Value a, Value b) { return a.graph->add(logical_or_op, {a, b}); }
Value logical_not(Value a) { return a.graph->add(logical_not_op, {a}); }
Value is_finite(Value x) { return x.graph->add(is_finite_op, {x}); }
Value select(Value condition, Value yes, Value no) { return condition.graph->add(select_op, {condition, yes, no}); }
Value cast(Value x, DType dtype) { return x.dtype() == dtype ? x : x.graph->add(cast_op, {x}, Cast{dtype}); }

void ops_compare(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&equal_op, &not_equal_op, &less_op, &less_equal_op, &greater_op, &greater_equal_op,
                         &logical_and_op, &logical_or_op, &logical_not_op, &is_finite_op, &select_op, &cast_op});
}

}  // namespace strata
