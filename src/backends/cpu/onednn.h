// SPDX-License-Identifier: Apache-2.0
// oneDNN's primitives, prepared so that running one allocates nothing of ours: its arguments are bound beforehand and
// only their addresses change. Scratch memory comes from the launch's workspace.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace strata::cpu {

const dnnl::engine& dnnl_engine();
dnnl::memory::data_type dnnl_type(DType dtype);  // undef where oneDNN has none
dnnl::memory::desc dnnl_array(DType dtype, const std::vector<std::int64_t>& dims,
                              const std::vector<std::int64_t>& strides);
std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& dims);
dnnl::primitive_attr with_user_scratch();

// The name of an implementation to show, or empty when it is one of oneDNN's reference loops, a thousand times slower.
std::string accepted_name(const char* implementation);

class Primitive {
 public:
  template <class Descriptor>
  Primitive(const dnnl::primitive& primitive, const Descriptor& descriptor)
      : primitive_(primitive), stream_(dnnl_engine()), scratch_bytes_(descriptor.scratchpad_desc().get_size()) {
    if (scratch_bytes_ > 0) scratch_ = add(DNNL_ARG_SCRATCHPAD, descriptor.scratchpad_desc());
  }

  int add(int argument, const dnnl::memory::desc& layout);  // its number, for `set`
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  void set(int number, const void* address);
  Status run(void* scratch);

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::size_t scratch_bytes_;
  int scratch_ = -1;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace strata::cpu
