// SPDX-License-Identifier: Apache-2.0
// Loops of pooling, channels last: a run of pixels whose windows have the same taps, all channels.
#pragma once

#include "backends/cpu/kernels/simd/loops.h"
#include "backends/cpu/kernels/simd/vectors.h"

namespace strata::cpu {
namespace {

// The vector of 16-bit or 8-bit numbers that belongs to sixteen floats.
template <class Index> struct IndexVector;
template <> struct IndexVector<std::uint8_t> { using Type = Bytes; };
template <> struct IndexVector<std::uint16_t> { using Type = Shorts; };

template <class T, class Index> void max_pool(const PoolRun& run, const void* from, void* to, void* indices) {
  for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const T* x = static_cast<const T*>(from) + pixel * run.step;
    T* y = static_cast<T*>(to) + pixel * run.channels;
    Index* index = indices ? static_cast<Index*>(indices) + pixel * run.channels : nullptr;
    std::int64_t c = 0;
    if constexpr (sizeof(T) == 4) {
      for (; c + vector_width <= run.channels; c += vector_width) {
        Floats best, next;
        load_vector(x + run.offsets[0] + c, best);
        Words which = Words{} + run.numbers[0];
        for (int tap = 1; tap < run.taps; ++tap) {
          load_vector(x + run.offsets[tap] + c, next);
          const Words larger = next > best;
          best = larger ? next : best;
          which = larger ? Words{} + run.numbers[tap] : which;
        }
        store_vector(best, y + c);
        if (!index) continue;
        typename IndexVector<Index>::Type small;
        narrow(which, small);
        store_vector(small, index + c);
      }
    }
    for (; c < run.channels; ++c) {
      T best = x[run.offsets[0] + c];
      std::int32_t which = run.numbers[0];
      for (int tap = 1; tap < run.taps; ++tap) {
        const T next = x[run.offsets[tap] + c];
        if (next > best) {
          best = next;
          which = run.numbers[tap];
        }
      }
      y[c] = best;
      if (index) index[c] = static_cast<Index>(which);
    }
  }
}

template <class T, class Index, bool add>
void max_unpool(const PoolRun& run, const void* gradient, const void* indices, void* to) {
  for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const T* dy = static_cast<const T*>(gradient) + pixel * run.channels;
    const Index* index = static_cast<const Index*>(indices) + pixel * run.channels;
    T* dx = static_cast<T*>(to) + pixel * run.step;
    std::int64_t c = 0;
    if constexpr (sizeof(T) == 4) {
      for (; c + vector_width <= run.channels; c += vector_width) {
        Floats slope, before;
        load_vector(dy + c, slope);
        typename IndexVector<Index>::Type small;
        load_vector(index + c, small);
        Words which;
        widen(small, which);
        for (int tap = 0; tap < run.taps; ++tap) {
          Floats part = which == run.numbers[tap] ? slope : Floats{};
          if constexpr (add) {
            load_vector(dx + run.offsets[tap] + c, before);
            part += before;
          }
          store_vector(part, dx + run.offsets[tap] + c);
        }
      }
    }
    for (; c < run.channels; ++c) {
      for (int tap = 0; tap < run.taps; ++tap) {
        const T part = index[c] == run.numbers[tap] ? dy[c] : T(0);
        T& place = dx[run.offsets[tap] + c];
        place = add ? place + part : part;
      }
    }
  }
}

template <class T, class Index> void max_pick(const PoolRun& run, const void* from, const void* indices, void* to) {
  for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const T* x = static_cast<const T*>(from) + pixel * run.step;
    const Index* index = static_cast<const Index*>(indices) + pixel * run.channels;
    T* y = static_cast<T*>(to) + pixel * run.channels;
    for (int tap = 0; tap < run.taps; ++tap) {
      const T* next = x + run.offsets[tap];
      for (std::int64_t c = 0; c < run.channels; ++c)
        y[c] = index[c] == run.numbers[tap] ? next[c] : tap == 0 ? T(0) : y[c];
    }
  }
}

template <class T> void average_pool(const PoolRun& run, const void* from, void* to, void*) {
  const T scale = T(1) / static_cast<T>(run.taps);
  for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const T* x = static_cast<const T*>(from) + pixel * run.step;
    T* y = static_cast<T*>(to) + pixel * run.channels;
    const T* first = x + run.offsets[0];
#pragma omp simd
    for (std::int64_t c = 0; c < run.channels; ++c) y[c] = first[c];
    for (int tap = 1; tap < run.taps; ++tap) {
      const T* next = x + run.offsets[tap];
#pragma omp simd
      for (std::int64_t c = 0; c < run.channels; ++c) y[c] += next[c];
    }
#pragma omp simd
    for (std::int64_t c = 0; c < run.channels; ++c) y[c] *= scale;
  }
}

template <class T, bool add> void average_unpool(const PoolRun& run, const void* gradient, const void*, void* to) {
  const T scale = T(1) / static_cast<T>(run.taps);
  for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const T* dy = static_cast<const T*>(gradient) + pixel * run.channels;
    for (int tap = 0; tap < run.taps; ++tap) {
      T* dx = static_cast<T*>(to) + pixel * run.step + run.offsets[tap];
#pragma omp simd
      for (std::int64_t c = 0; c < run.channels; ++c) dx[c] = add ? dx[c] + dy[c] * scale : dy[c] * scale;
    }
  }
}

template <class T>
constexpr PoolLoops pool_loops_of{{max_pool<T, std::uint8_t>, max_pool<T, std::uint16_t>},
                                  {{max_unpool<T, std::uint8_t, false>, max_unpool<T, std::uint8_t, true>},
                                   {max_unpool<T, std::uint16_t, false>, max_unpool<T, std::uint16_t, true>}},
                                  {max_pick<T, std::uint8_t>, max_pick<T, std::uint16_t>},
                                  average_pool<T>,
                                  {average_unpool<T, false>, average_unpool<T, true>}};

}  // namespace
}  // namespace strata::cpu
