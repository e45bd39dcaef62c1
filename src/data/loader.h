// SPDX-License-Identifier: Apache-2.0
// Batches from a reader: in order or shuffled by formula, read ahead on a thread, from any batch of any epoch.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "core/epoch_order.h"
#include "strata/dataset.h"

namespace strata {

struct LoaderOptions {
  std::int64_t batch_size = 32;
  std::int64_t first_row = 0, last_row = 0;  // the range of rows: [first, last)
  bool shuffle = false;
  std::uint64_t seed = 0;
  int prefetch = 2;        // batches read ahead; 0: read when asked for
  bool drop_last = false;  // a partial last batch is left out
};

struct Batch {
  std::vector<Tensor> fields;        // whole-batch tensors, as the reader's fields
  std::int64_t rows = 0, index = 0;  // index within the epoch
  std::vector<std::int64_t> row_numbers;
};

// Used by one thread. Buffers are kept and used again: a batch stays valid until the next call of next().
class Loader {
 public:
  Loader(std::shared_ptr<const Reader> reader, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batches() const;  // in an epoch
  void start(std::int64_t epoch, std::int64_t batch = 0);
  bool next(Batch& batch);  // false after the epoch's last; reading errors come out here

 private:
  struct Buffer {
    std::vector<Tensor> whole;  // batch_size rows of each field
    std::vector<std::int64_t> row_numbers;
    std::vector<void*> places;
    std::int64_t rows = 0, index = 0;
    std::exception_ptr error;
  };
  void fill(Buffer& buffer, std::int64_t index, const EpochOrder& order) const;
  void read_ahead();
  void stop();
  void hand_out(Buffer& buffer, Batch& batch) const;
  std::int64_t row_count() const { return options_.last_row - options_.first_row; }

  std::shared_ptr<const Reader> reader_;
  LoaderOptions options_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Buffer* lent_ = nullptr;  // what the last batch's tensors lie in

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Buffer*> free_, full_;
  std::int64_t epoch_ = 0, to_read_ = 0, to_give_ = 0;
  bool stopping_ = false;
};

}  // namespace strata
