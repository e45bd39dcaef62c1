// SPDX-License-Identifier: Apache-2.0
// A dense, row-major, channels-last array: type, device and shared memory.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "strata/device.h"
#include "strata/dtype.h"

namespace strata {

template <class T> constexpr DType dtype_of = DType::none;
template <> inline constexpr DType dtype_of<float> = DType::float32;
template <> inline constexpr DType dtype_of<double> = DType::float64;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::int32;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::int64;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::uint8;
template <> inline constexpr DType dtype_of<bool> = DType::boolean;

// Copies share the memory. What model functions take and return lies in host memory; `host_data` and `as` refuse any
// other with an Error. Not thread-safe for writing.
class Tensor {
 public:
  Tensor() = default;                                                               // empty: no type, no memory
  explicit Tensor(Type type);                                                       // host memory, zeroed
  Tensor(Type type, std::shared_ptr<Buffer> buffer, std::size_t offset_bytes = 0);  // a view
  template <class T>
  Tensor(const Shape& shape, const std::vector<T>& values) : Tensor(of(shape, std::span<const T>(values))) {}
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {  // copies; Error when the counts differ
    return copied({shape, dtype_of<T>}, values.data(), values.size());
  }

  explicit operator bool() const { return static_cast<bool>(type_); }
  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::size_t bytes() const { return type_.bytes(); }
  Device device() const;
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  void* address() const;  // on the device, wherever that is

  void* host_data();
  const void* host_data() const;
  template <class T> std::span<T> as() { return {static_cast<T*>(checked(dtype_of<T>)), count()}; }
  template <class T> std::span<const T> as() const {
    return {static_cast<const T*>(const_cast<Tensor*>(this)->checked(dtype_of<T>)), count()};
  }

  std::vector<double> to_doubles() const;                                 // every element as a double (host only)
  static Tensor from_doubles(Type type, std::span<const double> values);  // rounded to the type
  Tensor rows(std::int64_t begin, std::int64_t end) const;                // rows begin … end-1: a view
  Tensor clone() const;                                                   // its own memory
  Tensor reshaped(const Shape& shape) const;                              // a view of equal size, or an Error

 private:
  static Tensor copied(Type type, const void* values, std::size_t count);
  void* checked(DType dtype);
  std::size_t count() const { return static_cast<std::size_t>(type_.size()); }

  Type type_;
  std::shared_ptr<Buffer> buffer_;
  std::size_t offset_bytes_ = 0;
};

std::string to_text(const Tensor& tensor);  // type, and the first values

}  // namespace strata
