// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of seed, stream, step, row and element.
#include "core/random.h"

#include "graph/rules.h"

namespace strata {

Schema Random::schema() {
  return Schema("random", "What is drawn.")
      .arg("stream", &Random::stream, "Its name: other streams are independent of it.")
      .arg("distribution", &Random::distribution, "Uniform in [0, 1), standard normal, or 32 bits as they are.",
           one_of({"uniform", "normal", "bits"}))
      .arg("shape", &Random::shape, "The shape; the first axis counts rows.");
}

namespace {

constinit const OpDef random_op{
    .name = "random",
    .doc = "Random numbers; row i of the result is row first_row + i of the stream.",
    .attributes = &schema_of<Random>,
    .read = &read_attributes<Random>,
    .infer = [](const Inference& in) -> Types {
      for (const Type& type : in.inputs)
        if (!(type == Type{{}, DType::int64}))
          throw Error(cat("random needs seed, step and first_row as int64 scalars, got ", type));
      auto& a = in.attributes.as<Random>();
      return {{a.shape, a.distribution == "bits" ? DType::int64 : DType::float32}};
    },
    .vjp = [](const Vjp&) -> Values { return Values(3); },
    .reference =
        [](const Reference& r) {
          auto& a = r.attributes.as<Random>();
          const RandomKey key = random_key(static_cast<std::uint64_t>(r.inputs[0]->data[0]), stream_of(a.stream));
          const auto step = static_cast<std::uint64_t>(r.inputs[1]->data[0]),
                     first = static_cast<std::uint64_t>(r.inputs[2]->data[0]);
          const std::size_t rows = a.shape.rank() ? static_cast<std::size_t>(a.shape[0]) : 1,
                            width = rows ? r.outputs[0].data.size() / rows : 0;
          for (std::size_t i = 0; i < r.outputs[0].data.size(); ++i) {
            const std::uint64_t row = first + i / width, element = i % width;
            r.outputs[0].data[i] = a.distribution == "uniform" ? uniform(key, step, row, element)
                                   : a.distribution == "normal"
                                       ? normal(key, step, row, element)
                                       : static_cast<double>(random_word(key, step, row, element));
          }
        },
    .examples = []() -> std::vector<OpExample> {
      const OpExample::Input seed = rules::integers({}, 1, 1000, DType::int64),
                             step = rules::integers({}, 0, 50, DType::int64),
                             row = rules::integers({}, 0, 9, DType::int64);
      return {{"uniform",
               {seed, step, row},
               [](std::span<const Value> x) -> Values {
                 return {random(*x[0].graph, x[0], x[1], x[2], {"a", "uniform", {3, 7}})};
               },
               1,
               false},
              {"normal",
               {seed, step, row},
               [](std::span<const Value> x) -> Values {
                 return {random(*x[0].graph, x[0], x[1], x[2], {"b", "normal", {2, 5}})};
               },
               1,
               false},
              {"bits",
               {seed, step, row},
               [](std::span<const Value> x) -> Values {
                 return {random(*x[0].graph, x[0], x[1], x[2], {"c", "bits", {6}})};
               },
               1,
               false}};
    },
    .traits = {.random = true},
    .shard = &shard::random};

}  // namespace

Value random(Graph& graph, Value seed, Value step, Value first_row, const Random& random) {
  return graph.add(random_op, {seed, step, first_row}, random);
}

void ops_random(std::vector<const OpDef*>& all) { all.push_back(&random_op); }

}  // namespace strata
