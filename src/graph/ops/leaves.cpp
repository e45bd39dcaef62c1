// SPDX-License-Identifier: Apache-2.0
// Constants.
#include <algorithm>

#include "graph/rules.h"

namespace strata {

Schema Full::schema() {
  return Schema("full", "One number everywhere.")
      .arg("value", &Full::value, "The number.")
      .arg("shape", &Full::shape, "The shape.")
      .arg("dtype", &Full::dtype, "The dtype.");
}
Schema Literal::schema() {
  return Schema("literal", "Numbers written out.")
      .arg("values", &Literal::values, "Row by row.")
      .arg("shape", &Literal::shape, "The shape.")
      .arg("dtype", &Literal::dtype, "The dtype.");
}

namespace {

constinit const OpDef full_op{
    .name = "full",
    .doc = "An array that holds one number.",
    .attributes = &schema_of<Full>,
    .read = &read_attributes<Full>,
    .infer = [](const Inference& in) -> Types {
      auto& a = in.attributes.as<Full>();
      return {{a.shape, a.dtype}};
    },
    .vjp = [](const Vjp&) -> Values { return {}; },
    // The oracle computes in doubles: only integers are held as their type would.
    .reference =
        [](const Reference& r) {
          const double value = r.attributes.as<Full>().value;
          std::ranges::fill(r.outputs[0].data,
                            is_floating(r.output_types[0].dtype) ? value : round_to(r.output_types[0].dtype, value));
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"a matrix", {rules::floats({2, 3})}, [](std::span<const Value> in) -> Values {
                 return {in[0] + full(*in[0].graph, 1.5, {2, 3})};
               }}};
    }};

constinit const OpDef literal_op{
    .name = "literal",
    .doc = "An array of numbers written in the program.",
    .attributes = &schema_of<Literal>,
    .read = &read_attributes<Literal>,
    .infer = [](const Inference& in) -> Types {
      auto& a = in.attributes.as<Literal>();
      if (static_cast<std::int64_t>(a.values.size()) != a.shape.size())
        throw Error(cat("literal ", a.shape, " needs ", a.shape.size(), " values, got ", a.values.size()));
      return {{a.shape, a.dtype}};
    },
    .vjp = [](const Vjp&) -> Values { return {}; },
    .reference =
        [](const Reference& r) {
          auto& values = r.attributes.as<Literal>().values;
          for (std::size_t i = 0; i < values.size(); ++i)
            r.outputs[0].data[i] =
                is_floating(r.output_types[0].dtype) ? values[i] : round_to(r.output_types[0].dtype, values[i]);
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"a row", {rules::floats({2, 3})}, [](std::span<const Value> in) -> Values {
                 return {in[0] * literal(*in[0].graph, {1, -2, 0.5}, {3})};
               }}};
    }};

}  // namespace

Value full(Graph& graph, double value, const Shape& shape, DType dtype) {
  return graph.add(full_op, {}, Full{value, shape, dtype});
}
Value full_like(Value x, double value) { return full(*x.graph, value, {}, x.dtype()); }
Value literal(Graph& graph, std::vector<double> values, const Shape& shape, DType dtype) {
  return graph.add(literal_op, {}, Literal{std::move(values), shape, dtype});
}

void ops_leaves(std::vector<const OpDef*>& all) { all.insert(all.end(), {&full_op, &literal_op}); }

}  // namespace strata
