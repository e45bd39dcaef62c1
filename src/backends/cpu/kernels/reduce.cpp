// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over any axes, with the elementwise program that makes what is summed run in the same pass. Every
// thread folds a fixed part and the parts are joined in order: equal threads, equal bits.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine.h"
#include "backends/cpu/program.h"
#include "graph/fused.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

constexpr std::int64_t accumulator_bytes = 8;

// The array as [outer, reduced, inner]; others are folded element by element.
struct Fold {
  std::int64_t outer = 1, reduced = 1, inner = 1;
  bool regular = true;
  std::vector<std::int64_t> extents, kept_strides;  // collapsed axes; stride 0 where summed
};

Fold fold_of(const Shape& shape, std::span<const std::int64_t> axes) {
  std::vector<bool> summed(static_cast<std::size_t>(shape.rank()));
  for (const std::int64_t axis : axes) summed[static_cast<std::size_t>(shape.axis(static_cast<int>(axis)))] = true;
  Fold fold;
  std::vector<bool> kinds;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool kind = summed[static_cast<std::size_t>(axis)];
    if (!kinds.empty() && kinds.back() == kind) {
      fold.extents.back() *= shape[axis];
    } else {
      fold.extents.push_back(shape[axis]);
      kinds.push_back(kind);
    }
  }
  std::int64_t stride = 1;
  fold.kept_strides.resize(kinds.size());
  for (std::size_t i = kinds.size(); i-- > 0;) {
    fold.kept_strides[i] = kinds[i] ? 0 : stride;
    if (!kinds[i]) stride *= fold.extents[i];
  }
  std::size_t at = 0;
  if (at < kinds.size() && !kinds[at]) fold.outer = fold.extents[at++];
  if (at < kinds.size() && kinds[at]) fold.reduced = fold.extents[at++];
  if (at < kinds.size() && !kinds[at]) fold.inner = fold.extents[at++];
  fold.regular = at == kinds.size();
  return fold;
}

class ReduceKernel {
 public:
  ReduceKernel(std::shared_ptr<const Program> program, Fold fold, Reduce kind, const Type& result,
               const DeviceModel& device)
      : program_(std::move(program)), fold_(std::move(fold)), kind_(kind), result_(result), threads_(device.threads) {
    const Loops& loops = loops_for(device.isa);
    lane_ = program_->result_lane(0);
    along_ = loops.reduce.find(kind, lane_, false);
    across_ = loops.reduce.find(kind, lane_, true);
    is_float_ = lane_ == Lane::f32 || lane_ == Lane::f64;
    const Lane accumulator = is_float_ ? Lane::f64 : Lane::i64;
    const Lane last = result.dtype == DType::boolean ? Lane::truth
                      : is_float_                    ? (result.dtype == DType::float64 ? Lane::f64 : Lane::f32)
                                                     : Lane::i64;
    narrow_ = loops.elementwise.convert(accumulator, last);
    store_ = loops.elementwise.store(result.dtype);
    results_ = fold_.outer * fold_.inner;
    size_ = results_ * fold_.reduced;
    if (!fold_.regular) {
      results_ = result.size();
      size_ = 1;
      for (const std::int64_t extent : fold_.extents) size_ *= extent;
    }
    // By rows: every thread a row of accumulators. By columns: a thread's share of the columns, all rows.
    by_columns_ = fold_.regular && fold_.outer == 1 && fold_.inner > most_row_;
  }

  std::size_t workspace_bytes() const {
    return program_->launch_bytes() + static_cast<std::size_t>(threads_) * thread_bytes();
  }

  void operator()(const Launch& launch) const {
    char* memory = static_cast<char*>(launch.workspace);
    if (size_ == 0) return finish_empty(launch);
    program_->start(launch.inputs, memory);
    const std::int64_t work = size_ * (1 + program_->weight() / 4);
    int team = 1;
    on_team(threads_, work, [&](int thread, int count) {
      if (thread == 0) team = count;
      char* own = thread_memory(memory, thread);
      Program::Worker worker(*program_, memory, own);
      void* nothing = nullptr;
      worker.bind(launch.inputs, {&nothing, 1}, size_);
      if (!fold_.regular) {
        if (thread == 0) irregular(worker, own, launch.outputs[0]);
      } else if (fold_.inner == 1) {
        rows(worker, part_of(size_, thread, count, program_->tile()), own, launch.outputs[0]);
      } else if (by_columns_) {
        columns(worker, part_of(fold_.inner, thread, count, program_->tile()), own, launch.outputs[0]);
      } else if (fold_.outer > 1) {
        const Part part = part_of(fold_.outer, thread, count);
        for (std::int64_t outer = part.begin; outer < part.end; ++outer) {
          clear(accumulators(own), fold_.inner);
          stack(worker, {outer * fold_.reduced * fold_.inner, (outer + 1) * fold_.reduced * fold_.inner}, own);
          finish(accumulators(own), outer * fold_.inner, fold_.inner, launch.outputs[0]);
        }
      } else {
        clear(accumulators(own), fold_.inner);
        stack(worker, part_of(size_, thread, count, program_->tile()), own);
      }
    });
    if (!fold_.regular || by_columns_) return;
    if (fold_.inner == 1) return join_rows(memory, team, launch.outputs[0]);
    if (fold_.outer > 1) return;
    char* first = accumulators(thread_memory(memory, 0));
    for (int thread = 1; thread < team; ++thread) add(first, accumulators(thread_memory(memory, thread)), fold_.inner);
    finish(first, 0, fold_.inner, launch.outputs[0]);
  }

 private:
  // A thread's sums of rows it shares with its neighbours: the first it finishes, and the one it leaves unfinished.
  struct Shared {
    std::int64_t first_row, last_row;  // -1: none
    char first[accumulator_bytes], last[accumulator_bytes];
  };
  static constexpr std::int64_t most_row_ = 16 * 1024;

  std::size_t thread_bytes() const {
    std::int64_t row = 1;
    if (!fold_.regular) row = results_;
    else if (by_columns_) row = program_->tile();
    else if (fold_.inner > 1) row = fold_.inner;
    return program_->thread_bytes() + aligned(sizeof(Shared)) +
           aligned(static_cast<std::size_t>(row * accumulator_bytes));
  }
  char* thread_memory(char* memory, int thread) const {
    return memory + program_->launch_bytes() + static_cast<std::size_t>(thread) * thread_bytes();
  }
  Shared& shared(char* own) const { return *reinterpret_cast<Shared*>(own + program_->thread_bytes()); }
  char* accumulators(char* own) const { return own + program_->thread_bytes() + aligned(sizeof(Shared)); }

  void clear(char* to, std::int64_t count) const {
    if (is_float_) {
      const double first = kind_ == Reduce::sum ? 0.0 : -std::numeric_limits<double>::infinity();
      std::fill_n(reinterpret_cast<double*>(to), count, first);
    } else {
      const std::int64_t first = kind_ == Reduce::sum   ? 0
                                 : kind_ == Reduce::all ? 1
                                                        : std::numeric_limits<std::int64_t>::lowest();
      std::fill_n(reinterpret_cast<std::int64_t*>(to), count, first);
    }
  }
  template <class T> void add_as(char* to, const char* from, std::int64_t count) const {
    T* a = reinterpret_cast<T*>(to);
    const T* b = reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < count; ++i) {
      a[i] = kind_ == Reduce::sum   ? a[i] + b[i]
             : kind_ == Reduce::max ? (b[i] > a[i] || b[i] != b[i] ? b[i] : a[i])
                                    : T(a[i] != 0 && b[i] != 0);
    }
  }
  void add(char* to, const char* from, std::int64_t count) const {
    is_float_ ? add_as<double>(to, from, count) : add_as<std::int64_t>(to, from, count);
  }

  // Accumulators become results [at, at + count).
  void finish(const char* from, std::int64_t at, std::int64_t count, void* to) const {
    constexpr std::int64_t tile = 256;
    char lanes[tile * accumulator_bytes];
    const auto width = static_cast<std::int64_t>(size_of(result_.dtype));
    for (std::int64_t i = 0; i < count; i += tile) {
      const std::int64_t n = std::min(tile, count - i);
      narrow_(from + i * accumulator_bytes, nullptr, nullptr, lanes, n);
      store_(lanes, nullptr, nullptr, static_cast<char*>(to) + (at + i) * width, n);
    }
  }
  void finish_empty(const Launch& launch) const {
    char one[accumulator_bytes];
    for (std::int64_t i = 0; i < results_; ++i) {
      clear(one, 1);
      finish(one, i, 1, launch.outputs[0]);
    }
  }

  void rows(Program::Worker& worker, Part part, char* own, void* to) const {
    Shared& partial = shared(own);
    partial.first_row = partial.last_row = -1;
    char sum[accumulator_bytes];
    clear(sum, 1);
    bool began_before = part.begin % fold_.reduced != 0;
    for (std::int64_t at = part.begin; at < part.end; at += program_->tile()) {
      const std::int64_t end = std::min(at + program_->tile(), part.end);
      worker.run(at, end - at);
      const char* values = static_cast<const char*>(worker.result(0, at));
      for (std::int64_t i = at; i < end;) {
        const std::int64_t row = i / fold_.reduced, row_end = (row + 1) * fold_.reduced;
        const std::int64_t n = std::min(end, row_end) - i;
        along_(values + (i - at) * width_of(lane_), 1, n, sum);
        i += n;
        if (i < row_end) continue;
        if (began_before) {
          partial.first_row = row;
          std::memcpy(partial.first, sum, accumulator_bytes);
          began_before = false;
        } else {
          finish(sum, row, 1, to);
        }
        clear(sum, 1);
      }
    }
    if (part.begin < part.end && part.end % fold_.reduced != 0) {
      partial.last_row = part.end / fold_.reduced;
      std::memcpy(partial.last, sum, accumulator_bytes);
    }
  }
  void join_rows(char* memory, int team, void* to) const {
    std::int64_t row = -1;
    char sum[accumulator_bytes];
    const auto take = [&](std::int64_t next, const char* value) {
      if (next < 0) return;
      if (next != row) {
        if (row >= 0) finish(sum, row, 1, to);
        row = next;
        clear(sum, 1);
      }
      add(sum, value, 1);
    };
    for (int thread = 0; thread < team; ++thread) {
      const Shared& partial = shared(thread_memory(memory, thread));
      take(partial.first_row, partial.first);
      take(partial.last_row, partial.last);
    }
    if (row >= 0) finish(sum, row, 1, to);
  }

  // Adds the rows of [reduced, inner] that lie in the part to the thread's accumulators.
  void stack(Program::Worker& worker, Part part, char* own) const {
    char* sums = accumulators(own);
    for (std::int64_t at = part.begin; at < part.end; at += program_->tile()) {
      const std::int64_t end = std::min(at + program_->tile(), part.end);
      worker.run(at, end - at);
      const char* values = static_cast<const char*>(worker.result(0, at));
      for (std::int64_t i = at; i < end;) {
        const std::int64_t column = i % fold_.inner, left = end - i;
        const bool whole = column == 0 && left >= fold_.inner;
        const std::int64_t rows = whole ? left / fold_.inner : 1,
                           columns = whole ? fold_.inner : std::min(left, fold_.inner - column);
        across_(values + (i - at) * width_of(lane_), rows, columns, sums + column * accumulator_bytes);
        i += rows * columns;
      }
    }
  }
  void columns(Program::Worker& worker, Part part, char* own, void* to) const {
    char* sums = accumulators(own);
    for (std::int64_t column = part.begin; column < part.end; column += program_->tile()) {
      const std::int64_t n = std::min(program_->tile(), part.end - column);
      clear(sums, n);
      for (std::int64_t row = 0; row < fold_.reduced; ++row) {
        const std::int64_t at = row * fold_.inner + column;
        worker.run(at, n);
        across_(worker.result(0, at), 1, n, sums);
      }
      finish(sums, column, n, to);
    }
  }

  // Kept and summed axes alternate more often: run by run of the innermost axis, on one thread.
  void irregular(Program::Worker& worker, char* own, void* to) const {
    char* sums = accumulators(own);
    clear(sums, results_);
    const std::size_t rank = fold_.extents.size();
    const std::int64_t inner = fold_.extents.back();
    for (std::int64_t at = 0; at < size_; at += program_->tile()) {
      const std::int64_t end = std::min(at + program_->tile(), size_);
      worker.run(at, end - at);
      const char* values = static_cast<const char*>(worker.result(0, at));
      for (std::int64_t i = at; i < end;) {
        std::int64_t rest = i, result = 0;
        for (std::size_t axis = rank; axis-- > 0;) {
          result += rest % fold_.extents[axis] * fold_.kept_strides[axis];
          rest /= fold_.extents[axis];
        }
        const std::int64_t n = std::min(end - i, inner - i % inner);
        const FoldLoop fold = fold_.kept_strides.back() == 0 ? along_ : across_;
        fold(values + (i - at) * width_of(lane_), 1, n, sums + result * accumulator_bytes);
        i += n;
      }
    }
    finish(sums, 0, results_, to);
  }

  std::shared_ptr<const Program> program_;
  Fold fold_;
  Reduce kind_;
  Type result_;
  int threads_;
  Lane lane_;
  FoldLoop along_, across_;
  bool is_float_, by_columns_;
  Loop narrow_, store_;
  std::int64_t results_, size_;
};

Choice reduce(const Problem& problem, const Graph& body, Reduce kind, const std::vector<std::int64_t>& axes,
              const Type& folded) {
  std::vector<Program::Input> inputs;
  for (const Type& type : problem.inputs) inputs.push_back({type.dtype, Broadcast(type.shape, folded.shape)});
  const Fold fold = fold_of(folded.shape, axes);
  Program::Source source;
  source.body = &body;
  source.inputs = inputs;
  source.outputs = {&folded.dtype, 1};
  source.results = Program::Results::in_lanes;
  source.repeats = fold.outer == 1 && fold.inner <= 2048;
  std::string reason;
  auto program = Program::compile(source, problem.device.isa, reason);
  if (!program) return refuse(std::move(reason));
  ReduceKernel kernel(std::move(program), fold, kind, problem.outputs[0], problem.device);
  const std::size_t bytes = kernel.workspace_bytes();
  return accept(std::move(kernel), bytes);
}

template <Reduce kind> Choice alone(const Problem& problem) {
  Graph body;
  body.output("y", body.input("x", problem.inputs[0]));
  std::vector<std::int64_t> axes;
  if constexpr (kind == Reduce::all) {
    for (int axis = 0; axis < problem.inputs[0].shape.rank(); ++axis) axes.push_back(axis);
  } else {
    axes = problem.node.attributes.as<Reduction>().axes;
  }
  return reduce(problem, body, kind, axes, problem.inputs[0]);
}

// The axes along which `to` was repeated to `from`.
Choice sum_to(const Problem& problem) {
  Graph body;
  body.output("y", body.input("x", problem.inputs[0]));
  const Shape &from = problem.inputs[0].shape, &to = problem.outputs[0].shape;
  const int added = from.rank() - to.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < added || to[axis - added] != from[axis]) axes.push_back(axis);
  }
  return reduce(problem, body, Reduce::sum, axes, problem.inputs[0]);
}

// The body without its last op, a reduction.
Choice fused(const Problem& problem) {
  const Graph& body = *problem.node.bodies[0];
  const int last = body.outputs()[0].value.node;
  if (body.outputs().size() != 1 || body[last].op->name != "reduce_sum")
    return refuse("the group does not end in one sum");
  const std::vector<int> inputs = body_inputs(body);
  Graph rest;
  std::vector<Value> of_node(static_cast<std::size_t>(body.size()));
  for (const int input : inputs)
    of_node[static_cast<std::size_t>(input)] = rest.input(body[input].label, body[input].types[0]);
  for (int n = 0; n < body.size(); ++n) {
    if (n == last || of_node[static_cast<std::size_t>(n)]) continue;
    Values operands;
    for (const Ref input : body[n].inputs) operands.push_back(of_node[static_cast<std::size_t>(input.node)]);
    of_node[static_cast<std::size_t>(n)] = rest.add(*body[n].op, operands, body[n].attributes, body[n].bodies);
  }
  const Ref summed = body[last].inputs[0];
  rest.output("y", of_node[static_cast<std::size_t>(summed.node)]);
  return reduce(problem, rest, Reduce::sum, body[last].attributes.as<Reduction>().axes, body.type(summed));
}

}  // namespace

void kernels_reduce(KernelTable& table) {
  table.add("reduce_sum", "tiles", alone<Reduce::sum>);
  table.add("reduce_max", "tiles", alone<Reduce::max>);
  table.add("reduce_all", "tiles", alone<Reduce::all>);
  table.add("sum_to", "tiles", sum_to);
  table.add("fused:reduce", "tiles", fused);
}

}  // namespace strata::cpu
