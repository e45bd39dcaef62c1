// SPDX-License-Identifier: Apache-2.0
// Pooling, channels last. Maxima remember which place of the window they came from, one or two bytes each; the gradient
// reads that and nothing else.
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/through_float.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

constexpr int byte_places = 256;

// Where windows lie: for each output column and row the first and last tap inside the array.
class PoolShape {
 public:
  PoolShape(const Shape& x, const Shape& y, const Pooling& p)
      : n(x[0]), h(x[1]), w(x[2]), channels(x[3]), oh(y[1]), ow(y[2]), pooling_(p) {}

  std::int64_t n, h, w, channels, oh, ow;

  // Whether every window has a place inside the array.
  bool fits() const {
    const Pooling& p = pooling_;
    return p.pad_low.first < p.window.first && p.pad_low.second < p.window.second &&
           (oh - 1) * p.strides.first - p.pad_low.first < h && (ow - 1) * p.strides.second - p.pad_low.second < w &&
           places() <= 65536;
  }
  int places() const { return static_cast<int>(pooling_.window.first * pooling_.window.second); }
  std::int64_t work() const { return n * oh * ow * channels * places(); }
  bool overlaps() const {
    return pooling_.strides.first < pooling_.window.first || pooling_.strides.second < pooling_.window.second;
  }
  // Whether the windows of one image touch every element.
  bool covers() const {
    return pooling_.strides == pooling_.window && pooling_.pad_low == Pair(0) && h == oh * pooling_.window.first &&
           w == ow * pooling_.window.second;
  }
  std::size_t thread_bytes() const {
    return aligned(static_cast<std::size_t>(places()) * (sizeof(std::int64_t) + sizeof(std::int32_t)));
  }

  // Calls f(run, first element of x, first element of y) for the pieces of output row oy of an image; `memory` holds
  // taps.
  template <class F> void row(std::int64_t image, std::int64_t oy, char* memory, F f) const {
    auto* offsets = reinterpret_cast<std::int64_t*>(memory);
    auto* numbers = reinterpret_cast<std::int32_t*>(offsets + places());
    const std::int64_t top = oy * pooling_.strides.first - pooling_.pad_low.first;
    for (std::int64_t ox = 0; ox < ow;) {
      const std::int64_t left = ox * pooling_.strides.second - pooling_.pad_low.second;
      const bool inside = left >= 0 && left + pooling_.window.second <= w;
      std::int64_t pixels = 1;
      if (inside)
        pixels =
            std::min(ow, (w - pooling_.window.second + pooling_.pad_low.second) / pooling_.strides.second + 1) - ox;
      PoolRun run{offsets, numbers, 0, pixels, pooling_.strides.second * channels, channels};
      for (std::int64_t ky = 0; ky < pooling_.window.first; ++ky) {
        for (std::int64_t kx = 0; kx < pooling_.window.second; ++kx) {
          const std::int64_t iy = top + ky, ix = left + kx;
          if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
          offsets[run.taps] = ((image * h + iy) * w + ix) * channels;
          numbers[run.taps++] = static_cast<std::int32_t>(ky * pooling_.window.second + kx);
        }
      }
      f(run, ((image * oh + oy) * ow + ox) * channels);
      ox += pixels;
    }
  }

 private:
  Pooling pooling_;
};

struct Elements {
  const PoolLoops* loops = nullptr;
  std::int64_t width = 0;
};
Elements elements_of(DType dtype, std::string_view isa) {
  if (dtype == DType::float32) return {&loops_for(isa).pool_float, 4};
  if (dtype == DType::float64) return {&loops_for(isa).pool_double, 8};
  return {};
}

// Runs f(image, oy, thread memory) over all rows of all images; a thread has whole images when `by_image`.
template <class F> void for_rows(const PoolShape& s, bool by_image, const Launch& launch, int threads, F f) {
  char* memory = static_cast<char*>(launch.workspace);
  on_team(threads, s.work(), [&](int thread, int team) {
    const Part part = part_of(s.n * s.oh, thread, team, by_image ? s.oh : 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      f(row / s.oh, row % s.oh, memory + static_cast<std::size_t>(thread) * s.thread_bytes());
    }
  });
}

std::string index_format(const PoolShape& s) {
  return s.places() <= byte_places ? "place in window, bytes" : "place in window, shorts";
}

Choice max_pool(const Problem& problem) {
  const PoolShape s(problem.inputs[0].shape, problem.outputs[0].shape, problem.node.attributes.as<Pooling>());
  const Elements e = elements_of(problem.inputs[0].dtype, problem.device.isa);
  if (!e.loops) return refuse(cat("no loops for ", problem.inputs[0].dtype));
  if (!s.fits()) return refuse("a window lies outside the array or has more than 65536 places");
  const std::int64_t index_width = s.places() <= byte_places ? 1 : 2;
  const auto loop = e.loops->max[index_width - 1];
  const int threads = problem.device.threads;
  const auto run = [=](const Launch& l) {
    for_rows(s, false, l, threads, [&](std::int64_t image, std::int64_t oy, char* memory) {
      s.row(image, oy, memory, [&](const PoolRun& pixels, std::int64_t y) {
        char* index = l.outputs.size() > 1 ? static_cast<char*>(l.outputs[1]) : nullptr;
        loop(pixels, l.inputs[0], static_cast<char*>(l.outputs[0]) + y * e.width,
             index ? index + y * index_width : nullptr);
      });
    });
  };
  Choice choice = accept(run, static_cast<std::size_t>(threads) * s.thread_bytes());
  choice.opaque.resize(problem.outputs.size());
  if (problem.outputs.size() > 1) {
    choice.opaque[1] = {static_cast<std::size_t>(problem.outputs[0].size() * index_width), index_format(s)};
  }
  return choice;
}

Choice max_pool_gradient(const Problem& problem) {
  const PoolShape s(problem.outputs[0].shape, problem.inputs[0].shape,
                    problem.node.attributes.as<PoolingGradient>().pooling);
  const Elements e = elements_of(problem.inputs[0].dtype, problem.device.isa);
  if (!e.loops) return refuse(cat("no loops for ", problem.inputs[0].dtype));
  if (!s.fits()) return refuse("a window lies outside the array or has more than 65536 places");
  if (problem.formats[1] != index_format(s)) return refuse(cat("the index has the format '", problem.formats[1], "'"));
  const std::int64_t index_width = s.places() <= byte_places ? 1 : 2;
  const auto loop = e.loops->max_gradient[index_width - 1][s.overlaps()];
  const std::size_t image_bytes = static_cast<std::size_t>(s.h * s.w * s.channels * e.width);
  const int threads = problem.device.threads;
  const bool clear = !s.covers();
  const auto run = [=](const Launch& l) {
    char* dx = static_cast<char*>(l.outputs[0]);
    for_rows(s, clear, l, threads, [&](std::int64_t image, std::int64_t oy, char* memory) {
      if (clear && oy == 0) std::memset(dx + static_cast<std::size_t>(image) * image_bytes, 0, image_bytes);
      s.row(image, oy, memory, [&](const PoolRun& pixels, std::int64_t y) {
        loop(pixels, static_cast<const char*>(l.inputs[0]) + y * e.width,
             static_cast<const char*>(l.inputs[1]) + y * index_width, dx);
      });
    });
  };
  return accept(run, static_cast<std::size_t>(threads) * s.thread_bytes());
}

Choice max_pick(const Problem& problem) {
  const PoolShape s(problem.inputs[0].shape, problem.outputs[0].shape, problem.node.attributes.as<Pooling>());
  const Elements e = elements_of(problem.inputs[0].dtype, problem.device.isa);
  if (!e.loops) return refuse(cat("no loops for ", problem.inputs[0].dtype));
  if (!s.fits()) return refuse("a window lies outside the array or has more than 65536 places");
  if (problem.formats[1] != index_format(s)) return refuse(cat("the index has the format '", problem.formats[1], "'"));
  const std::int64_t index_width = s.places() <= byte_places ? 1 : 2;
  const auto loop = e.loops->pick[index_width - 1];
  const int threads = problem.device.threads;
  const auto run = [=](const Launch& l) {
    for_rows(s, false, l, threads, [&](std::int64_t image, std::int64_t oy, char* memory) {
      s.row(image, oy, memory, [&](const PoolRun& pixels, std::int64_t y) {
        loop(pixels, l.inputs[0], static_cast<const char*>(l.inputs[1]) + y * index_width,
             static_cast<char*>(l.outputs[0]) + y * e.width);
      });
    });
  };
  return accept(run, static_cast<std::size_t>(threads) * s.thread_bytes());
}

Choice average_pool(const Problem& problem) {
  const PoolShape s(problem.inputs[0].shape, problem.outputs[0].shape, problem.node.attributes.as<Pooling>());
  const Elements e = elements_of(problem.inputs[0].dtype, problem.device.isa);
  if (!e.loops) return refuse(cat("no loops for ", problem.inputs[0].dtype));
  if (!s.fits()) return refuse("a window lies outside the array or has more than 65536 places");
  const auto loop = e.loops->average;
  const int threads = problem.device.threads;
  const auto run = [=](const Launch& l) {
    for_rows(s, false, l, threads, [&](std::int64_t image, std::int64_t oy, char* memory) {
      s.row(image, oy, memory, [&](const PoolRun& pixels, std::int64_t y) {
        loop(pixels, l.inputs[0], static_cast<char*>(l.outputs[0]) + y * e.width, nullptr);
      });
    });
  };
  return accept(run, static_cast<std::size_t>(threads) * s.thread_bytes());
}

Choice average_pool_gradient(const Problem& problem) {
  const PoolShape s(problem.outputs[0].shape, problem.inputs[0].shape,
                    problem.node.attributes.as<PoolingGradient>().pooling);
  const Elements e = elements_of(problem.inputs[0].dtype, problem.device.isa);
  if (!e.loops) return refuse(cat("no loops for ", problem.inputs[0].dtype));
  if (!s.fits()) return refuse("a window lies outside the array or has more than 65536 places");
  const auto loop = e.loops->average_gradient[s.overlaps()];
  const std::size_t image_bytes = static_cast<std::size_t>(s.h * s.w * s.channels * e.width);
  const int threads = problem.device.threads;
  const bool clear = !s.covers();
  const auto run = [=](const Launch& l) {
    char* dx = static_cast<char*>(l.outputs[0]);
    for_rows(s, clear, l, threads, [&](std::int64_t image, std::int64_t oy, char* memory) {
      if (clear && oy == 0) std::memset(dx + static_cast<std::size_t>(image) * image_bytes, 0, image_bytes);
      s.row(image, oy, memory, [&](const PoolRun& pixels, std::int64_t y) {
        loop(pixels, static_cast<const char*>(l.inputs[0]) + y * e.width, nullptr, dx);
      });
    });
  };
  return accept(run, static_cast<std::size_t>(threads) * s.thread_bytes());
}

}  // namespace

void kernels_pooling(KernelTable& table) {
  add_both(table, "max_pool2d", "windows", max_pool);
  add_both(table, "max_pool2d_gradient", "windows", max_pool_gradient);
  add_both(table, "max_pool2d_pick", "windows", max_pick);
  add_both(table, "average_pool2d", "windows", average_pool);
  add_both(table, "average_pool2d_gradient", "windows", average_pool_gradient);
}

}  // namespace strata::cpu
