// SPDX-License-Identifier: Apache-2.0
// Numbers below 1e-38 count as zero while kernels run: a convolution on denormals is a hundred times slower. A guard
// sets this for the calling thread and restores it; the threads of the OpenMP team keep it.
#pragma once

namespace strata::cpu {

class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace strata::cpu
