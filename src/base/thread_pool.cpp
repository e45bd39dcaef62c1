// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <exception>
#include <system_error>

#include "strata/error.h"

namespace strata {

struct ThreadPool::Ticket::State {
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::exception_ptr failure;
};

void ThreadPool::Ticket::wait() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->wake.wait(lock, [&] { return state_->done; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}

bool ThreadPool::Ticket::done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

ThreadPool::ThreadPool(int threads) {
  STRATA_CHECK(threads > 0, "got ", threads);
  workers_.reserve(static_cast<std::size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& failure) {
    const std::size_t started = workers_.size();
    end();
    throw RunFailed(cat("cannot start thread ", started + 1, " of ", threads, ": ", failure.code().message()));
  }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

ThreadPool::Ticket ThreadPool::submit(std::function<void()> job) {
  STRATA_CHECK(job != nullptr);
  Ticket ticket;
  ticket.state_ = std::make_shared<Ticket::State>();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), ticket.state_});
  }
  wake_.notify_one();
  return ticket;
}

void ThreadPool::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::exception_ptr failure;
    try {
      job.run();
    } catch (...) {
      failure = std::current_exception();
    }
    job.run = nullptr;  // what the job held is gone before anyone hears that it is done
    {
      const std::lock_guard lock(job.state->mutex);
      job.state->done = true;
      job.state->failure = std::move(failure);
    }
    job.state->wake.notify_all();
  }
}

}  // namespace strata
