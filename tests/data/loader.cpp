// SPDX-License-Identifier: Apache-2.0
// The loader: every row once an epoch, any batch first, errors carried, buffers used again.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "data/loader.h"
#include "strata/datasets/arrays.h"
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

// Rows that take longer the earlier they come.
class Uneven final : public Reader {
 public:
  std::int64_t size() const override { return 60; }
  const std::vector<DataField>& fields() const override { return fields_; }
  void read(std::int64_t row, std::span<void* const> out) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(row % 7 * 40));
    *static_cast<double*>(out[0]) = static_cast<double>(row);
  }

 private:
  std::vector<DataField> fields_{{"x", DataField::Role::input, {{}, DType::float64}, 0, {}}};
};

}  // namespace

TEST_CASE("every row comes exactly once an epoch, whatever the batch size, the read-ahead and the threads") {
  for (const auto& [prefetch, threads] : {std::pair{0, 1}, {1, 1}, {2, 1}, {5, 1}, {1, 2}, {5, 3}, {3, 9}})
    for (const std::int64_t batch : {1, 3, 4, 10, 11, 64})
      for (const bool shuffle : {false, true}) {
        Loader loader(numbered(11), {.batch_size = batch,
                                     .last_row = 11,
                                     .shuffle = shuffle,
                                     .seed = 5,
                                     .prefetch = prefetch,
                                     .threads = threads});
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
  for (const auto& [prefetch, threads] : {std::pair{0, 1}, {2, 1}, {4, 3}}) {
    Loader loader(
        numbered(50),
        {.batch_size = 8, .last_row = 50, .shuffle = true, .seed = 3, .prefetch = prefetch, .threads = threads});
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
  CHECK(test::message_of([] { Loader(numbered(10), {.last_row = 10, .prefetch = -1}); }) ==
        "batches read ahead are at least 0, got prefetch -1");
  CHECK(test::message_of([] { Loader(numbered(10), {.last_row = 10, .threads = 0}); }) ==
        "at least 1 thread reads, got threads 0");
  CHECK(test::message_of([] { Loader(numbered(10), {.batch_size = 4, .last_row = 10}).start(0, 4); }) ==
        "there is no batch 4: an epoch has 3");
}

TEST_CASE("what goes wrong in the reading thread comes out of next()") {
  for (const auto& [prefetch, threads] : {std::pair{0, 1}, {3, 1}, {3, 2}}) {
    Loader loader(std::make_shared<Failing>(),
                  {.batch_size = 4, .last_row = 10, .prefetch = prefetch, .threads = threads});
    loader.start(0);
    Batch batch;
    CHECK(loader.next(batch));
    CHECK(test::message_of([&] { (void)loader.next(batch); }) == "data.csv:8: is bad");
    CHECK(!loader.next(batch));
    loader.start(1);  // and it can begin again
    CHECK(loader.next(batch));
  }
}

TEST_CASE("batches come in their order though they are read in any other, and stay as they are until the next one") {
  Loader loader(std::make_shared<Uneven>(),
                {.batch_size = 2, .last_row = 60, .shuffle = true, .prefetch = 4, .threads = 4});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    loader.start(epoch);
    Batch batch;
    for (std::int64_t index = 0; loader.next(batch); ++index) {
      CHECK(batch.index == index);
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // the ring is full now
      for (std::size_t i = 0; i < 2; ++i)
        CHECK(batch.fields[0].as<double>()[i] == static_cast<double>(batch.row_numbers[i]));
    }
  }
}

TEST_CASE("buffers are aligned and used again") {
  for (const int prefetch : {0, 2}) {
    Loader loader(numbered(100), {.batch_size = 8, .last_row = 100, .prefetch = prefetch});
    std::set<const void*> places;
    Batch batch;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch)
      for (loader.start(epoch); loader.next(batch);) {
        places.insert(batch.fields[0].host_data());
        CHECK(reinterpret_cast<std::uintptr_t>(batch.fields[0].host_data()) % 64 == 0);
      }
    CHECK(places.size() == static_cast<std::size_t>(prefetch) + 1);
  }
}

TEST_CASE("a range without rows is an epoch without batches") {
  Loader loader(numbered(5), {.first_row = 3, .last_row = 3, .shuffle = true});
  CHECK(loader.batches() == 0);
  CHECK(rows_of(loader, 0).empty());
}

TEST_CASE("a loader may go away in the middle of an epoch") {
  for (int i = 0; i < 20; ++i) {
    Loader loader(numbered(1000), {.batch_size = 8, .last_row = 1000, .prefetch = 4, .threads = 1 + i % 3});
    loader.start(0);
    Batch batch;
    for (int k = 0; k < i; ++k) CHECK(loader.next(batch));
  }
}
