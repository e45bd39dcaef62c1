// SPDX-License-Identifier: Apache-2.0
// An op's definition as a kernel: its arrays are copied to doubles, its reference runs, the results are rounded. The
// only kernel that allocates; `plan` and `explain` name it.
#include <algorithm>

#include "backends/backend.h"

namespace strata {
namespace {

constexpr const char* reference_format = "reference";  // of opaque outputs: doubles

template <class T> void load_as(const void* from, std::vector<double>& to) {
  const T* values = static_cast<const T*>(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(values[i]);
}

void load(DType dtype, const void* from, std::vector<double>& to) {
  const auto* halves = static_cast<const std::uint16_t*>(from);
  switch (dtype) {
    case DType::float32: return load_as<float>(from, to);
    case DType::float64:
    case DType::opaque: return load_as<double>(from, to);
    case DType::int32: return load_as<std::int32_t>(from, to);
    case DType::int64: return load_as<std::int64_t>(from, to);
    case DType::uint8:
    case DType::boolean: return load_as<std::uint8_t>(from, to);
    case DType::float16:
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(float16_to_float(halves[i]));
      return;
    case DType::bfloat16:
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(bfloat16_to_float(halves[i]));
      return;
    case DType::none: return;
  }
}

template <class T> void store_as(DType dtype, const std::vector<double>& from, void* to) {
  T* values = static_cast<T*>(to);
  for (std::size_t i = 0; i < from.size(); ++i) values[i] = static_cast<T>(round_to(dtype, from[i]));
}

void store(DType dtype, const std::vector<double>& from, void* to) {
  auto* halves = static_cast<std::uint16_t*>(to);
  switch (dtype) {
    case DType::float32: return store_as<float>(dtype, from, to);
    case DType::float64: return store_as<double>(dtype, from, to);
    case DType::opaque: std::copy(from.begin(), from.end(), static_cast<double*>(to)); return;
    case DType::int32: return store_as<std::int32_t>(dtype, from, to);
    case DType::int64: return store_as<std::int64_t>(dtype, from, to);
    case DType::uint8: return store_as<std::uint8_t>(dtype, from, to);
    case DType::boolean:
      for (std::size_t i = 0; i < from.size(); ++i) static_cast<std::uint8_t*>(to)[i] = from[i] != 0;
      return;
    case DType::float16:
      for (std::size_t i = 0; i < from.size(); ++i) halves[i] = float_to_float16(static_cast<float>(from[i]));
      return;
    case DType::bfloat16:
      for (std::size_t i = 0; i < from.size(); ++i) halves[i] = float_to_bfloat16(static_cast<float>(from[i]));
      return;
    case DType::none: return;
  }
}

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Problem& problem)
      : node_(problem.node),
        inputs_(problem.inputs.begin(), problem.inputs.end()),
        outputs_(problem.outputs.begin(), problem.outputs.end()) {}

  Status run(const Launch& launch) noexcept override try {
    std::vector<Array> inputs(inputs_.size()), outputs(outputs_.size());
    std::vector<const Array*> given(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i] || !launch.inputs[i]) continue;
      inputs[i] = Array(inputs_[i].shape);
      load(inputs_[i].dtype, launch.inputs[i], inputs[i].data);
      given[i] = &inputs[i];
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs[i] = Array(outputs_[i].shape);
    node_.op->reference({given, outputs, inputs_, outputs_, node_.attributes, node_.bodies});
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (launch.outputs[i]) store(outputs_[i].dtype, outputs[i].data, launch.outputs[i]);
    }
    return Status::ok;
  } catch (...) {
    return Status::failed;
  }

 private:
  const Node node_;
  const Types inputs_, outputs_;
};

}  // namespace

Choice reference_choice(const Problem& problem) {
  Choice choice;
  choice.name = "reference";
  const auto no = [&](std::string reason) {
    choice.refusals.push_back(cat("reference: ", reason));
    return choice;
  };
  if (!problem.node.op->reference) return no("the op has none");
  if (!problem.device.host_memory) return no("the host cannot reach this device's memory");
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (problem.inputs[i].dtype != DType::opaque) continue;
    const std::string format = i < problem.formats.size() ? problem.formats[i] : "";
    if (format != reference_format) return no(cat("input ", i, " has the format '", format, "' of another kernel"));
  }
  choice.opaque.resize(problem.outputs.size());
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    if (problem.outputs[i].dtype != DType::opaque) continue;
    choice.opaque[i] = {static_cast<std::size_t>(problem.outputs[i].size()) * sizeof(double), reference_format};
  }
  choice.kernel = std::make_shared<ReferenceKernel>(problem);
  choice.reference = true;
  return choice;
}

}  // namespace strata
