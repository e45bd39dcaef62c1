// SPDX-License-Identifier: Apache-2.0
// Batches from a reader: in order or shuffled by formula, read ahead on threads, from any batch of any epoch.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "core/epoch_order.h"
#include "strata/dataset.h"

namespace strata {

struct LoaderOptions {
  std::int64_t batch_size = 32;
  std::int64_t first_row = 0, last_row = 0;  // the range of rows: [first, last)
  bool shuffle = false;
  std::uint64_t seed = 0;
  int prefetch = 2;        // batches read ahead; 0: read when asked for
  int threads = 1;         // that read, each another batch
  bool drop_last = false;  // a partial last batch is left out
};

struct Batch {
  std::vector<Tensor> fields;        // whole-batch tensors, as the reader's fields
  std::int64_t rows = 0, index = 0;  // index within the epoch
  std::vector<std::int64_t> row_numbers;
};

// Used by one thread. Buffers are kept and used again: a batch stays valid until the next call of next() or start().
class Loader {
 public:
  // Error: options that make no sense, or rows that the reader does not have.
  Loader(std::shared_ptr<const Reader> reader, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batches() const;  // in an epoch
  void start(std::int64_t epoch, std::int64_t batch = 0);
  bool next(Batch& batch);  // false after the epoch's last; reading errors come out here, in the batches' order

 private:
  struct Buffer {
    std::vector<Tensor> whole;  // batch_size rows of each field
    std::vector<void*> places;  // of the row being read
    std::vector<std::int64_t> row_numbers;
    std::int64_t rows = 0;
    ThreadPool::Ticket filled;
  };
  Buffer& buffer_of(std::int64_t batch) { return buffers_[static_cast<std::size_t>(batch) % buffers_.size()]; }
  std::int64_t row_count() const { return options_.last_row - options_.first_row; }
  void read_ahead();
  void fill(Buffer& buffer, std::int64_t index) const;
  void abandon();

  std::shared_ptr<const Reader> reader_;
  LoaderOptions options_;
  std::vector<std::size_t> row_bytes_;  // by field
  std::vector<Buffer> buffers_;         // a ring: those read ahead, and the one that is lent out
  std::optional<EpochOrder> order_;     // of the epoch under way
  std::int64_t to_read_ = 0, to_give_ = 0;
  std::atomic<bool> abandoned_ = false;  // nobody waits for what is being read
  std::unique_ptr<ThreadPool> pool_;     // none without read-ahead; the last member: its jobs use the others
};

}  // namespace strata
