// SPDX-License-Identifier: Apache-2.0
// Reading ahead. One thread fills buffers in order; it opens no OpenMP region.
#include "data/loader.h"

#include <algorithm>

namespace strata {

Loader::Loader(std::shared_ptr<const Reader> reader, LoaderOptions options)
    : reader_(std::move(reader)), options_(options) {
  if (options_.batch_size < 1) throw Error(cat("a batch has at least 1 row, got batch_size ", options_.batch_size));
  if (options_.first_row < 0 || options_.last_row > reader_->size() || options_.first_row > options_.last_row)
    throw Error(cat("rows ", options_.first_row, " to ", options_.last_row, " are not all among the ", reader_->size(),
                    " rows of the data"));
  const std::int64_t largest = std::min(options_.batch_size, std::max<std::int64_t>(1, row_count()));
  for (int i = 0; i < options_.prefetch + 1; ++i) {
    auto buffer = std::make_unique<Buffer>();
    for (const DataField& field : reader_->fields())
      buffer->whole.emplace_back(Type{field.type.shape.prepend(largest), field.type.dtype});
    buffer->places.resize(buffer->whole.size());
    buffer->row_numbers.reserve(static_cast<std::size_t>(largest));
    buffers_.push_back(std::move(buffer));
  }
}

Loader::~Loader() { stop(); }

std::int64_t Loader::batches() const {
  return options_.drop_last ? row_count() / options_.batch_size
                            : (row_count() + options_.batch_size - 1) / options_.batch_size;
}

void Loader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  stopping_ = false;
}

void Loader::start(std::int64_t epoch, std::int64_t batch) {
  if (batch < 0 || batch > batches()) throw Error(cat("there is no batch ", batch, ": an epoch has ", batches()));
  stop();
  epoch_ = epoch;
  to_read_ = to_give_ = batch;
  full_.clear();
  free_.clear();
  for (auto& buffer : buffers_) free_.push_back(buffer.get());
  lent_ = nullptr;
  if (options_.prefetch > 0) thread_ = std::thread([this] { read_ahead(); });
}

void Loader::fill(Buffer& buffer, std::int64_t index, const EpochOrder& order) const {
  const std::int64_t begin = index * options_.batch_size, end = std::min(begin + options_.batch_size, row_count());
  buffer.rows = end - begin;
  buffer.index = index;
  buffer.row_numbers.clear();
  buffer.error = nullptr;
  try {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row =
          options_.first_row +
          (options_.shuffle ? static_cast<std::int64_t>(order.at(static_cast<std::uint64_t>(i))) : i);
      buffer.row_numbers.push_back(row);
      for (std::size_t f = 0; f < buffer.whole.size(); ++f)
        buffer.places[f] = static_cast<char*>(buffer.whole[f].host_data()) +
                           static_cast<std::size_t>(i - begin) * reader_->fields()[f].type.bytes();
      reader_->read(row, buffer.places);
    }
  } catch (...) {
    buffer.error = std::current_exception();
  }
}

void Loader::read_ahead() {
  const EpochOrder order(options_.seed, static_cast<std::uint64_t>(epoch_), static_cast<std::uint64_t>(row_count()));
  const std::int64_t last = batches();
  std::unique_lock lock(mutex_);
  while (!stopping_ && to_read_ < last) {
    changed_.wait(lock, [&] { return stopping_ || !free_.empty(); });
    if (stopping_) return;
    Buffer* buffer = free_.front();
    free_.pop_front();
    const std::int64_t index = to_read_++;
    lock.unlock();
    fill(*buffer, index, order);
    lock.lock();
    full_.push_back(buffer);
    changed_.notify_all();
    if (buffer->error) return;
  }
}

void Loader::hand_out(Buffer& buffer, Batch& batch) const {
  if (buffer.error) std::rethrow_exception(buffer.error);
  batch.rows = buffer.rows;
  batch.index = buffer.index;
  batch.row_numbers = buffer.row_numbers;
  batch.fields.resize(buffer.whole.size());
  for (std::size_t f = 0; f < buffer.whole.size(); ++f)
    batch.fields[f] =
        buffer.rows == buffer.whole[f].shape()[0] ? buffer.whole[f] : buffer.whole[f].rows(0, buffer.rows);
}

bool Loader::next(Batch& batch) {
  if (to_give_ >= batches()) return false;
  if (options_.prefetch == 0) {
    fill(*buffers_[0], to_give_,
         EpochOrder(options_.seed, static_cast<std::uint64_t>(epoch_), static_cast<std::uint64_t>(row_count())));
    to_give_ = buffers_[0]->error ? batches() : to_give_ + 1;
    hand_out(*buffers_[0], batch);
    return true;
  }
  Buffer* buffer = nullptr;
  {
    std::unique_lock lock(mutex_);
    if (lent_) {
      free_.push_back(lent_);
      lent_ = nullptr;
      changed_.notify_all();
    }
    STRATA_CHECK(thread_.joinable(), "next() before start()");
    changed_.wait(lock, [&] { return !full_.empty(); });
    buffer = full_.front();
    full_.pop_front();
    lent_ = buffer;
  }
  to_give_ = buffer->error ? batches() : to_give_ + 1;  // nothing comes after a batch that could not be read
  hand_out(*buffer, batch);
  return true;
}

}  // namespace strata
