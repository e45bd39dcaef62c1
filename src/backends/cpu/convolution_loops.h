// SPDX-License-Identifier: Apache-2.0
// The geometry of a two-dimensional convolution, and its three passes in plain loops for what oneDNN has no kernel for.
#pragma once

#include "strata/ops.h"

namespace strata::cpu {

// x [n, h, w, in], kernel [kh, kw, in/groups, out], y [n, oh, ow, out]
struct ConvolutionShape {
  std::int64_t n, h, w, in, kh, kw, oh, ow, out;
  Convolution how;

  ConvolutionShape(const Shape& x, const Shape& kernel, const Shape& y, const Convolution& how);
  std::int64_t work() const { return n * oh * ow * out * kh * kw * (in / how.groups); }
};

template <class T> void convolve(const ConvolutionShape& s, const T* x, const T* kernel, T* y);
template <class T> void convolve_input_gradient(const ConvolutionShape& s, const T* dy, const T* kernel, T* dx);
template <class T> void convolve_kernel_gradient(const ConvolutionShape& s, const T* x, const T* dy, T* dkernel);

}  // namespace strata::cpu
