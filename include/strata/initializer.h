// SPDX-License-Identifier: Apache-2.0
// Initializers: the first values of a weight. A part here is a struct with
//   void make(const Fill& fill, std::span<double> out) const
#pragma once

#include <span>

#include "strata/part.h"

namespace strata {

// What an initializer may use: the weight's shape, and random numbers that depend on the seed and the weight's path only.
struct Fill {
  Shape shape;
  std::uint64_t seed = 0;
  std::string path;

  double uniform(std::int64_t element) const;           // [0, 1)
  double normal(std::int64_t element) const;            // mean 0, standard deviation 1
  double truncated_normal(std::int64_t element) const;  // the standard normal, cut at two standard deviations
  std::pair<double, double> fans() const;               // Keras's fan in and fan out of the shape
};

struct InitializerKind {
  static constexpr std::string_view word = "initializer";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, const Fill& f, std::span<double> out) {
    t.make(f, out);
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    void make(const Fill& fill, std::span<double> out) const override { part.make(fill, out); }
  };
  virtual ~InitializerKind() = default;
  virtual void make(const Fill& fill, std::span<double> out) const = 0;
};

using Initializer = Part<InitializerKind>;
template <> struct FieldTypeOf<Initializer> { static const FieldType& get(); };

}  // namespace strata
