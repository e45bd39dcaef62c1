// SPDX-License-Identifier: Apache-2.0
// The inner loops of the kernels, over arrays that lie in the first cache: one table per instruction set, all made from
// the same source. Loops neither allocate nor open parallel regions.
#pragma once

#include <cstdint>
#include <string_view>

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
  Loop (*convert)(Lane from, Lane to);             // floats truncate; numbers are true when not zero
  Loop (*load)(DType from);                        // memory to lane
  Loop (*store)(DType to);                         // lane to memory, rounded
  Loop (*fill)(Lane lane);                         // one element, repeated
  Loop (*round)(DType to);                         // a f32 lane to what a 16-bit float holds
};

enum class Reduce : std::uint8_t { sum, max, all };

// Folds `rows` rows of `columns` elements: across, into a row of accumulators; along (one row), into one. Accumulators
// are double for floats, int64 for all else.
using FoldLoop = void (*)(const void* x, std::int64_t rows, std::int64_t columns, void* accumulators);

struct ReduceLoops {
  FoldLoop (*find)(Reduce kind, Lane lane, bool across);
};

struct Loops {
  ElementwiseLoops elementwise;
  ReduceLoops reduce;
};

const Loops& loops_for(std::string_view isa);

}  // namespace strata::cpu
