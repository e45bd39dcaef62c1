// SPDX-License-Identifier: Apache-2.0
// Ops on two numbers, element by element, with broadcasting.
#include <algorithm>
#include <cmath>

#include "graph/rules.h"

namespace strata {

namespace {

template <double (*f)(double, double)> void reference(const Reference& r) {
  const Shape& out = r.outputs[0].shape;
  const rules::BroadcastIndex a(r.inputs[0]->shape, out), b(r.inputs[1]->shape, out);
  for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i)
    r.outputs[0].data[i] = f(r.inputs[0]->data[a(i)], r.inputs[1]->data[b(i)]);
}

// Gradients in the shape of the result, summed back to the operands' shapes.
Values to_operands(const Vjp& v, Value a, Value b) {
  return {a ? sum_to(a, v.inputs[0].shape()) : Value{}, b ? sum_to(b, v.inputs[1].shape()) : Value{}};
}

std::vector<OpExample> binary_examples(Values (*build)(std::span<const Value>), double low = -1, double high = 1,
                                       bool differentiable = true) {
  using rules::floats;
  return {{"equal shapes", {floats({2, 3}, low, high), floats({2, 3}, low, high)}, build, 1, differentiable},
          {"a row", {floats({2, 3}, low, high), floats({3}, low, high)}, build, 1, differentiable},
          {"a column and a row", {floats({2, 1}, low, high), floats({1, 3}, low, high)}, build, 1, differentiable},
          {"a scalar", {floats({}, low, high), floats({2, 2}, low, high)}, build, 1, differentiable}};
}

double plus(double a, double b) { return a + b; }
double minus(double a, double b) { return a - b; }
double times(double a, double b) { return a * b; }
double over(double a, double b) { return a / b; }
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double power_of(double a, double b) { return std::pow(a, b); }

constinit const OpDef add_op{
    .name = "add",
    .doc = "a + b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "add"); },
    .vjp = [](const Vjp& v) { return to_operands(v, v.gradients[0], v.gradients[0]); },
    .reference = reference<plus>,
    .examples = [] { return binary_examples([](std::span<const Value> x) -> Values { return {x[0] + x[1]}; }); },
    .traits = {.elementwise = true},
    .shard = &shard::sum_like};

constinit const OpDef subtract_op{
    .name = "subtract",
    .doc = "a - b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "subtract"); },
    .vjp = [](const Vjp& v) { return to_operands(v, v.gradients[0], negate(v.gradients[0])); },
    .reference = reference<minus>,
    .examples = [] { return binary_examples([](std::span<const Value> x) -> Values { return {x[0] - x[1]}; }); },
    .traits = {.elementwise = true},
    .shard = &shard::sum_like};

constinit const OpDef multiply_op{
    .name = "multiply",
    .doc = "a * b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "multiply"); },
    .vjp = [](const Vjp& v) { return to_operands(v, v.gradients[0] * v.inputs[1], v.gradients[0] * v.inputs[0]); },
    .reference = reference<times>,
    .examples = [] { return binary_examples([](std::span<const Value> x) -> Values { return {x[0] * x[1]}; }); },
    .traits = {.elementwise = true},
    .shard = &shard::scaled};

constinit const OpDef divide_op{
    .name = "divide",
    .doc = "a / b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "divide"); },
    .vjp =
        [](const Vjp& v) {
          Value a = v.gradients[0] / v.inputs[1];
          return to_operands(v, a, negate(a * v.outputs[0]));
        },
    .reference = reference<over>,
    .examples =
        [] { return binary_examples([](std::span<const Value> x) -> Values { return {x[0] / x[1]}; }, 0.5, 2); },
    .traits = {.elementwise = true},
    .shard = &shard::scaled};

// Where both are equal each gets half, as the mean of the one-sided slopes.
Values choose_gradient(const Vjp& v, Value first_wins, Value second_wins) {
  Value g = v.gradients[0];
  Value none = full_like(g, 0), half = g * 0.5;
  Value a = select(first_wins, g, select(second_wins, none, half)),
        b = select(second_wins, g, select(first_wins, none, half));
  return to_operands(v, a, b);
}

constinit const OpDef maximum_op{
    .name = "maximum",
    .doc = "The larger of a and b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "maximum"); },
    .vjp =
        [](const Vjp& v) {
          return choose_gradient(v, greater(v.inputs[0], v.inputs[1]), less(v.inputs[0], v.inputs[1]));
        },
    .reference = reference<larger>,
    .examples =
        [] { return binary_examples([](std::span<const Value> x) -> Values { return {maximum(x[0], x[1])}; }); },
    .traits = {.elementwise = true}};

constinit const OpDef minimum_op{
    .name = "minimum",
    .doc = "The smaller of a and b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "minimum"); },
    .vjp =
        [](const Vjp& v) {
          return choose_gradient(v, less(v.inputs[0], v.inputs[1]), greater(v.inputs[0], v.inputs[1]));
        },
    .reference = reference<smaller>,
    .examples =
        [] { return binary_examples([](std::span<const Value> x) -> Values { return {minimum(x[0], x[1])}; }); },
    .traits = {.elementwise = true}};

constinit const OpDef power_op{
    .name = "power",
    .doc = "a to the power of b; a above 0 for a gradient to b.",
    .infer = [](const Inference& in) { return rules::broadcast(in, "power"); },
    .vjp =
        [](const Vjp& v) {
          Value a = v.inputs[0], b = v.inputs[1], g = v.gradients[0];
          return to_operands(v, g * b * power(a, b - 1.0), g * v.outputs[0] * log(a));
        },
    .reference = reference<power_of>,
    .examples =
        [] { return binary_examples([](std::span<const Value> x) -> Values { return {power(x[0], x[1])}; }, 0.5, 2); },
    .traits = {.elementwise = true}};

}  // namespace

Value add(Value a, Value b) { return a.graph->add(add_op, {a, b}); }
Value subtract(Value a, Value b) { return a.graph->add(subtract_op, {a, b}); }
Value multiply(Value a, Value b) { return a.graph->add(multiply_op, {a, b}); }
Value divide(Value a, Value b) { return a.graph->add(divide_op, {a, b}); }
Value maximum(Value a, Value b) { return a.graph->add(maximum_op, {a, b}); }
Value minimum(Value a, Value b) { return a.graph->add(minimum_op, {a, b}); }
Value power(Value a, Value b) { return a.graph->add(power_op, {a, b}); }

void ops_arithmetic(std::vector<const OpDef*>& all) {
  all.insert(all.end(), {&add_op, &subtract_op, &multiply_op, &divide_op, &maximum_op, &minimum_op, &power_op});
}

}  // namespace strata
