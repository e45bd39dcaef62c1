// SPDX-License-Identifier: Apache-2.0
// Data. A dataset is a part with
//   std::shared_ptr<const Reader> open() const
// and a Reader gives rows by number, so that shuffling, sharding and resuming are the loader's and a formula's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/part.h"
#include "strata/tensor.h"

namespace strata {

// One array of a dataset. `type` is one row's: without the batch axis.
struct DataField {
  enum class Role { input, target, weight };
  std::string name;
  Role role = Role::input;
  Type type;
  std::int64_t classes = 0;  // of a label; 0: not a label, or not known
  std::vector<std::string> class_names;
};

// Opened data. Rows may be read from several threads at once.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::int64_t size() const = 0;  // rows
  virtual const std::vector<DataField>& fields() const = 0;
  // Copies row `row` (0 … size()-1) of each field to the addresses given, in the order of fields(). Error: the file and
  // the row, when the data is bad.
  virtual void read(std::int64_t row, std::span<void* const> out) const = 0;
};

struct DatasetKind {
  static constexpr std::string_view word = "dataset";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t) {
    { t.open() } -> std::same_as<std::shared_ptr<const Reader>>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    std::shared_ptr<const Reader> open() const override { return part.open(); }
  };
  virtual ~DatasetKind() = default;
  virtual std::shared_ptr<const Reader> open() const = 0;  // Error: what is wrong with the files
};

using Dataset = Part<DatasetKind>;
template <> struct FieldTypeOf<Dataset> { static const FieldType& get(); };

}  // namespace strata
