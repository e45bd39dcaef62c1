// SPDX-License-Identifier: Apache-2.0
// Tensors: views of shared memory, and their values as doubles.
#include "strata/tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strata/error.h"

namespace strata {

namespace {

template <class F> void visit(DType dtype, F f) {
  switch (dtype) {
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::int32: return f(std::int32_t{});
    case DType::int64: return f(std::int64_t{});
    case DType::uint8: return f(std::uint8_t{});
    case DType::boolean: return f(bool{});
    default: throw Error(cat("a tensor of ", dtype, " has no numbers to read"));
  }
}

template <class T> T held_as(DType dtype, double value) {
  const double kept = round_to(dtype, value);
  // The largest 64-bit integer is, as a double, one too large to be cast.
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (kept >= 0x1p63) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(kept);
}

// A float with its own digits: 0.1, not 0.10000000149011612.
std::string shortest(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// A product that wraps would allocate too little.
std::size_t bytes_of(const Type& type) {
  const std::size_t one = size_of(type.dtype), most = std::numeric_limits<std::ptrdiff_t>::max();
  if (one && static_cast<std::size_t>(type.size()) > most / one)
    throw Error(cat("a tensor ", type, " is larger than any memory"));
  return type.bytes();
}

}  // namespace

Tensor::Tensor(Type type) : type_(type), buffer_(host_buffer(bytes_of(type))) {}

Tensor::Tensor(Type type, std::shared_ptr<Buffer> buffer, std::size_t offset_bytes)
    : type_(type), buffer_(std::move(buffer)), offset_bytes_(offset_bytes) {
  STRATA_CHECK(buffer_ && offset_bytes_ <= buffer_->bytes && bytes_of(type_) <= buffer_->bytes - offset_bytes_, type_,
               " at ", offset_bytes_, " leaves its buffer");
}

Device Tensor::device() const { return buffer_ ? buffer_->device : Device{}; }
void* Tensor::address() const { return buffer_ ? static_cast<char*>(buffer_->address) + offset_bytes_ : nullptr; }

void* Tensor::host_data() {
  if (!buffer_) throw Error("an empty tensor has no data");
  if (!buffer_->host) throw Error(cat(type_, " lies on ", buffer_->device, ", where the host cannot read it"));
  return address();
}
const void* Tensor::host_data() const { return const_cast<Tensor*>(this)->host_data(); }

void* Tensor::checked(DType dtype) {
  if (dtype != type_.dtype) throw Error(cat("a tensor of ", type_.dtype, " is read as ", dtype));
  return host_data();
}

Tensor Tensor::copied(Type type, const void* values, std::size_t count) {
  if (count != static_cast<std::size_t>(type.size()))
    throw Error(cat("a tensor ", type, " needs ", type.size(), " values, got ", count));
  Tensor tensor(type);
  if (count) std::memcpy(tensor.host_data(), values, type.bytes());
  return tensor;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(count());
  const void* data = values.empty() ? nullptr : host_data();
  if (type_.dtype == DType::float16 || type_.dtype == DType::bfloat16) {
    const auto* bits = static_cast<const std::uint16_t*>(data);
    const bool half = type_.dtype == DType::float16;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(half ? float16_to_float(bits[i]) : bfloat16_to_float(bits[i]));
    return values;
  }
  visit(type_.dtype, [&]<class T>(T) {
    const auto* typed = static_cast<const T*>(data);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(typed[i]);
  });
  return values;
}

Tensor Tensor::from_doubles(Type type, std::span<const double> values) {
  if (values.size() != static_cast<std::size_t>(type.size()))
    throw Error(cat("a tensor ", type, " needs ", type.size(), " values, got ", values.size()));
  Tensor tensor(type);
  void* data = tensor.host_data();
  if (type.dtype == DType::float16 || type.dtype == DType::bfloat16) {
    auto* bits = static_cast<std::uint16_t*>(data);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(round_to(type.dtype, values[i]));  // rounded once; the rest is exact
      bits[i] = type.dtype == DType::float16 ? float_to_float16(value) : float_to_bfloat16(value);
    }
    return tensor;
  }
  visit(type.dtype, [&]<class T>(T) {
    auto* typed = static_cast<T*>(data);
    for (std::size_t i = 0; i < values.size(); ++i) typed[i] = held_as<T>(type.dtype, values[i]);
  });
  return tensor;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  if (type_.shape.rank() == 0 || begin < 0 || end < begin || end > type_.shape[0])
    throw Error(cat("rows ", begin, " to ", end, " are not all in ", type_));
  Type part{type_.shape.with(0, end - begin), type_.dtype};
  const std::size_t row = type_.shape[0] ? type_.bytes() / static_cast<std::size_t>(type_.shape[0]) : 0;
  return {part, buffer_, offset_bytes_ + static_cast<std::size_t>(begin) * row};
}

Tensor Tensor::clone() const {
  Tensor copy(type_);
  if (type_.bytes()) std::memcpy(copy.host_data(), host_data(), type_.bytes());
  return copy;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.size() != type_.shape.size())
    throw Error(cat(type_, " cannot be reshaped to ", shape, ": their sizes differ"));
  return {{shape, type_.dtype}, buffer_, offset_bytes_};
}

std::string to_text(const Tensor& tensor) {
  if (!tensor) return "(empty)";
  if (!tensor.buffer()->host || tensor.dtype() == DType::opaque) return cat(tensor.type(), " on ", tensor.device());
  constexpr std::int64_t most = 8;
  const std::int64_t size = tensor.type().size();
  const auto values = tensor.reshaped({size}).rows(0, std::min(size, most)).to_doubles();
  std::string text = cat(tensor.type(), " {");
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i ? ", " : "";
    text += tensor.dtype() == DType::float32 ? shortest(static_cast<float>(values[i])) : to_text(values[i]);
  }
  return text + (size > most ? ", …}" : "}");
}

}  // namespace strata
