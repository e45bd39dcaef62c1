// SPDX-License-Identifier: Apache-2.0
// The inner loops of the kernels, over arrays that lie in the first cache: one table per instruction set, all made from
// the same source. Loops neither allocate nor open parallel regions.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/random.h"
#include "strata/dtype.h"

namespace strata::cpu {

// What elements are while they are computed with: 16-bit floats are f32, all integers are i64, truths are 0 or 1 in 32
// bits so that they are as wide as floats.
enum class Lane : std::uint8_t { f32, f64, i64, truth };

constexpr std::int64_t width_of(Lane lane) { return lane == Lane::f64 || lane == Lane::i64 ? 8 : 4; }

// One instruction over n elements; unused operands are null. `out` may be the same array as an operand.
using Loop = void (*)(const void* a, const void* b, const void* c, void* out, std::int64_t n);

struct ElementwiseLoops {
  // The loop of an op by its name; null when there is none for this lane. Bit i of `scalars`: operand i is one element.
  Loop (*find)(std::string_view op, Lane lane, unsigned scalars);
  Loop (*convert)(Lane from, Lane to);  // floats truncate; numbers are true when not zero
  Loop (*load)(DType from);             // memory to lane
  Loop (*store)(DType to);              // lane to memory, rounded
  Loop (*fill)(Lane lane);              // one element, repeated
  Loop (*round)(DType to);              // a f32 lane to what a 16-bit float holds
};

enum class Reduce : std::uint8_t { sum, max, all };

// Folds `rows` rows of `columns` elements: across, into a row of accumulators; along (one row), into one. Accumulators
// are double for floats, int64 for all else.
using FoldLoop = void (*)(const void* x, std::int64_t rows, std::int64_t columns, void* accumulators);

struct ReduceLoops {
  FoldLoop (*find)(Reduce kind, Lane lane, bool across);
};

// Pixels whose windows have the same taps: tap t of pixel p lies at x + p * step + offsets[t], and is the window's
// numbers[t]-th place.
struct PoolRun {
  const std::int64_t* offsets;
  const std::int32_t* numbers;
  int taps;
  std::int64_t pixels, step, channels;
};

// For one element type. Indices are bytes [0] or shorts [1]; gradients overwrite [0] or add [1].
struct PoolLoops {
  void (*max[2])(const PoolRun&, const void* x, void* y, void* indices);
  void (*max_gradient[2][2])(const PoolRun&, const void* dy, const void* indices, void* dx);
  void (*pick[2])(const PoolRun&, const void* x, const void* indices, void* y);
  void (*average)(const PoolRun&, const void* x, void* y, void*);
  void (*average_gradient[2])(const PoolRun&, const void* dy, const void*, void* dx);
};

// One row of n scores, for one element type.
struct SoftmaxLoops {
  void (*softmax)(const void* x, void* y, std::int64_t n);
  void (*log_softmax)(const void* x, void* y, std::int64_t n);
  double (*cross_entropy)(const void* x, std::int64_t label, std::int64_t n);
  void (*cross_entropy_gradient)(const void* x, std::int64_t label, double scale, void* dx, std::int64_t n);
};

struct RowMoments {
  double mean, rstd;
};
// Rows of channels, for one element type; sums are added to.
struct NormLoops {
  void (*moments)(const void* x, std::int64_t rows, std::int64_t columns, const void* shift, double* sums,
                  double* squares);
  void (*slopes)(const void* x, const void* g, std::int64_t rows, std::int64_t columns, const void* shift, double* sums,
                 double* products);
  void (*affine)(const void* x, std::int64_t rows, std::int64_t columns, const void* shift, const void* scale,
                 const void* offset, void* y);
  void (*affine_two)(const void* g, const void* x, std::int64_t rows, std::int64_t columns, const void* shift,
                     const void* a, const void* b, const void* offset, void* y);
  RowMoments (*layer)(const void* x, std::int64_t n, const void* gamma, const void* beta, double epsilon, void* y);
  void (*layer_gradient)(const void* g, const void* x, std::int64_t n, const void* gamma, RowMoments, void* dx,
                         double* dgamma, double* dbeta);
};

struct LstmLoops {
  void (*cell)(void* gates, const void* c_before, void* c, void* h, std::int64_t units);
  void (*cell_gradient)(const void* gates, const void* c_before, const void* c, const void* dh, void* dc, void* dz,
                        std::int64_t units);
};

struct PhiloxCounters {
  std::uint32_t block[16], row_low[16], row_high[16];
  std::uint64_t step;
};

struct Loops {
  ElementwiseLoops elementwise;
  ReduceLoops reduce;
  PoolLoops pool_float, pool_double;
  SoftmaxLoops softmax_float, softmax_double;
  NormLoops norm_float, norm_double;
  LstmLoops lstm_float, lstm_double;
  void (*philox)(RandomKey key, const PhiloxCounters& counters, std::uint32_t* words);  // 64 words
};

const Loops& loops_for(std::string_view isa);

}  // namespace strata::cpu
