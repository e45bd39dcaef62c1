// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/convolution_loops.h"

#include <algorithm>

#include "backends/cpu/machine.h"

namespace strata::cpu {

ConvolutionShape::ConvolutionShape(const Shape& x, const Shape& kernel, const Shape& y, const Convolution& convolution)
    : n(x[0]),
      h(x[1]),
      w(x[2]),
      in(x[3]),
      kh(kernel[0]),
      kw(kernel[1]),
      oh(y[1]),
      ow(y[2]),
      out(y[3]),
      how(convolution) {}

template <class T> void convolve(const ConvolutionShape& s, const T* x, const T* kernel, T* y) {
  const std::int64_t in = s.in / s.how.groups, out = s.out / s.how.groups, rows = s.n * s.oh;
  parallel_for(rows, s.work(), [&](std::int64_t row) {
    const std::int64_t image = row / s.oh, oy = row % s.oh;
    T* to = y + row * s.ow * s.out;
    std::fill_n(to, s.ow * s.out, T(0));
    for (std::int64_t ky = 0; ky < s.kh; ++ky) {
      const std::int64_t iy = oy * s.how.strides.first - s.how.pad_low.first + ky * s.how.dilation.first;
      if (iy < 0 || iy >= s.h) continue;
      for (std::int64_t ox = 0; ox < s.ow; ++ox) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int64_t ix = ox * s.how.strides.second - s.how.pad_low.second + kx * s.how.dilation.second;
          if (ix < 0 || ix >= s.w) continue;
          const T* from = x + ((image * s.h + iy) * s.w + ix) * s.in;
          const T* weights = kernel + (ky * s.kw + kx) * in * s.out;
          for (std::int64_t group = 0; group < s.how.groups; ++group) {
            T* sums = to + ox * s.out + group * out;
            for (std::int64_t i = 0; i < in; ++i) {
              const T value = from[group * in + i];
              const T* line = weights + i * s.out + group * out;
              for (std::int64_t o = 0; o < out; ++o) sums[o] += value * line[o];
            }
          }
        }
      }
    }
  });
}

template <class T> void convolve_input_gradient(const ConvolutionShape& s, const T* dy, const T* kernel, T* dx) {
  const std::int64_t in = s.in / s.how.groups, out = s.out / s.how.groups, rows = s.n * s.h;
  parallel_for(rows, s.work(), [&](std::int64_t row) {
    const std::int64_t image = row / s.h, iy = row % s.h;
    T* to = dx + row * s.w * s.in;
    std::fill_n(to, s.w * s.in, T(0));
    for (std::int64_t ky = 0; ky < s.kh; ++ky) {
      const std::int64_t up = iy + s.how.pad_low.first - ky * s.how.dilation.first;
      const std::int64_t oy = up / s.how.strides.first;
      if (up < 0 || up % s.how.strides.first != 0 || oy >= s.oh) continue;
      for (std::int64_t ix = 0; ix < s.w; ++ix) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int64_t left = ix + s.how.pad_low.second - kx * s.how.dilation.second;
          const std::int64_t ox = left / s.how.strides.second;
          if (left < 0 || left % s.how.strides.second != 0 || ox >= s.ow) continue;
          const T* from = dy + ((image * s.oh + oy) * s.ow + ox) * s.out;
          const T* weights = kernel + (ky * s.kw + kx) * in * s.out;
          for (std::int64_t group = 0; group < s.how.groups; ++group) {
            for (std::int64_t i = 0; i < in; ++i) {
              const T* line = weights + i * s.out + group * out;
              T sum = 0;
              for (std::int64_t o = 0; o < out; ++o) sum += from[group * out + o] * line[o];
              to[ix * s.in + group * in + i] += sum;
            }
          }
        }
      }
    }
  });
}

template <class T> void convolve_kernel_gradient(const ConvolutionShape& s, const T* x, const T* dy, T* dkernel) {
  const std::int64_t in = s.in / s.how.groups, out = s.out / s.how.groups, lines = s.kh * s.kw * in;
  parallel_for(lines, s.work(), [&](std::int64_t line) {
    const std::int64_t i = line % in, kx = line / in % s.kw, ky = line / in / s.kw;
    T* to = dkernel + line * s.out;
    std::fill_n(to, s.out, T(0));
    for (std::int64_t image = 0; image < s.n; ++image) {
      for (std::int64_t oy = 0; oy < s.oh; ++oy) {
        const std::int64_t iy = oy * s.how.strides.first - s.how.pad_low.first + ky * s.how.dilation.first;
        if (iy < 0 || iy >= s.h) continue;
        for (std::int64_t ox = 0; ox < s.ow; ++ox) {
          const std::int64_t ix = ox * s.how.strides.second - s.how.pad_low.second + kx * s.how.dilation.second;
          if (ix < 0 || ix >= s.w) continue;
          const T* from = x + ((image * s.h + iy) * s.w + ix) * s.in;
          const T* slopes = dy + ((image * s.oh + oy) * s.ow + ox) * s.out;
          for (std::int64_t group = 0; group < s.how.groups; ++group) {
            const T value = from[group * in + i];
            for (std::int64_t o = group * out; o < (group + 1) * out; ++o) to[o] += value * slopes[o];
          }
        }
      }
    }
  });
}

template void convolve(const ConvolutionShape&, const float*, const float*, float*);
template void convolve(const ConvolutionShape&, const double*, const double*, double*);
template void convolve_input_gradient(const ConvolutionShape&, const float*, const float*, float*);
template void convolve_input_gradient(const ConvolutionShape&, const double*, const double*, double*);
template void convolve_kernel_gradient(const ConvolutionShape&, const float*, const float*, float*);
template void convolve_kernel_gradient(const ConvolutionShape&, const double*, const double*, double*);

}  // namespace strata::cpu
