// SPDX-License-Identifier: Apache-2.0
// Functions of one number, element by element.
#include <cmath>

#include "graph/rules.h"

namespace strata {

namespace {

template <double (*f)(double)> void reference(const Reference& r) {
  for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) r.outputs[0].data[i] = f(r.inputs[0]->data[i]);
}
template <Value (*f)(Value)> Values build(std::span<const Value> x) { return {f(x[0])}; }

// One example of rank 2 and one of rank 1, over [low, high).
template <Value (*f)(Value)> std::vector<OpExample> over(double low, double high, bool differentiable = true) {
  return {{"a matrix", {rules::floats({2, 3}, low, high)}, build<f>, 1, differentiable},
          {"a row", {rules::floats({5}, low, high)}, build<f>, 1, differentiable}};
}

Types floating(const Inference& in, std::string_view op) {
  rules::want_floating(in.inputs[0], op, "x");
  return {in.inputs[0]};
}

double minus(double x) { return -x; }
double absolute_of(double x) { return std::abs(x); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double exp_of(double x) { return std::exp(x); }
double expm1_of(double x) { return std::expm1(x); }
double log_of(double x) { return std::log(x); }
double log1p_of(double x) { return std::log1p(x); }
double sqrt_of(double x) { return std::sqrt(x); }
double rsqrt_of(double x) { return 1 / std::sqrt(x); }
double square_of(double x) { return x * x; }
double reciprocal_of(double x) { return 1 / x; }
double sin_of(double x) { return std::sin(x); }
double cos_of(double x) { return std::cos(x); }
double tanh_of(double x) { return std::tanh(x); }
double sigmoid_of(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double erf_of(double x) { return std::erf(x); }
double relu_of(double x) { return x > 0 ? x : std::isnan(x) ? x : 0; }
double softplus_of(double x) { return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : 0); }
double floor_of(double x) { return std::floor(x); }
double round_of(double x) { return std::nearbyint(x); }

constexpr Traits each{.elementwise = true};
constexpr double two_over_root_pi = 1.1283791670955126;

constinit const OpDef negate_op{.name = "negate",
                                .doc = "-x.",
                                .infer = rules::same,
                                .vjp = [](const Vjp& v) -> Values { return {negate(v.gradients[0])}; },
                                .reference = reference<minus>,
                                .examples = [] { return over<negate>(-1, 1); },
                                .traits = each,
                                .shard = &shard::scaled};
constinit const OpDef absolute_op{.name = "absolute",
                                  .doc = "|x|; gradient 0 at 0.",
                                  .infer = rules::same,
                                  .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * sign(v.inputs[0])}; },
                                  .reference = reference<absolute_of>,
                                  .examples = [] { return over<absolute>(0.1, 1); },
                                  .traits = each};
constinit const OpDef sign_op{.name = "sign",
                              .doc = "-1, 0 or 1; gradient 0.",
                              .infer = rules::same,
                              .vjp = [](const Vjp&) -> Values { return {Value{}}; },
                              .reference = reference<sign_of>,
                              .examples = [] { return over<sign>(-1, 1, false); },
                              .traits = each};
constinit const OpDef exp_op{.name = "exp",
                             .doc = "e to the power of x.",
                             .infer = [](const Inference& in) { return floating(in, "exp"); },
                             .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * v.outputs[0]}; },
                             .reference = reference<exp_of>,
                             .examples = [] { return over<exp>(-2, 2); },
                             .traits = each};
constinit const OpDef expm1_op{.name = "expm1",
                               .doc = "exp(x) - 1, right near 0.",
                               .infer = [](const Inference& in) { return floating(in, "expm1"); },
                               .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * (v.outputs[0] + 1.0)}; },
                               .reference = reference<expm1_of>,
                               .examples = [] { return over<expm1>(-1, 1); },
                               .traits = each};
constinit const OpDef log_op{.name = "log",
                             .doc = "Natural logarithm.",
                             .infer = [](const Inference& in) { return floating(in, "log"); },
                             .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] / v.inputs[0]}; },
                             .reference = reference<log_of>,
                             .examples = [] { return over<log>(0.3, 3); },
                             .traits = each};
constinit const OpDef log1p_op{.name = "log1p",
                               .doc = "log(1 + x), right near 0.",
                               .infer = [](const Inference& in) { return floating(in, "log1p"); },
                               .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] / (v.inputs[0] + 1.0)}; },
                               .reference = reference<log1p_of>,
                               .examples = [] { return over<log1p>(-0.5, 2); },
                               .traits = each};
constinit const OpDef sqrt_op{.name = "sqrt",
                              .doc = "Square root.",
                              .infer = [](const Inference& in) { return floating(in, "sqrt"); },
                              .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * 0.5 / v.outputs[0]}; },
                              .reference = reference<sqrt_of>,
                              .examples = [] { return over<sqrt>(0.3, 3); },
                              .traits = each};
constinit const OpDef rsqrt_op{
    .name = "rsqrt",
    .doc = "1 / sqrt(x).",
    .infer = [](const Inference& in) { return floating(in, "rsqrt"); },
    .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * -0.5 * v.outputs[0] / v.inputs[0]}; },
    .reference = reference<rsqrt_of>,
    .examples = [] { return over<rsqrt>(0.3, 3); },
    .traits = each};
constinit const OpDef square_op{.name = "square",
                                .doc = "x * x.",
                                .infer = rules::same,
                                .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * (v.inputs[0] * 2.0)}; },
                                .reference = reference<square_of>,
                                .examples = [] { return over<square>(-1, 1); },
                                .traits = each};
constinit const OpDef reciprocal_op{
    .name = "reciprocal",
    .doc = "1 / x.",
    .infer = [](const Inference& in) { return floating(in, "reciprocal"); },
    .vjp = [](const Vjp& v) -> Values { return {negate(v.gradients[0] * square(v.outputs[0]))}; },
    .reference = reference<reciprocal_of>,
    .examples = [] { return over<reciprocal>(0.5, 2); },
    .traits = each};
constinit const OpDef sin_op{.name = "sin",
                             .doc = "Sine, in radians.",
                             .infer = [](const Inference& in) { return floating(in, "sin"); },
                             .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * cos(v.inputs[0])}; },
                             .reference = reference<sin_of>,
                             .examples = [] { return over<sin>(-3, 3); },
                             .traits = each};
constinit const OpDef cos_op{.name = "cos",
                             .doc = "Cosine, in radians.",
                             .infer = [](const Inference& in) { return floating(in, "cos"); },
                             .vjp = [](const Vjp& v) -> Values { return {negate(v.gradients[0] * sin(v.inputs[0]))}; },
                             .reference = reference<cos_of>,
                             .examples = [] { return over<cos>(-3, 3); },
                             .traits = each};
constinit const OpDef tanh_op{
    .name = "tanh",
    .doc = "Hyperbolic tangent.",
    .infer = [](const Inference& in) { return floating(in, "tanh"); },
    .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * (1.0 - square(v.outputs[0]))}; },
    .reference = reference<tanh_of>,
    .examples = [] { return over<tanh>(-2, 2); },
    .traits = each};
constinit const OpDef sigmoid_op{
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)).",
    .infer = [](const Inference& in) { return floating(in, "sigmoid"); },
    .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * (v.outputs[0] * (1.0 - v.outputs[0]))}; },
    .reference = reference<sigmoid_of>,
    .examples = [] { return over<sigmoid>(-4, 4); },
    .traits = each};
constinit const OpDef erf_op{.name = "erf",
                             .doc = "The error function.",
                             .infer = [](const Inference& in) { return floating(in, "erf"); },
                             .vjp = [](const Vjp& v) -> Values {
                               return {v.gradients[0] * (exp(negate(square(v.inputs[0]))) * two_over_root_pi)};
                             },
                             .reference = reference<erf_of>,
                             .examples = [] { return over<erf>(-2, 2); },
                             .traits = each};
constinit const OpDef relu_op{
    .name = "relu",
    .doc = "max(x, 0); gradient 0 at 0.",
    .infer = rules::same,
    .vjp = [](const Vjp& v) -> Values {
      return {select(greater(v.outputs[0], full_like(v.outputs[0], 0)), v.gradients[0], full_like(v.gradients[0], 0))};
    },
    .reference = reference<relu_of>,
    .examples = [] { return over<relu>(-1, 1); },
    .traits = each};
constinit const OpDef softplus_op{.name = "softplus",
                                  .doc = "log(1 + exp(x)).",
                                  .infer = [](const Inference& in) { return floating(in, "softplus"); },
                                  .vjp = [](const Vjp& v) -> Values { return {v.gradients[0] * sigmoid(v.inputs[0])}; },
                                  .reference = reference<softplus_of>,
                                  .examples = [] { return over<softplus>(-4, 4); },
                                  .traits = each};
constinit const OpDef floor_op{.name = "floor",
                               .doc = "The largest whole number not above x; gradient 0.",
                               .infer = rules::same,
                               .vjp = [](const Vjp&) -> Values { return {Value{}}; },
                               .reference = reference<floor_of>,
                               .examples = [] { return over<floor>(-3, 3, false); },
                               .traits = each};
constinit const OpDef round_op{.name = "round",
                               .doc = "The nearest whole number, halves to even; gradient 0.",
                               .infer = rules::same,
                               .vjp = [](const Vjp&) -> Values { return {Value{}}; },
                               .reference = reference<round_of>,
                               .examples = [] { return over<round>(-3, 3, false); },
                               .traits = each};
constinit const OpDef stop_gradient_op{.name = "stop_gradient",
                                       .doc = "x, of which nothing is differentiated.",
                                       .infer = rules::same,
                                       .vjp = [](const Vjp&) -> Values { return {Value{}}; },
                                       .reference = [](const Reference& r) { r.outputs[0].data = r.inputs[0]->data; },
                                       .examples = [] { return over<stop_gradient>(-1, 1, false); },
                                       .traits = each,
                                       .shard = &shard::scaled};

}  // namespace

Value negate(Value x) { return x.graph->add(negate_op, {x}); }
Value absolute(Value x) { return x.graph->add(absolute_op, {x}); }
Value sign(Value x) { return x.graph->add(sign_op, {x}); }
Value exp(Value x) { return x.graph->add(exp_op, {x}); }
Value expm1(Value x) { return x.graph->add(expm1_op, {x}); }
Value log(Value x) { return x.graph->add(log_op, {x}); }
Value log1p(Value x) { return x.graph->add(log1p_op, {x}); }
Value sqrt(Value x) { return x.graph->add(sqrt_op, {x}); }
Value rsqrt(Value x) { return x.graph->add(rsqrt_op, {x}); }
Value square(Value x) { return x.graph->add(square_op, {x}); }
Value reciprocal(Value x) { return x.graph->add(reciprocal_op, {x}); }
Value sin(Value x) { return x.graph->add(sin_op, {x}); }
Value cos(Value x) { return x.graph->add(cos_op, {x}); }
Value tanh(Value x) { return x.graph->add(tanh_op, {x}); }
Value sigmoid(Value x) { return x.graph->add(sigmoid_op, {x}); }
Value erf(Value x) { return x.graph->add(erf_op, {x}); }
Value relu(Value x) { return x.graph->add(relu_op, {x}); }
Value softplus(Value x) { return x.graph->add(softplus_op, {x}); }
Value floor(Value x) { return x.graph->add(floor_op, {x}); }
Value round(Value x) { return x.graph->add(round_op, {x}); }
Value stop_gradient(Value x) { return x.graph->add(stop_gradient_op, {x}); }

void ops_unary(std::vector<const OpDef*>& all) {
  all.insert(all.end(),
             {&negate_op,  &absolute_op, &sign_op,   &exp_op,        &expm1_op, &log_op,   &log1p_op,
              &sqrt_op,    &rsqrt_op,    &square_op, &reciprocal_op, &sin_op,   &cos_op,   &tanh_op,
              &sigmoid_op, &erf_op,      &relu_op,   &softplus_op,   &floor_op, &round_op, &stop_gradient_op});
}

}  // namespace strata
