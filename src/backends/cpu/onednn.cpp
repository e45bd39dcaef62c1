// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/onednn.h"

namespace strata::cpu {

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type dnnl_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return dnnl::memory::data_type::f32;
    case DType::bfloat16: return dnnl::memory::data_type::bf16;
    case DType::int32: return dnnl::memory::data_type::s32;
    case DType::uint8: return dnnl::memory::data_type::u8;
    default: return dnnl::memory::data_type::undef;
  }
}

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

dnnl::memory::desc dnnl_array(DType dtype, const std::vector<std::int64_t>& dims,
                              const std::vector<std::int64_t>& strides) {
  return dnnl::memory::desc(dims, dnnl_type(dtype), strides);
}

dnnl::primitive_attr with_user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::string accepted_name(const char* implementation) {
  const std::string name = implementation;
  return name.starts_with("ref") || name.starts_with("simple") ? "" : name;
}

int Primitive::add(int argument, const dnnl::memory::desc& layout) {
  memories_.push_back(dnnl::memory(layout, dnnl_engine(), DNNL_MEMORY_NONE));
  arguments_.push_back({argument, memories_.back().get()});
  return static_cast<int>(arguments_.size()) - 1;
}

void Primitive::set(int number, const void* address) {
  const dnnl_memory_t memory = arguments_[static_cast<std::size_t>(number)].memory;
  dnnl_memory_set_data_handle_v2(memory, const_cast<void*>(address), stream_.get());
}

Status Primitive::run(void* scratch) {
  if (scratch_ >= 0) set(scratch_, scratch);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  return status == dnnl_success ? Status::ok : Status::failed;
}

}  // namespace strata::cpu
