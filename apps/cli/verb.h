// SPDX-License-Identifier: Apache-2.0
// Verbs of the program. A part here is a struct with
//   int run(std::ostream& out) const      the exit code; data goes to `out`, talk to stderr
// Its arguments are its flags: --name value. The first one is also taken without its name.
#pragma once

#include <ostream>

#include "strata/part.h"

namespace strata {

struct VerbKind {
  static constexpr std::string_view word = "verb";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, std::ostream& out) {
    { t.run(out) } -> std::same_as<int>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    int run(std::ostream& out) const override { return part.run(out); }
  };
  virtual ~VerbKind() = default;
  virtual int run(std::ostream& out) const = 0;
};

using Verb = Part<VerbKind>;

}  // namespace strata
