// SPDX-License-Identifier: Apache-2.0
// Data made row by row.
#include "strata/datasets/synthetic.h"

#include <cmath>

#include "core/random.h"

namespace strata::datasets {

namespace {

class SyntheticReader final : public Reader {
 public:
  explicit SyntheticReader(const Synthetic& made)
      : made_(made),
        numbers_(random_key(static_cast<std::uint64_t>(made.seed), stream_of("synthetic/x"))),
        centres_(random_key(static_cast<std::uint64_t>(made.seed), stream_of("synthetic/centres"))) {
    const bool regression = made.kind == "regression";
    fields_.push_back({"x", DataField::Role::input, {made.shape, DType::float32}, 0, {}});
    fields_.push_back({"y",
                       DataField::Role::target,
                       regression ? Type{{made.classes}, DType::float32} : Type{{}, DType::int32},
                       regression ? 0 : made.classes,
                       {}});
  }
  std::int64_t size() const override { return made_.rows; }
  const std::vector<DataField>& fields() const override { return fields_; }
  void read(std::int64_t row, std::span<void* const> out) const override {
    auto* x = static_cast<float*>(out[0]);
    const auto width = static_cast<std::uint64_t>(made_.shape.size()), r = static_cast<std::uint64_t>(row);
    const auto label =
        static_cast<std::int64_t>(random_word(numbers_, 1, r, 0) % static_cast<std::uint64_t>(made_.classes));
    for (std::uint64_t i = 0; i < width; ++i) {
      const double centre = made_.kind == "blobs" ? 1.5 * normal(centres_, 0, static_cast<std::uint64_t>(label), i) : 0;
      x[i] = static_cast<float>(centre + normal(numbers_, 0, r, i));
    }
    if (made_.kind != "regression") {
      *static_cast<std::int32_t*>(out[1]) = static_cast<std::int32_t>(label);
      return;
    }
    auto* y = static_cast<float*>(out[1]);
    for (std::int64_t k = 0; k < made_.classes; ++k) {
      double sum = 0;
      for (std::uint64_t i = 0; i < width; ++i)
        sum += static_cast<double>(x[i]) * normal(centres_, 0, static_cast<std::uint64_t>(k), i) /
               std::sqrt(static_cast<double>(width));
      y[k] = static_cast<float>(std::tanh(sum) + 0.05 * normal(numbers_, 2, r, static_cast<std::uint64_t>(k)));
    }
  }

 private:
  Synthetic made_;
  RandomKey numbers_, centres_;
  std::vector<DataField> fields_;
};

}  // namespace

std::shared_ptr<const Reader> Synthetic::open() const {
  Mistakes mistakes;  // a program may have set anything
  schema_of<Synthetic>().check(this, {}, mistakes);
  mistakes.raise();
  return std::make_shared<SyntheticReader>(*this);
}

}  // namespace strata::datasets
