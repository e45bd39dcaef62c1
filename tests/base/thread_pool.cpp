// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "strata/error.h"

namespace strata {
namespace {

TEST_CASE("every job of a pool runs once") {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool(3);
    CHECK(pool.threads() == 3);
    std::vector<ThreadPool::Ticket> tickets;
    for (int i = 0; i < 200; ++i) tickets.push_back(pool.submit([&] { ++runs; }));
    for (ThreadPool::Ticket& ticket : tickets) ticket.wait();
    CHECK(runs == 200);
    for (int i = 0; i < 50; ++i) pool.submit([&] { ++runs; });
  }
  CHECK(runs == 250);  // a pool that ends runs what it was given
}

TEST_CASE("one thread runs jobs in their order, and a ticket tells what a job wrote") {
  ThreadPool pool(1);
  std::string order;
  for (char c = 'a'; c < 'e'; ++c) pool.submit([&order, c] { order += c; });
  ThreadPool::Ticket last = pool.submit([&] { order += '.'; });
  last.wait();
  CHECK(order == "abcd.");
  CHECK(last.done());
}

TEST_CASE("what a job throws comes out of its ticket, each time, and the pool goes on") {
  ThreadPool pool(2);
  ThreadPool::Ticket bad = pool.submit([] { throw Error("row 7 is damaged"); });
  CHECK_THROWS_WITH_AS(bad.wait(), "row 7 is damaged", Error);
  CHECK_THROWS_AS(bad.wait(), Error);
  CHECK(bad.done());
  ThreadPool::Ticket good = pool.submit([] {});
  CHECK_NOTHROW(good.wait());
}

TEST_CASE("a job may submit a job, and a ticket may outlive the pool") {
  ThreadPool::Ticket outer, inner;
  CHECK(inner.done());
  CHECK_NOTHROW(inner.wait());
  std::atomic<bool> ran = false;
  {
    ThreadPool pool(1);
    outer = pool.submit([&] { inner = pool.submit([&] { ran = true; }); });
  }
  outer.wait();
  inner.wait();
  CHECK(ran);
}

TEST_CASE("what a job holds is released before its ticket is done") {
  ThreadPool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  ThreadPool::Ticket ticket = pool.submit([held = std::move(held)] {});
  ticket.wait();
  CHECK(watched.expired());
}

}  // namespace
}  // namespace strata
