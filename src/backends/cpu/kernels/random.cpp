// SPDX-License-Identifier: Apache-2.0
// Random numbers, bit for bit those of core/random.h, whatever the number of threads.
#include <algorithm>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "core/random.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

constexpr std::int64_t lanes = 16;  // blocks of four numbers made at once

struct Uniform {
  using Element = float;
  static void write(const std::uint32_t* words, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = word_to_uniform(words[i]);
  }
};
struct Normal {
  using Element = float;
  static void write(const std::uint32_t* words, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; i += 2) {
      const std::array<double, 2> pair = words_to_normal(words[i], words[i + 1]);
      to[i] = static_cast<float>(pair[0]);
      if (i + 1 < count) to[i + 1] = static_cast<float>(pair[1]);
    }
  }
};
struct Bits {
  using Element = std::int64_t;
  static void write(const std::uint32_t* words, std::int64_t count, std::int64_t* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = words[i];
  }
};

template <class Kind> struct RandomKernel {
  decltype(Loops::philox) philox;
  std::uint64_t stream;
  std::int64_t rows, width;

  void operator()(const Launch& l) const {
    const auto scalar = [&](std::size_t i) {
      return static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(l.inputs[i]));
    };
    const RandomKey key = random_key(scalar(0), stream);
    const std::uint64_t step = scalar(1), first_row = scalar(2);
    auto* to = static_cast<typename Kind::Element*>(l.outputs[0]);
    const std::int64_t row_blocks = (width + 3) / 4, blocks = rows * row_blocks, groups = (blocks + lanes - 1) / lanes;
    parallel_for(groups, rows * width * 4, [&](std::int64_t group) {
      PhiloxCounters counters;
      std::uint32_t words[4 * lanes];
      counters.step = step;
      std::uint64_t row = first_row + static_cast<std::uint64_t>(group * lanes / row_blocks);
      std::int64_t of_row = group * lanes % row_blocks;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        counters.block[lane] = static_cast<std::uint32_t>(of_row);
        counters.row_low[lane] = static_cast<std::uint32_t>(row);
        counters.row_high[lane] = static_cast<std::uint32_t>(row >> 32);
        if (++of_row < row_blocks) continue;
        of_row = 0;
        ++row;
      }
      philox(key, counters, words);
      const std::int64_t end = std::min(blocks, (group + 1) * lanes);
      for (std::int64_t number = group * lanes; number < end;) {
        // Whole blocks that follow each other in one row are written together.
        const std::int64_t block = number % row_blocks, run = std::min(end - number, row_blocks - block);
        const std::int64_t first = block * 4, count = std::min(run * 4, width - first);
        Kind::write(words + (number - group * lanes) * 4, count, to + number / row_blocks * width + first);
        number += run;
      }
    });
  }
};

template <class Kind> Choice make(const Problem& problem, const Random& random) {
  const std::int64_t rows = random.shape.rank() > 0 ? random.shape[0] : 1;
  const std::int64_t width = rows > 0 ? random.shape.size() / rows : 0;
  return accept(RandomKernel<Kind>{loops_for(problem.device.isa).philox, stream_of(random.stream), rows, width});
}

Choice random(const Problem& problem) {
  const Random& how = problem.node.attributes.as<Random>();
  if (how.distribution == "normal") return make<Normal>(problem, how);
  if (how.distribution == "bits") return make<Bits>(problem, how);
  return make<Uniform>(problem, how);
}

}  // namespace

void kernels_random(KernelTable& table) { table.add("random", "philox", random); }

}  // namespace strata::cpu
