// SPDX-License-Identifier: Apache-2.0
// Rows of tensors.
#include "strata/datasets/arrays.h"

#include <cstring>

#include "base/text.h"

namespace strata::datasets {

namespace {

class ArraysReader final : public Reader {
 public:
  explicit ArraysReader(const Arrays& arrays) {
    auto take = [&](const std::vector<Tensor>& tensors, DataField::Role role, const std::vector<std::string>& names,
                    const char* stem) {
      if (names.size() > tensors.size())
        throw Error(
            cat("Arrays: ", names.size(), " names (", listed(names), ") for ", tensors.size(), " arrays ", stem));
      for (std::size_t i = 0; i < tensors.size(); ++i)
        add(tensors[i], role, i < names.size() ? names[i] : cat(stem, i));
    };
    take(arrays.x, DataField::Role::input, arrays.input_names, "x");
    take(arrays.y, DataField::Role::target, arrays.target_names, "y");
    if (arrays.x.empty()) throw Error("Arrays: x has no arrays; a model needs at least one input");
    if (arrays.sample_weight) add(arrays.sample_weight, DataField::Role::weight, "sample_weight");
  }
  std::int64_t size() const override { return rows_ < 0 ? 0 : rows_; }
  const std::vector<DataField>& fields() const override { return fields_; }
  void read(std::int64_t row, std::span<void* const> out) const override {
    for (std::size_t f = 0; f < tensors_.size(); ++f) {
      const std::size_t bytes = fields_[f].type.bytes();
      std::memcpy(out[f], static_cast<const char*>(tensors_[f].host_data()) + static_cast<std::size_t>(row) * bytes,
                  bytes);
    }
  }

 private:
  void add(const Tensor& tensor, DataField::Role role, const std::string& name) {
    if (!tensor) throw Error(cat("array '", name, "' is empty: it was never made"));
    for (const DataField& field : fields_)
      if (field.name == name) throw Error(cat("two arrays are named '", name, "'; give each a name of its own"));
    if (tensor.shape().rank() == 0) throw Error(cat("array '", name, "' is a scalar; the first axis must be the rows"));
    if (rows_ >= 0 && tensor.shape()[0] != rows_)
      throw Error(cat("array '", name, "' has ", tensor.shape()[0], " rows, '", fields_[0].name, "' has ", rows_));
    rows_ = tensor.shape()[0];
    fields_.push_back({name, role, {tensor.shape().without(0), tensor.dtype()}, 0, {}});
    tensors_.push_back(tensor);
  }

  std::int64_t rows_ = -1;
  std::vector<DataField> fields_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::shared_ptr<const Reader> Arrays::open() const { return std::make_shared<ArraysReader>(*this); }

}  // namespace strata::datasets
