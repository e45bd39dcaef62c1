// SPDX-License-Identifier: Apache-2.0
// Elementwise graphs as programs over tiles that stay in the first cache: each instruction is a vectorised loop over
// about a thousand elements. What depends on scalars alone is computed once a launch, what repeats with every tile once
// a thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/broadcast.h"
#include "backends/cpu/kernels/simd/loops.h"
#include "strata/graph.h"

namespace strata::cpu {

class Program {
 public:
  // How an input is read, and what it holds.
  struct Input {
    DType dtype = DType::none;
    Broadcast broadcast;
  };
  enum class Results {
    stored,   // in the outputs, as their dtype
    in_lanes  // left to the caller tile by tile, unrounded
  };
  struct Source {
    const Graph* body = nullptr;  // either a body
    const Node* node = nullptr;   // or one node
    std::span<const Input> inputs;
    std::span<const DType> outputs;
    Results results = Results::stored;
    bool repeats = true;  // tiles begin at multiples of their length, so that periods line up
  };

  // Null, with a reason, when an op or dtype has no loop.
  static std::shared_ptr<const Program> compile(const Source& source, std::string_view isa, std::string& reason);

  std::int64_t tile() const { return tile_; }  // elements an instruction works on at once
  std::int64_t weight() const { return static_cast<std::int64_t>(tiled_.size()); }  // instructions a tile
  std::size_t launch_bytes() const { return launch_bytes_; }
  std::size_t thread_bytes() const { return thread_bytes_; }
  Lane result_lane(std::size_t output) const { return result_lanes_[output]; }

  // Once a launch: computes what depends on scalars alone into `launch_memory` of launch_bytes.
  void start(std::span<void* const> inputs, char* launch_memory) const;

  // One thread's view of the arrays.
  class Worker {
   public:
    // `thread_memory`: thread_bytes, 64-byte aligned.
    Worker(const Program& program, char* launch_memory, char* thread_memory);
    // Null outputs are computed and dropped. No more than `count` elements will be run before the next bind.
    void bind(std::span<void* const> inputs, std::span<void* const> outputs, std::int64_t count);
    void run(std::int64_t at, std::int64_t count);                  // one tile; `at` is a multiple of its length
    const void* result(std::size_t output, std::int64_t at) const;  // in lanes: where the last tile's values are

   private:
    friend class Program;
    friend class ProgramCompiler;
    struct Address {
      char* base;
      std::int64_t step;  // bytes from one element to the next; 0 where each tile lies in one place
    };
    const Program& program_;
    char* launch_memory_;
    char* thread_memory_;
    Address* addresses_;
    std::span<void* const> inputs_;
    std::int64_t repeated_ = 0;  // elements of what repeats that are still to be computed
  };

 private:
  friend class ProgramCompiler;

  static constexpr int nowhere = -1;
  enum class Where { launch, thread, input, output };
  struct Place {
    Where where = Where::thread;
    std::int64_t offset = 0;  // bytes into the memory of its kind; the number of the array
    std::int64_t step = 0;
    std::int64_t sink = 0;  // of an output: where it goes in thread memory when nobody wants it
  };
  struct Instruction {
    Loop loop = nullptr;  // null: a broadcast copy
    int a = nowhere, b = nowhere, c = nowhere, out = nowhere;
    int input = nowhere;  // the array that is copied
  };
  struct Constant {
    std::int64_t offset;
    Lane lane;
    double value;
  };

  void execute(const Instruction& i, const Worker::Address* addresses, std::span<void* const> inputs, std::int64_t at,
               std::int64_t count) const;

  std::vector<Input> inputs_;
  std::vector<Place> places_;
  std::vector<Constant> constants_;
  std::vector<Instruction> once_, repeated_, tiled_;
  std::vector<int> results_;
  std::vector<Lane> result_lanes_;
  std::int64_t tile_ = 1024;
  std::size_t launch_bytes_ = 0, thread_bytes_ = 0;
};

}  // namespace strata::cpu
