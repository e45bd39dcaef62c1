// SPDX-License-Identifier: Apache-2.0
// Rows by index, and back: embeddings.
#include <algorithm>

#include "graph/rules.h"

namespace strata {

Schema OneHot::schema() {
  return Schema("one_hot", "How wide.")
      .arg("depth", &OneHot::depth, "Classes.", at_least(1))
      .arg("dtype", &OneHot::dtype, "Of the result.");
}
Schema Rows::schema() {
  return Schema("rows", "How many.").arg("count", &Rows::count, "Rows of the table.", at_least(1));
}

namespace {

void want_integers(const Type& type, std::string_view op) {
  if (!is_integer(type.dtype)) throw Error(cat(op, " needs integer indices, got ", type, "; cast them"));
}

constinit const OpDef gather_op{
    .name = "gather",
    .doc = "The table's rows at the indices; an index outside the table gives zeros.",
    .infer = [](const Inference& in) -> Types {
      want_integers(in.inputs[1], "gather");
      if (in.inputs[0].shape.rank() < 1) throw Error("gather needs a table with rows");
      Shape shape = in.inputs[1].shape;
      for (int i = 1; i < in.inputs[0].shape.rank(); ++i) shape = shape.append(in.inputs[0].shape[i]);
      return {{shape, in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {scatter_add(v.inputs[1], v.gradients[0], v.inputs[0].shape()[0]), Value{}};
    },
    .reference =
        [](const Reference& r) {
          const auto rows = static_cast<double>(r.inputs[0]->shape[0]);
          const std::size_t width = r.inputs[0]->data.size() / std::max<std::size_t>(1, static_cast<std::size_t>(rows));
          for (std::size_t i = 0; i < r.inputs[1]->data.size(); ++i) {
            const double index = r.inputs[1]->data[i];
            if (index >= 0 && index < rows)
              std::copy_n(
                  r.inputs[0]->data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * width),
                  width, r.outputs[0].data.begin() + static_cast<std::ptrdiff_t>(i * width));
          }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"rows of a table",
               {rules::floats({5, 3}), rules::integers({2, 4}, 0, 5)},
               [](std::span<const Value> x) -> Values { return {gather(x[0], x[1])}; }},
              {"some outside",
               {rules::floats({3, 2}), rules::integers({6}, -1, 5)},
               [](std::span<const Value> x) -> Values { return {gather(x[0], x[1])}; }}};
    },
    .shard = &shard::gather};

constinit const OpDef scatter_add_op{
    .name = "scatter_add",
    .doc = "A table of zeros to whose rows the updates are added; indices outside add nothing.",
    .attributes = &schema_of<Rows>,
    .read = &read_attributes<Rows>,
    .infer = [](const Inference& in) -> Types {
      want_integers(in.inputs[0], "scatter_add");
      const Shape &indices = in.inputs[0].shape, &updates = in.inputs[1].shape;
      if (updates.rank() < indices.rank() || !(updates.slice(0, indices.rank()) == indices))
        throw Error(cat("scatter_add needs an update for each index: indices ", indices, ", updates ", updates));
      return {
          {updates.slice(indices.rank(), updates.rank()).prepend(in.attributes.as<Rows>().count), in.inputs[1].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      return {Value{}, gather(v.gradients[0], v.inputs[0])};
    },
    .reference =
        [](const Reference& r) {
          const auto rows = static_cast<double>(r.outputs[0].shape[0]);
          const std::size_t width = r.outputs[0].data.size() / static_cast<std::size_t>(rows);
          for (std::size_t i = 0; i < r.inputs[0]->data.size(); ++i) {
            const double index = r.inputs[0]->data[i];
            if (index < 0 || index >= rows) continue;
            for (std::size_t k = 0; k < width; ++k)
              r.outputs[0].data[static_cast<std::size_t>(index) * width + k] += r.inputs[1]->data[i * width + k];
          }
        },
    .examples = []() -> std::vector<OpExample> {
      return {{"equal indices add up",
               {rules::integers({6}, 0, 4), rules::floats({6, 2})},
               [](std::span<const Value> x) -> Values { return {scatter_add(x[0], x[1], 4)}; }}};
    },
    .shard = &shard::scatter_add};

constinit const OpDef one_hot_op{.name = "one_hot",
                                 .doc = "1 at the index along a new last axis, 0 elsewhere and for indices outside.",
                                 .attributes = &schema_of<OneHot>,
                                 .read = &read_attributes<OneHot>,
                                 .infer = [](const Inference& in) -> Types {
                                   want_integers(in.inputs[0], "one_hot");
                                   auto& a = in.attributes.as<OneHot>();
                                   return {{in.inputs[0].shape.append(a.depth), a.dtype}};
                                 },
                                 .vjp = [](const Vjp&) -> Values { return {Value{}}; },
                                 .reference =
                                     [](const Reference& r) {
                                       const auto depth = static_cast<std::size_t>(r.attributes.as<OneHot>().depth);
                                       for (std::size_t i = 0; i < r.inputs[0]->data.size(); ++i) {
                                         const double index = r.inputs[0]->data[i];
                                         if (index >= 0 && index < static_cast<double>(depth))
                                           r.outputs[0].data[i * depth + static_cast<std::size_t>(index)] = 1;
                                       }
                                     },
                                 .examples = []() -> std::vector<OpExample> {
                                   return {{"a row of classes",
                                            {rules::integers({5}, -1, 4)},
                                            [](std::span<const Value> x) -> Values { return {one_hot(x[0], 3)}; },
                                            1,
                                            false}};
                                 },
                                 .shard = &shard::one_hot};

}  // namespace

Value gather(Value table, Value indices) { return table.graph->add(gather_op, {table, indices}); }
Value scatter_add(Value indices, Value updates, std::int64_t rows) {
  return indices.graph->add(scatter_add_op, {indices, updates}, Rows{rows});
}
Value one_hot(Value indices, std::int64_t depth, DType dtype) {
  return indices.graph->add(one_hot_op, {indices}, OneHot{depth, dtype});
}

void ops_gather(std::vector<const OpDef*>& all) { all.insert(all.end(), {&gather_op, &scatter_add_op, &one_hot_op}); }

}  // namespace strata
