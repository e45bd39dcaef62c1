// SPDX-License-Identifier: Apache-2.0
// Matrix products: oneDNN's sgemm or its matmul primitive, as measured; bfloat16 natively where the processor can,
// 16-bit floats through float elsewhere; doubles in blocked loops. A fused bias and activation run over the product
// while it is in cache.
#include <algorithm>
#include <cstring>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

using Dims = std::vector<std::int64_t>;

// Products of [m, k] and [k, n], either possibly stored transposed, over batch axes that broadcast (of equal rank
// here).
struct Geometry {
  Dims a_batch, b_batch, batch;
  std::int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;

  std::int64_t products() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : batch) count *= extent;
    return count;
  }
  // Which of an operand's matrices a product reads.
  std::int64_t matrix(const Dims& operand, std::int64_t product) const {
    std::int64_t number = 0, stride = 1;
    for (std::size_t axis = batch.size(); axis-- > 0; product /= batch[axis]) {
      if (operand[axis] > 1) number += product % batch[axis] * stride;
      stride *= operand[axis];
    }
    return number;
  }
};

Dims batch_of(const Shape& shape, int rank) {
  Dims batch(static_cast<std::size_t>(rank - shape.rank()), 1);
  batch.insert(batch.end(), shape.begin(), shape.end() - 2);
  return batch;
}

Geometry geometry_of(const Shape& a, const Shape& b, const Shape& c, const Matmul& matmul) {
  Geometry g;
  g.transpose_a = matmul.transpose_a;
  g.transpose_b = matmul.transpose_b;
  g.m = c[-2];
  g.n = c[-1];
  g.k = a[g.transpose_a ? -2 : -1];
  const int rank = std::max(a.rank(), b.rank());
  g.a_batch = batch_of(a, rank);
  g.b_batch = batch_of(b, rank);
  g.batch = batch_of(c, rank);
  const bool one_b = std::all_of(g.b_batch.begin(), g.b_batch.end(), [](std::int64_t extent) { return extent == 1; });
  if (one_b && !g.transpose_a) {  // one tall product
    g.m *= g.products();
    g.a_batch = g.b_batch = g.batch = {};
  } else if (g.a_batch == g.b_batch) {
    g.a_batch = g.b_batch = g.batch = g.products() == 1 ? Dims{} : Dims{g.products()};
  }
  return g;
}

// A prepared product; `run` may be called with any arrays of its geometry.
class Product {
 public:
  virtual ~Product() = default;
  virtual Status run(const void* a, const void* b, void* c, void* workspace) = 0;
  std::string name;
  std::size_t workspace_bytes = 0;
};
using Made = std::pair<std::shared_ptr<Product>, std::string>;  // or the reason why not

class Sgemm final : public Product {
 public:
  explicit Sgemm(const Geometry& geometry) : g_(geometry) { name = "sgemm"; }
  Status run(const void* a, const void* b, void* c, void*) override {
    const dnnl_status_t status =
        dnnl_sgemm(g_.transpose_a ? 'T' : 'N', g_.transpose_b ? 'T' : 'N', g_.m, g_.n, g_.k, 1,
                   static_cast<const float*>(a), g_.transpose_a ? g_.m : g_.k, static_cast<const float*>(b),
                   g_.transpose_b ? g_.k : g_.n, 0, static_cast<float*>(c), g_.n);
    return status == dnnl_success ? Status::ok : Status::failed;
  }

 private:
  Geometry g_;
};

class MatmulPrimitive final : public Product {
 public:
  explicit MatmulPrimitive(const dnnl::matmul::primitive_desc& pd) : primitive_(dnnl::matmul(pd), pd) {
    a_ = primitive_.add(DNNL_ARG_SRC, pd.src_desc());
    b_ = primitive_.add(DNNL_ARG_WEIGHTS, pd.weights_desc());
    c_ = primitive_.add(DNNL_ARG_DST, pd.dst_desc());
    name = cat("matmul ", pd.impl_info_str());
    workspace_bytes = primitive_.scratch_bytes();
  }
  Status run(const void* a, const void* b, void* c, void* workspace) override {
    primitive_.set(a_, a);
    primitive_.set(b_, b);
    primitive_.set(c_, c);
    return primitive_.run(workspace);
  }

 private:
  Primitive primitive_;
  int a_, b_, c_;
};

class Doubles final : public Product {
 public:
  explicit Doubles(const Geometry& geometry) : g_(geometry) { name = "loops"; }
  Status run(const void* a, const void* b, void* c, void*) override {
    const std::int64_t rows = g_.products() * g_.m, work = rows * g_.n * g_.k;
    parallel_for(rows, work, [&](std::int64_t row) {
      const std::int64_t product = row / g_.m;
      row_of(static_cast<const double*>(a) + g_.matrix(g_.a_batch, product) * g_.m * g_.k,
             static_cast<const double*>(b) + g_.matrix(g_.b_batch, product) * g_.k * g_.n,
             static_cast<double*>(c) + row * g_.n, row % g_.m);
    });
    return Status::ok;
  }

 private:
  void row_of(const double* a, const double* b, double* c, std::int64_t i) const {
    for (std::int64_t j = 0; j < g_.n; ++j) c[j] = 0;
    for (std::int64_t l = 0; l < g_.k; ++l) {
      const double left = g_.transpose_a ? a[l * g_.m + i] : a[i * g_.k + l];
      if (g_.transpose_b) {
        for (std::int64_t j = 0; j < g_.n; ++j) c[j] += left * b[j * g_.k + l];
      } else {
        for (std::int64_t j = 0; j < g_.n; ++j) c[j] += left * b[l * g_.n + j];
      }
    }
  }
  Geometry g_;
};

dnnl::memory::desc matrices(DType dtype, Dims batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  Dims dims = std::move(batch);
  dims.push_back(rows);
  dims.push_back(columns);
  Dims strides = row_major(dims);
  if (transposed) {
    strides[dims.size() - 2] = 1;
    strides[dims.size() - 1] = rows;
  }
  return dnnl_array(dtype, dims, strides);
}

Made make_primitive(const Geometry& g, DType dtype) try {
  const auto a = matrices(dtype, g.a_batch, g.m, g.k, g.transpose_a),
             b = matrices(dtype, g.b_batch, g.k, g.n, g.transpose_b);
  const auto c = matrices(dtype, g.batch, g.m, g.n, false);
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(a, b, c), with_user_scratch(), dnnl_engine());
  if (accepted_name(pd.impl_info_str()).empty())
    return {nullptr, cat("oneDNN has only ", pd.impl_info_str(), " for this")};
  return {std::make_shared<MatmulPrimitive>(pd), ""};
} catch (const dnnl::error& error) {
  return {nullptr, cat("oneDNN: ", error.what())};
}

// --- candidates
// -------------------------------------------------------------------------------------------------------

using Maker = Made (*)(const Geometry&, DType);

// sgemm repacks a transposed right side, which few rows do not pay for when its rows are long.
bool few_rows(const Geometry& g) { return g.transpose_b && g.m <= 128 && g.k >= 512 && g.k * g.n >= 64 * 1024; }

Made primitive_for_few_rows(const Geometry& g, DType dtype) {
  if (dtype != DType::float32 || !g.batch.empty() || !few_rows(g)) return {nullptr, "sgemm is faster here"};
  return make_primitive(g, dtype);
}
Made sgemm(const Geometry& g, DType dtype) {
  if (dtype != DType::float32) return {nullptr, cat("computes in float32, not ", dtype)};
  if (!g.batch.empty()) return {nullptr, "takes no batch of matrices"};
  return {std::make_shared<Sgemm>(g), ""};
}
Made primitive(const Geometry& g, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::bfloat16) return {nullptr, cat("oneDNN does not multiply ", dtype)};
  return make_primitive(g, dtype);
}
Made doubles(const Geometry& g, DType dtype) {
  if (dtype != DType::float64) return {nullptr, cat("computes in float64, not ", dtype)};
  return {std::make_shared<Doubles>(g), ""};
}

// Sums over nothing are zero.
class Zeros final : public Product {
 public:
  explicit Zeros(std::size_t bytes) : bytes_(bytes) { name = "zeros"; }
  Status run(const void*, const void*, void* c, void*) override {
    std::memset(c, 0, bytes_);
    return Status::ok;
  }

 private:
  std::size_t bytes_;
};

Made make_product(Maker make, const Type& a, const Type& b, const Type& c, const Matmul& matmul) {
  const Geometry g = geometry_of(a.shape, b.shape, c.shape, matmul);
  if (c.size() == 0 || g.k == 0) return {std::make_shared<Zeros>(c.bytes()), ""};
  return make(g, c.dtype);
}

Choice alone(const Problem& problem, Maker make) {
  auto [product, reason] = make_product(make, problem.inputs[0], problem.inputs[1], problem.outputs[0],
                                        problem.node.attributes.as<Matmul>());
  if (!product) return refuse(std::move(reason));
  Choice choice =
      accept([product = product](
                 const Launch& l) { return product->run(l.inputs[0], l.inputs[1], l.outputs[0], l.workspace); },
             product->workspace_bytes);
  choice.name = product->name;
  return choice;
}

Choice with_epilogue(const Problem& problem, Maker make) {
  std::string reason;
  const auto epilogue = Epilogue::of(problem, "matmul", reason);
  if (!epilogue) return refuse(std::move(reason));
  if (!(epilogue->first_type() == problem.outputs[0])) return refuse("the group changes the product's type");
  const std::size_t a = epilogue->first_inputs()[0], b = epilogue->first_inputs()[1];
  auto [product, why_not] = make_product(make, problem.inputs[a], problem.inputs[b], problem.outputs[0],
                                         epilogue->first().attributes.as<Matmul>());
  if (!product) return refuse(std::move(why_not));
  Choice choice = accept(
      [product = product, epilogue, a, b](const Launch& l) {
        const Status status = product->run(l.inputs[a], l.inputs[b], l.outputs[0], l.workspace);
        if (status == Status::ok) epilogue->run(l.inputs, l.outputs[0], l.workspace);
        return status;
      },
      std::max(product->workspace_bytes, epilogue->workspace_bytes()));
  choice.name = cat(product->name, epilogue->bias() >= 0 ? " +bias" : "", epilogue->activation().empty() ? "" : " +",
                    epilogue->activation());
  return choice;
}

}  // namespace

void kernels_matmul(KernelTable& table) {
  const std::pair<const char*, Maker> makers[] = {
      {"matmul few rows", primitive_for_few_rows}, {"sgemm", sgemm}, {"matmul", primitive}, {"loops", doubles}};
  for (const auto& [name, make] : makers) {
    const auto plain = [make = make](const Problem& problem) { return alone(problem, make); };
    const auto fused = [make = make](const Problem& problem) { return with_epilogue(problem, make); };
    table.add("matmul", name, plain);
    table.add("fused:matmul", name, fused);
  }
  for (const auto& [name, make] : {makers[1], makers[2]}) {
    const auto plain = [make = make](const Problem& problem) { return alone(problem, make); };
    const auto fused = [make = make](const Problem& problem) { return with_epilogue(problem, make); };
    table.add("matmul", cat(name, " through float32"), through_float(plain));
    table.add("fused:matmul", cat(name, " through float32"), through_float(fused));
  }
}

}  // namespace strata::cpu
