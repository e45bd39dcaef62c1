// SPDX-License-Identifier: Apache-2.0
// Runs plans on the replicas of one process: one arena a device (as large as the largest plan's), launch by launch, the
// replicas in lockstep so that a collective is a function over their pointers.
#pragma once

#include <span>

#include "compiler/plan.h"
#include "runtime/store.h"

namespace strata {

struct RunResult {
  Status status = Status::ok;
  bool committed = true;  // the step's checks held and its states changed
  int launch = -1;        // the one that failed
};

class Executor {
 public:
  Executor(Backend& backend, std::vector<Device> devices, Store& store);
  ~Executor();

  // Makes room for a plan and binds its states; everything run() needs is allocated here. The plan must outlive the
  // executor, or be forgotten.
  void prepare(const Plan& plan);

  // Feeds by the plan's feed slots: for each replica a map name -> host tensor of the feed's type. No allocation, no
  // decision. States change in place; outputs stay in the arena until the next run.
  RunResult run(const Plan& plan, std::span<const std::map<std::string, Tensor>> feeds);
  // The same with a plan for each replica: they differ when the rows do not divide evenly (a replica may have none).
  // Each runs to its next collective; collectives come in the same order in all.
  void prepare(std::span<const Plan> plans);
  RunResult run(std::span<const Plan> plans, std::span<const std::map<std::string, Tensor>> feeds);
  void forget(std::span<const Plan> plans) noexcept;  // before they end

  Tensor output(const Plan& plan, const std::string& name, int replica = 0) const;  // copied to host memory
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t allocated_bytes() const;  // on one device: arena, feeds, constants, packs (the Store is counted apart)

 private:
  struct Bound;  // a prepared plan's addresses on one replica
  Bound& bound(const Plan& plan, std::size_t replica);
  void bind(Bound& bound);
  void reserve(std::size_t bytes);
  Status launch(const Plan& plan, Bound& bound, int index, bool changed, Stream& stream) noexcept;
  Backend& backend_;
  std::vector<Device> devices_;
  Store& store_;
  std::size_t arena_bytes_ = 0;
  std::vector<std::shared_ptr<Buffer>> arenas_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Communicator> communicator_;
  std::map<std::pair<const Plan*, std::size_t>, std::unique_ptr<Bound>> bound_;
  // Reused by every run.
  std::vector<Bound*> running_;
  std::vector<int> position_;
  std::vector<void*> exchange_in_, exchange_out_;
};

}  // namespace strata
