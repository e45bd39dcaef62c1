// SPDX-License-Identifier: Apache-2.0
// Ops that only move elements: each is one or a few strided walks, whatever the dtype.
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/strided.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[static_cast<int>(i)];
  return strides;
}

std::int64_t width_of(const Type& type) { return static_cast<std::int64_t>(size_of(type.dtype)); }

char* moved(void* address, std::int64_t elements, std::int64_t width) {
  return static_cast<char*>(address) + elements * width;
}

// One walk over the output's shape; `first` is where it begins in the input, in elements.
Choice walk(const Problem& problem, std::vector<Stride> axes, std::int64_t first = 0) {
  const std::int64_t width = width_of(problem.outputs[0]);
  if (problem.outputs[0].size() == 0) return accept([](const Launch&) {});
  const StridedCopy copy(std::move(axes), width);
  return accept([copy, first, width](const Launch& l) { copy.run(moved(l.inputs[0], first, width), l.outputs[0]); });
}

Choice reshape(const Problem& problem) {
  const std::size_t bytes = problem.outputs[0].bytes();
  Choice choice = accept([bytes](const Launch& l) { std::memmove(l.outputs[0], l.inputs[0], bytes); });
  choice.in_place = {{0, 0}};
  return choice;
}

Choice broadcast_to(const Problem& problem) {
  const Shape &from = problem.inputs[0].shape, &to = problem.outputs[0].shape;
  const std::vector<std::int64_t> in = strides_of(from), out = strides_of(to);
  std::vector<Stride> axes;
  const int added = to.rank() - from.rank();
  for (int axis = 0; axis < to.rank(); ++axis) {
    const bool repeats = axis < added || from[axis - added] == 1;
    axes.push_back(
        {to[axis], repeats ? 0 : in[static_cast<std::size_t>(axis - added)], out[static_cast<std::size_t>(axis)]});
  }
  return walk(problem, axes);
}

Choice transpose(const Problem& problem) {
  const std::vector<std::int64_t> in = strides_of(problem.inputs[0].shape), out = strides_of(problem.outputs[0].shape);
  const std::vector<std::int64_t>& order = problem.node.attributes.as<Permutation>().axes;
  std::vector<Stride> axes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int from = problem.inputs[0].shape.axis(static_cast<int>(order[i]));
    axes.push_back({problem.outputs[0].shape[static_cast<int>(i)], in[static_cast<std::size_t>(from)], out[i]});
  }
  return walk(problem, axes);
}

Choice slice(const Problem& problem) {
  const Slice& slice = problem.node.attributes.as<Slice>();
  const std::vector<std::int64_t> in = strides_of(problem.inputs[0].shape), out = strides_of(problem.outputs[0].shape);
  std::vector<Stride> axes;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t step = slice.strides.empty() ? 1 : slice.strides[i];
    first += slice.starts[i] * in[i];
    axes.push_back({problem.outputs[0].shape[static_cast<int>(i)], in[i] * step, out[i]});
  }
  return walk(problem, axes, first);
}

Choice reverse(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const int reversed = shape.axis(static_cast<int>(problem.node.attributes.as<Axis>().axis));
  const std::vector<std::int64_t> strides = strides_of(shape);
  std::vector<Stride> axes;
  std::int64_t first = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
    if (axis == reversed) first = (shape[axis] - 1) * stride;
    axes.push_back({shape[axis], axis == reversed ? -stride : stride, stride});
  }
  return walk(problem, axes, first);
}

// Fills everything, then copies what is inside; negative padding cuts off.
Choice pad(const Problem& problem) {
  const Padding& padding = problem.node.attributes.as<Padding>();
  const Type &from = problem.inputs[0], &to = problem.outputs[0];
  const std::vector<std::int64_t> in = strides_of(from.shape), out = strides_of(to.shape);
  const std::int64_t width = width_of(to), size = to.size();
  std::vector<Stride> axes;
  std::int64_t first_in = 0, first_out = 0, inside = 1;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t low = padding.low[i], high = padding.high[i];
    const std::int64_t extent =
        from.shape[static_cast<int>(i)] + std::min<std::int64_t>(low, 0) + std::min<std::int64_t>(high, 0);
    inside *= std::max<std::int64_t>(extent, 0);
    first_in += std::max<std::int64_t>(-low, 0) * in[i];
    first_out += std::max<std::int64_t>(low, 0) * out[i];
    axes.push_back({std::max<std::int64_t>(extent, 0), in[i], out[i]});
  }
  char bytes[8] = {};
  const double rounded = round_to(to.dtype, padding.value);
  switch (to.dtype) {
    case DType::float32: {
      const auto value = static_cast<float>(rounded);
      std::memcpy(bytes, &value, sizeof value);
      break;
    }
    case DType::float64: std::memcpy(bytes, &rounded, sizeof rounded); break;
    case DType::float16: {
      const auto value = float_to_float16(static_cast<float>(rounded));
      std::memcpy(bytes, &value, sizeof value);
      break;
    }
    case DType::bfloat16: {
      const auto value = float_to_bfloat16(static_cast<float>(rounded));
      std::memcpy(bytes, &value, sizeof value);
      break;
    }
    default: {
      const auto value = static_cast<std::int64_t>(rounded);
      std::memcpy(bytes, &value, sizeof value);
      break;
    }
  }
  const bool zero = std::all_of(std::begin(bytes), std::end(bytes), [](char byte) { return byte == 0; });
  const StridedCopy fill({{size, 0, 1}}, width), copy(axes, width);
  return accept([=](const Launch& l) {
    if (size == 0) return;
    if (zero) std::memset(l.outputs[0], 0, static_cast<std::size_t>(size * width));
    else fill.run(bytes, l.outputs[0]);
    if (inside > 0) copy.run(moved(l.inputs[0], first_in, width), moved(l.outputs[0], first_out, width));
  });
}

Choice concatenate(const Problem& problem) {
  const Shape& shape = problem.outputs[0].shape;
  const int axis = shape.axis(static_cast<int>(problem.node.attributes.as<Axis>().axis));
  const std::int64_t width = width_of(problem.outputs[0]);
  const std::int64_t outer = shape.slice(0, axis).size(), inner = shape.slice(axis + 1, shape.rank()).size();
  std::vector<StridedCopy> copies;
  std::vector<std::int64_t> offsets, sizes;
  std::int64_t at = 0;
  for (const Type& part : problem.inputs) {
    const std::int64_t row = part.shape[axis] * inner;
    copies.emplace_back(std::vector<Stride>{{outer, row, shape[axis] * inner}, {row, 1, 1}}, width);
    offsets.push_back(at);
    sizes.push_back(part.size());
    at += row;
  }
  return accept([=](const Launch& l) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (sizes[i] > 0) copies[i].run(l.inputs[i], moved(l.outputs[0], offsets[i], width));
    }
  });
}

}  // namespace

void kernels_shape(KernelTable& table) {
  table.add("reshape", "copy", reshape);
  table.add("broadcast_to", "walk", broadcast_to);
  table.add("transpose", "walk", transpose);
  table.add("slice", "walk", slice);
  table.add("reverse", "walk", reverse);
  table.add("pad", "walk", pad);
  table.add("concatenate", "walk", concatenate);
}

}  // namespace strata::cpu
