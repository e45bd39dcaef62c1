// SPDX-License-Identifier: Apache-2.0
// A fixed number of worker threads that run jobs in the order of submission: the data loader's readers and the
// checkpoint's writer. Not for kernels, whose threads are OpenMP's; a job must not open an OpenMP region.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace strata {

class ThreadPool {
 public:
  // A job's receipt; copies speak of the same job. An empty one is done. It may outlive the pool.
  class Ticket {
   public:
    void wait();        // until the job has run; throws what it threw, each time
    bool done() const;  // whether wait() would return at once

   private:
    friend class ThreadPool;
    struct State;
    std::shared_ptr<State> state_;
  };

  explicit ThreadPool(int threads);  // at least one; RunFailed when the system has none left
  ~ThreadPool();                     // runs what was submitted, then ends the threads
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  Ticket submit(std::function<void()> job);  // from any thread, jobs included
  int threads() const { return static_cast<int>(workers_.size()); }

 private:
  struct Job {
    std::function<void()> run;
    std::shared_ptr<Ticket::State> state;
  };

  void work();
  void end();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace strata
