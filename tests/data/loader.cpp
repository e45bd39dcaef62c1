// SPDX-License-Identifier: Apache-2.0
// The loader: every row once an epoch, any batch first, errors carried, buffers used again.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "data/loader.h"
#include "strata/datasets/arrays.h"
#include "strata/datasets/synthetic.h"
#include "support/message.h"

using namespace strata;

namespace {

std::shared_ptr<const Reader> numbered(std::int64_t rows) {
  std::vector<float> x(static_cast<std::size_t>(rows) * 2);
  std::vector<std::int32_t> y(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    x[static_cast<std::size_t>(2 * i)] = static_cast<float>(i);
    x[static_cast<std::size_t>(2 * i + 1)] = static_cast<float>(-i);
    y[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  }
  return datasets::Arrays{.x = {Tensor(Shape{rows, 2}, x)}, .y = {Tensor(Shape{rows}, y)}}.open();
}

std::vector<std::int64_t> rows_of(Loader& loader, std::int64_t epoch, std::int64_t batch = 0) {
  std::vector<std::int64_t> rows;
  loader.start(epoch, batch);
  Batch b;
  while (loader.next(b)) {
    REQUIRE(b.fields[0].shape() == Shape{b.rows, 2});
    for (std::int64_t i = 0; i < b.rows; ++i) {
      const auto row = b.row_numbers[static_cast<std::size_t>(i)];
      CHECK(b.fields[0].as<float>()[static_cast<std::size_t>(2 * i)] == static_cast<float>(row));
      CHECK(b.fields[1].as<std::int32_t>()[static_cast<std::size_t>(i)] == row);
      rows.push_back(row);
    }
  }
  return rows;
}

class Failing final : public Reader {
 public:
  std::int64_t size() const override { return 10; }
  const std::vector<DataField>& fields() const override { return fields_; }
  void read(std::int64_t row, std::span<void* const> out) const override {
    if (row == 7) throw Error("data.csv:8: is bad");
    *static_cast<float*>(out[0]) = 1;
  }

 private:
  std::vector<DataField> fields_{{"x", DataField::Role::input, {{}, DType::float32}, 0, {}}};
};

}  // namespace

TEST_CASE("every row comes exactly once an epoch, whatever the batch size and read-ahead") {
  for (const int prefetch : {0, 1, 2, 5})
    for (const std::int64_t batch : {1, 3, 4, 10, 11, 64})
      for (const bool shuffle : {false, true}) {
        Loader loader(numbered(11),
                      {.batch_size = batch, .last_row = 11, .shuffle = shuffle, .seed = 5, .prefetch = prefetch});
        for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
          auto rows = rows_of(loader, epoch);
          std::sort(rows.begin(), rows.end());
          std::vector<std::int64_t> all(11);
          std::iota(all.begin(), all.end(), 0);
          CHECK(rows == all);
        }
      }
}

TEST_CASE("an epoch's order depends on the seed and the epoch, and on nothing else") {
  Loader a(numbered(100), {.batch_size = 7, .last_row = 100, .shuffle = true, .seed = 1});
  Loader b(numbered(100), {.batch_size = 32, .last_row = 100, .shuffle = true, .seed = 1, .prefetch = 0});
  Loader other(numbered(100), {.batch_size = 7, .last_row = 100, .shuffle = true, .seed = 2});
  CHECK(rows_of(a, 0) == rows_of(b, 0));
  CHECK(rows_of(a, 1) == rows_of(b, 1));
  CHECK(rows_of(a, 0) != rows_of(a, 1));
  CHECK(rows_of(a, 0) != rows_of(other, 0));
}

TEST_CASE("a start in the middle goes on as the straight run") {
  for (const int prefetch : {0, 2}) {
    Loader loader(numbered(50), {.batch_size = 8, .last_row = 50, .shuffle = true, .seed = 3, .prefetch = prefetch});
    const auto straight = rows_of(loader, 4);
    for (std::int64_t batch = 0; batch <= loader.batches(); ++batch) {
      const auto rest = rows_of(loader, 4, batch);
      CHECK(rest ==
            std::vector<std::int64_t>(straight.begin() + std::min<std::ptrdiff_t>(batch * 8, 50), straight.end()));
    }
  }
}

TEST_CASE("a range of rows stands alone: the tail that validates") {
  Loader loader(numbered(10), {.batch_size = 4, .first_row = 7, .last_row = 10});
  CHECK(rows_of(loader, 0) == std::vector<std::int64_t>{7, 8, 9});
  Loader dropping(numbered(10), {.batch_size = 4, .last_row = 10, .drop_last = true});
  CHECK(rows_of(dropping, 0).size() == 8);
  CHECK(test::message_of([] { Loader(numbered(10), {.batch_size = 4, .last_row = 11}); }) ==
        "rows 0 to 11 are not all among the 10 rows of the data");
  CHECK(test::message_of([] { Loader(numbered(10), {.batch_size = 0, .last_row = 10}); }) ==
        "a batch has at least 1 row, got batch_size 0");
}

TEST_CASE("what goes wrong in the reading thread comes out of next()") {
  for (const int prefetch : {0, 3}) {
    Loader loader(std::make_shared<Failing>(), {.batch_size = 4, .last_row = 10, .prefetch = prefetch});
    loader.start(0);
    Batch batch;
    CHECK(loader.next(batch));
    CHECK(test::message_of([&] { (void)loader.next(batch); }) == "data.csv:8: is bad");
    CHECK(!loader.next(batch));
    loader.start(1);  // and it can begin again
    CHECK(loader.next(batch));
  }
}

TEST_CASE("a loader may go away in the middle of an epoch") {
  for (int i = 0; i < 20; ++i) {
    Loader loader(numbered(1000), {.batch_size = 8, .last_row = 1000, .prefetch = 4});
    loader.start(0);
    Batch batch;
    for (int k = 0; k < i; ++k) CHECK(loader.next(batch));
  }
}

TEST_CASE("synthetic data is a function of its seed and the row") {
  const auto a = datasets::Synthetic{.rows = 10, .shape = {3}, .seed = 1}.open(),
             b = datasets::Synthetic{.rows = 1000, .shape = {3}, .seed = 1}.open(),
             c = datasets::Synthetic{.rows = 10, .shape = {3}, .seed = 2}.open();
  float x[3][3];
  std::int32_t y[3];
  int i = 0;
  for (const auto& reader : {a, b, c}) {
    void* const out[] = {x[i], &y[i]};
    reader->read(5, out);
    ++i;
  }
  CHECK(std::equal(x[0], x[0] + 3, x[1]));
  CHECK(y[0] == y[1]);
  CHECK(!std::equal(x[0], x[0] + 3, x[2]));
  CHECK(test::message_of([] {
          (void)datasets::Arrays{.x = {Tensor(Type{{3, 2}, DType::float32})}, .y = {Tensor(Type{{4}, DType::int32})}}
              .open();
        }) == "array 'y0' has 4 rows, 'x0' has 3");
}
