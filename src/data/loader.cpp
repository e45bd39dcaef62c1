// SPDX-License-Identifier: Apache-2.0
// Reading ahead: a job a batch, each with its buffer of the ring. Jobs may end in any order and are waited for in the
// batches'. They open no OpenMP region.
#include "data/loader.h"

#include <algorithm>

namespace strata {

Loader::Loader(std::shared_ptr<const Reader> reader, LoaderOptions options)
    : reader_(std::move(reader)), options_(options) {
  if (options_.batch_size < 1) throw Error(cat("a batch has at least 1 row, got batch_size ", options_.batch_size));
  if (options_.prefetch < 0) throw Error(cat("batches read ahead are at least 0, got prefetch ", options_.prefetch));
  if (options_.threads < 1) throw Error(cat("at least 1 thread reads, got threads ", options_.threads));
  if (options_.first_row < 0 || options_.last_row > reader_->size() || options_.first_row > options_.last_row)
    throw Error(cat("rows ", options_.first_row, " to ", options_.last_row, " are not all among the ", reader_->size(),
                    " rows of the data"));
  const std::int64_t largest = std::min(options_.batch_size, std::max<std::int64_t>(1, row_count()));
  for (const DataField& field : reader_->fields()) row_bytes_.push_back(field.type.bytes());
  buffers_.resize(static_cast<std::size_t>(options_.prefetch) + 1);
  for (Buffer& buffer : buffers_) {
    for (const DataField& field : reader_->fields())
      buffer.whole.emplace_back(Type{field.type.shape.prepend(largest), field.type.dtype});
    buffer.places.resize(buffer.whole.size());
    buffer.row_numbers.reserve(static_cast<std::size_t>(largest));
  }
  if (options_.prefetch > 0) pool_ = std::make_unique<ThreadPool>(std::min(options_.threads, options_.prefetch + 1));
}

Loader::~Loader() { abandoned_ = true; }

std::int64_t Loader::batches() const {
  const std::int64_t whole = row_count() / options_.batch_size;
  return whole + (!options_.drop_last && row_count() % options_.batch_size ? 1 : 0);
}

void Loader::abandon() {
  abandoned_ = true;
  for (Buffer& buffer : buffers_) {
    try {
      buffer.filled.wait();
    } catch (...) {  // was for a batch that nobody asked for
    }
    buffer.filled = {};
  }
  abandoned_ = false;
}

void Loader::start(std::int64_t epoch, std::int64_t batch) {
  if (batch < 0 || batch > batches()) throw Error(cat("there is no batch ", batch, ": an epoch has ", batches()));
  abandon();
  order_.emplace(options_.seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(row_count()));
  to_read_ = to_give_ = batch;
  if (pool_) read_ahead();
}

// The ring holds the batch to be given and `prefetch` after it; the one given before is free again.
void Loader::read_ahead() {
  for (; to_read_ < batches() && to_read_ <= to_give_ + options_.prefetch; ++to_read_) {
    Buffer& buffer = buffer_of(to_read_);
    buffer.filled = pool_->submit([this, &buffer, index = to_read_] { fill(buffer, index); });
  }
}

void Loader::fill(Buffer& buffer, std::int64_t index) const {
  const std::int64_t begin = index * options_.batch_size, end = std::min(begin + options_.batch_size, row_count());
  buffer.rows = end - begin;
  buffer.row_numbers.clear();
  for (std::int64_t i = begin; i < end && !abandoned_.load(std::memory_order_relaxed); ++i) {
    const std::int64_t row =
        options_.first_row +
        (options_.shuffle ? static_cast<std::int64_t>(order_->at(static_cast<std::uint64_t>(i))) : i);
    buffer.row_numbers.push_back(row);
    for (std::size_t f = 0; f < buffer.whole.size(); ++f)
      buffer.places[f] =
          static_cast<char*>(buffer.whole[f].host_data()) + static_cast<std::size_t>(i - begin) * row_bytes_[f];
    reader_->read(row, buffer.places);
  }
}

bool Loader::next(Batch& batch) {
  STRATA_CHECK(order_, "next() before start()");
  if (to_give_ >= batches()) return false;
  const std::int64_t index = to_give_;
  Buffer& buffer = buffer_of(index);
  try {
    if (pool_) {
      read_ahead();
      buffer.filled.wait();
    } else {
      fill(buffer, index);
    }
  } catch (...) {
    to_give_ = batches();  // nothing comes after a batch that could not be read
    throw;
  }
  ++to_give_;
  batch.rows = buffer.rows;
  batch.index = index;
  batch.row_numbers = buffer.row_numbers;
  batch.fields.resize(buffer.whole.size());
  for (std::size_t f = 0; f < buffer.whole.size(); ++f) {
    const Tensor& whole = buffer.whole[f];
    batch.fields[f] = buffer.rows == whole.shape()[0] ? whole : whole.rows(0, buffer.rows);
  }
  return true;
}

}  // namespace strata
