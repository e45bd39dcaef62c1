// SPDX-License-Identifier: Apache-2.0
// Data that lies in memory, and data that is made up.
#include "strata/datasets/arrays.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "strata/callback.h"
#include "strata/datasets/synthetic.h"
#include "support/message.h"

using namespace strata;
using datasets::Arrays;
using datasets::Synthetic;
using strata::test::message_of;

namespace {

Tensor floats(const Shape& shape) { return Tensor(Type{shape, DType::float32}); }

struct Row {
  std::array<float, 3> x{};
  std::int32_t y = 0;
  bool operator==(const Row&) const = default;
};
Row row_of(const Synthetic& made, std::int64_t row) {
  Row read;
  void* const out[] = {read.x.data(), &read.y};
  made.open()->read(row, out);
  return read;
}

}  // namespace

TEST_CASE("arrays are named by their place, or as they are told; each has its role") {
  auto said = [](const Arrays& arrays) {
    std::string text;
    const auto reader = arrays.open();
    for (const DataField& field : reader->fields())
      text += cat(field.name,
                  field.role == DataField::Role::input    ? "<"
                  : field.role == DataField::Role::target ? ">"
                                                          : "*",
                  field.type, " ");
    return text;
  };
  CHECK(said({.x = {floats({3, 2}), floats({3})}, .y = {Tensor(Shape{3}, std::vector<std::int32_t>{0, 1, 2})}}) ==
        "x0<float32[2] x1<float32[] y0>int32[] ");
  CHECK(said({.x = {floats({3, 2}), floats({3, 1})},
              .y = {floats({3})},
              .sample_weight = floats({3}),
              .input_names = {"image"},
              .target_names = {"label"}}) == "image<float32[2] x1<float32[1] label>float32[] sample_weight*float32[] ");
}

TEST_CASE("rows of arrays are read by number") {
  const auto reader = Arrays{.x = {Tensor(Shape{3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5})},
                             .y = {Tensor(Shape{3}, std::vector<std::uint8_t>{7, 8, 9})}}
                          .open();
  CHECK(reader->size() == 3);
  float x[2];
  std::uint8_t y = 0;
  void* const out[] = {x, &y};
  reader->read(2, out);
  CHECK(x[0] == 4);
  CHECK(x[1] == 5);
  CHECK(y == 9);
}

TEST_CASE("arrays that do not fit together are refused") {
  auto said = [](const Arrays& arrays) { return message_of([&] { (void)arrays.open(); }); };
  CHECK(said({.x = {floats({3, 2})}, .y = {floats({4})}}) == "array 'y0' has 4 rows, 'x0' has 3");
  CHECK(said({.x = {floats({})}}) == "array 'x0' is a scalar; the first axis must be the rows");
  CHECK(said({.y = {floats({4})}}) == "Arrays: x has no arrays; a model needs at least one input");
  CHECK(said({.x = {floats({4}), Tensor()}}) == "array 'x1' is empty: it was never made");
  CHECK(said({.x = {floats({4})}, .input_names = {"a", "b"}}) == "Arrays: 2 names (a and b) for 1 arrays x");
  CHECK(said({.x = {floats({4})}, .y = {floats({4})}, .input_names = {"y0"}}) ==
        "two arrays are named 'y0'; give each a name of its own");
}

TEST_CASE("synthetic data is a function of its seed and the row, whatever the number of rows") {
  const Row row = row_of({.rows = 10, .shape = {3}, .seed = 1}, 5);
  CHECK(row_of({.rows = 1000, .shape = {3}, .seed = 1}, 5) == row);
  CHECK_FALSE(row_of({.rows = 10, .shape = {3}, .seed = 2}, 5) == row);
  CHECK_FALSE(row_of({.rows = 10, .shape = {3}, .seed = 1}, 6) == row);
  CHECK(row_of({.rows = 10, .shape = {3}, .kind = "noise", .seed = 1}, 5).y == row.y);
}

TEST_CASE("synthetic classes are clouds apart; noise tells nothing") {
  // The nearest mean of the first half names the classes of the second half, or does not.
  auto hits = [](const std::string& kind) {
    const Synthetic made{.rows = 400, .shape = {3}, .classes = 3, .kind = kind, .seed = 4};
    const auto reader = made.open();
    CHECK(reader->fields()[1].classes == 3);
    double sums[3][3] = {}, counts[3] = {};
    int right = 0;
    for (std::int64_t i = 0; i < 400; ++i) {
      Row row;
      void* const out[] = {row.x.data(), &row.y};
      reader->read(i, out);
      REQUIRE((row.y >= 0 && row.y < 3));
      double nearest = HUGE_VAL;
      int guess = -1;
      for (int c = 0; c < 3; ++c) {
        double distance = 0;
        for (std::size_t k = 0; k < 3; ++k) distance += std::pow(row.x[k] - sums[c][k] / std::max(1.0, counts[c]), 2);
        if (distance < nearest) nearest = distance, guess = c;
        if (i < 200 && c == row.y)
          for (std::size_t k = 0; k < 3; ++k) sums[c][k] += row.x[k];
      }
      if (i < 200) ++counts[row.y];
      else right += guess == row.y;
    }
    return right / 200.0;
  };
  CHECK(hits("blobs") > 0.7);
  CHECK(hits("noise") < 0.5);
}

TEST_CASE("synthetic regression gives numbers to predict; arguments are checked in programs, too") {
  const auto reader = Synthetic{.rows = 5, .shape = {3}, .classes = 2, .kind = "regression"}.open();
  CHECK(to_text(reader->fields()[1].type) == "float32[2]");
  CHECK(reader->fields()[1].classes == 0);
  CHECK(message_of([] {
          (void)Synthetic{.classes = 0}.open();
        }).find("Synthetic: 'classes' must be at least 1, got 0") != std::string::npos);
  CHECK(message_of([] { (void)Synthetic{.kind = "blob"}.open(); }).find("did you mean 'blobs'") != std::string::npos);
}

TEST_CASE("what exists in C++ only has no word for files") {
  CHECK_FALSE(parts<Dataset>().has("Arrays"));
  CHECK_FALSE(parts<Callback>().has("LambdaCallback"));
}
