// SPDX-License-Identifier: Apache-2.0
// Matrix products, in batches.
#include "graph/rules.h"

namespace strata {

Schema Matmul::schema() {
  return Schema("matmul", "Which operands are transposed.")
      .arg("transpose_a", &Matmul::transpose_a, "a is [..., k, m].")
      .arg("transpose_b", &Matmul::transpose_b, "b is [..., n, k].");
}

namespace {

struct Sizes {
  std::int64_t m, n, ka, kb;
  Shape batch;
};

Sizes sizes(const Shape& a, const Shape& b, const Matmul& how) {
  Sizes s{};
  s.m = how.transpose_a ? a[-1] : a[-2];
  s.ka = how.transpose_a ? a[-2] : a[-1];
  s.kb = how.transpose_b ? b[-1] : b[-2];
  s.n = how.transpose_b ? b[-2] : b[-1];
  const Shape batch_a = a.slice(0, a.rank() - 2), batch_b = b.slice(0, b.rank() - 2);
  try {
    s.batch = broadcast(batch_a, batch_b);
  } catch (const Error&) {
    throw Error(cat("matmul needs batches that broadcast: a ", a, ", b ", b));
  }
  return s;
}

constinit const OpDef matmul_op{
    .name = "matmul",
    .doc = "The matrix product over the last two axes; leading axes are batches and broadcast.",
    .attributes = &schema_of<Matmul>,
    .read = &read_attributes<Matmul>,
    .infer = [](const Inference& in) -> Types {
      rules::want_same_dtype(in, "matmul");
      const Shape &a = in.inputs[0].shape, &b = in.inputs[1].shape;
      if (a.rank() < 2 || b.rank() < 2) throw Error(cat("matmul needs at least two axes: a ", a, ", b ", b));
      const Sizes s = sizes(a, b, in.attributes.as<Matmul>());
      if (s.ka != s.kb) throw Error(cat("matmul needs matching inner sizes: a ", a, ", b ", b));
      return {{s.batch.append(s.m).append(s.n), in.inputs[0].dtype}};
    },
    .vjp = [](const Vjp& v) -> Values {
      auto [ta, tb] = v.attributes.as<Matmul>();
      Value a = v.inputs[0], b = v.inputs[1], g = v.gradients[0];
      Value da = ta ? matmul(b, g, tb, true) : matmul(g, b, false, !tb);
      Value db;
      if (b.shape().rank() == 2 && a.shape().rank() > 2 && !ta) {
        // One b for all batches: the batches are rows of one product.
        const std::int64_t k = a.shape()[-1], n = g.shape()[-1];
        Value rows_a = reshape(a, {a.shape().size() / k, k}), rows_g = reshape(g, {g.shape().size() / n, n});
        db = tb ? matmul(rows_g, rows_a, true, false) : matmul(rows_a, rows_g, true, false);
      } else {
        db = tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false);
      }
      return {sum_to(da, a.shape()), sum_to(db, b.shape())};
    },
    .reference =
        [](const Reference& r) {
          auto& how = r.attributes.as<Matmul>();
          const Shape &a = r.inputs[0]->shape, &b = r.inputs[1]->shape;
          const Sizes s = sizes(a, b, how);
          const rules::BroadcastIndex batch_a(a.slice(0, a.rank() - 2), s.batch),
              batch_b(b.slice(0, b.rank() - 2), s.batch);
          const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n),
                     k = static_cast<std::size_t>(s.ka);
          for (std::size_t batch = 0; batch < static_cast<std::size_t>(s.batch.size()); ++batch) {
            const double* pa = r.inputs[0]->data.data() + batch_a(batch) * m * k;
            const double* pb = r.inputs[1]->data.data() + batch_b(batch) * k * n;
            double* out = r.outputs[0].data.data() + batch * m * n;
            for (std::size_t i = 0; i < m; ++i)
              for (std::size_t c = 0; c < k; ++c)
                for (std::size_t j = 0; j < n; ++j)
                  out[i * n + j] +=
                      pa[how.transpose_a ? c * m + i : i * k + c] * pb[how.transpose_b ? j * k + c : c * n + j];
          }
        },
    .examples = []() -> std::vector<OpExample> {
      using rules::floats;
      return {{"plain",
               {floats({2, 3}), floats({3, 4})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1])}; }},
              {"a transposed",
               {floats({3, 2}), floats({3, 4})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], true)}; }},
              {"b transposed",
               {floats({2, 3}), floats({4, 3})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], false, true)}; }},
              {"both transposed",
               {floats({3, 2}), floats({4, 3})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1], true, true)}; }},
              {"batches",
               {floats({2, 2, 3}), floats({2, 3, 2})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1])}; }},
              {"one b for all batches",
               {floats({2, 2, 3}), floats({3, 2})},
               [](std::span<const Value> x) -> Values { return {matmul(x[0], x[1])}; }},
              {"batches broadcast", {floats({2, 1, 2, 3}), floats({3, 4, 3})}, [](std::span<const Value> x) -> Values {
                 return {matmul(x[0], x[1], false, true)};
               }}};
    },
    .shard = &shard::matmul};

}  // namespace

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return a.graph->add(matmul_op, {a, b}, Matmul{transpose_a, transpose_b});
}

void ops_matmul(std::vector<const OpDef*>& all) { all.push_back(&matmul_op); }

}  // namespace strata
