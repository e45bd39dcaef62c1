// SPDX-License-Identifier: Apache-2.0
// Loops: the body's nodes have kernels and places in the workspace chosen beforehand; a step runs them in order. What
// the body makes lives where earlier values have died.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "backends/cpu/kernel.h"
#include "graph/fused.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

// Where a value of the body is found in a step.
struct Place {
  enum class Kind { none, workspace, carry, sequence, constant } kind = Kind::none;
  std::size_t at = 0;  // an offset, or the number of the array
  std::size_t bytes = 0;
};

// Hands out pieces of one block of memory and takes them back.
class Pieces {
 public:
  std::size_t take(std::size_t bytes) {
    bytes = aligned(std::max<std::size_t>(bytes, 1));
    auto best = free_.end();
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      if (piece->second >= bytes && (best == free_.end() || piece->second < best->second)) best = piece;
    }
    if (best == free_.end()) {
      const std::size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [offset, size] = *best;
    free_.erase(best);
    if (size > bytes) free_[offset + bytes] = size - bytes;
    return offset;
  }
  void give_back(std::size_t offset, std::size_t bytes) {
    bytes = aligned(std::max<std::size_t>(bytes, 1));
    const auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      free_.erase(next);
    }
    const auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }
  std::size_t bytes() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> free_;
  std::size_t end_ = 0;
};

struct Step {
  std::shared_ptr<Kernel> kernel;
  std::vector<Place> inputs, outputs;
  std::size_t workspace = 0;
};

class ScanKernel {
 public:
  // Null, with a reason, when a node of the body has no kernel.
  static std::optional<ScanKernel> make(const Problem& problem, std::string& reason);

  std::size_t workspace_bytes() const { return pointers_offset_ + most_pointers_ * sizeof(void*); }
  bool uses_reference() const { return reference_; }

  Status operator()(const Launch& l) const {
    char* memory = static_cast<char*>(l.workspace);
    for (std::size_t i = 0; i < carries_.size(); ++i) copy(carry(l, i), l.inputs[i], carries_[i].bytes);
    for (std::int64_t s = 0; s < steps_; ++s) {
      const auto step = static_cast<std::size_t>(reverse_ ? steps_ - 1 - s : s);
      for (const Step& node : nodes_) {
        void** in = reinterpret_cast<void**>(memory + pointers_offset_);
        void** out = in + node.inputs.size();
        for (std::size_t i = 0; i < node.inputs.size(); ++i) in[i] = address(l, node.inputs[i], step);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) out[i] = address(l, node.outputs[i], step);
        const Launch launch{{in, node.inputs.size()}, {out, node.outputs.size()}, memory + node.workspace, l.stream};
        if (const Status status = node.kernel->run(launch); status != Status::ok) return status;
      }
      for (std::size_t i = 0; i < yields_.size(); ++i) {
        char* to = static_cast<char*>(l.outputs[carries_.size() + i]);
        if (to) copy(to + step * yields_[i].bytes, address(l, yields_[i], step), yields_[i].bytes);
      }
      // Through a second place: a carry may become what another one was.
      for (const Carry& one : carries_) copy(memory + one.staged, address(l, one.next, step), one.bytes);
      for (std::size_t i = 0; i < carries_.size(); ++i)
        copy(carry(l, i), memory + carries_[i].staged, carries_[i].bytes);
    }
    return Status::ok;
  }

 private:
  struct Carry {
    Place next;
    std::size_t bytes, held, staged;  // offsets in the workspace
  };

  static void copy(void* to, const void* from, std::size_t bytes) {
    if (to != from && bytes > 0) std::memcpy(to, from, bytes);
  }
  void* carry(const Launch& l, std::size_t i) const {
    return l.outputs[i] ? l.outputs[i] : static_cast<char*>(l.workspace) + carries_[i].held;
  }
  void* address(const Launch& l, const Place& place, std::size_t step) const {
    switch (place.kind) {
      case Place::Kind::workspace: return static_cast<char*>(l.workspace) + place.at;
      case Place::Kind::carry: return carry(l, place.at);
      case Place::Kind::sequence: return static_cast<char*>(l.inputs[place.at]) + step * place.bytes;
      case Place::Kind::constant: return l.inputs[place.at];
      case Place::Kind::none: break;
    }
    return nullptr;
  }

  std::vector<Step> nodes_;
  std::vector<Carry> carries_;
  std::vector<Place> yields_;
  std::int64_t steps_ = 0;
  bool reverse_ = false, reference_ = false;
  std::size_t pointers_offset_ = 0, most_pointers_ = 0;
};

// The last node that reads each value, values that leave the body being read at its end. A node that gives its input
// another shape keeps that alive as long as itself.
std::map<Ref, int> last_uses(const Graph& body) {
  std::map<Ref, int> last;
  for (const Graph::Output& output : body.outputs()) last[output.value] = body.size();
  for (int n = body.size() - 1; n >= 0; --n) {
    const int reader = body[n].op->traits.reads_shape_only && last.count({n, 0}) ? std::max(n, last[{n, 0}]) : n;
    for (const Ref input : body[n].inputs) {
      if (input) last[input] = std::max(last.count(input) ? last[input] : -1, reader);
    }
  }
  return last;
}

std::optional<ScanKernel> ScanKernel::make(const Problem& problem, std::string& reason) {
  const Scan& scan = problem.node.attributes.as<Scan>();
  const Graph& body = *problem.node.bodies[0];
  const auto carries = static_cast<std::size_t>(scan.carries), sequences = static_cast<std::size_t>(scan.sequences);
  Backend& cpu = backend("cpu");
  ScanKernel made;
  made.steps_ = problem.inputs[carries].shape[0];
  made.reverse_ = scan.reverse;

  std::map<Ref, Place> places;
  std::map<Ref, std::string> formats;
  const std::vector<int> inputs = body_inputs(body);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto kind = i < carries               ? Place::Kind::carry
                      : i < carries + sequences ? Place::Kind::sequence
                                                : Place::Kind::constant;
    places[{inputs[i], 0}] = {kind, i, body[inputs[i]].types[0].bytes()};
  }
  Pieces pieces;
  // A carry that nobody reads in the end lives here, and through every step: before any piece is given back.
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < carries; ++i) held.push_back(pieces.take(body[inputs[i]].types[0].bytes()));
  std::map<int, std::vector<Place>> dying;  // by the node that reads them last
  std::size_t most_pointers = 1;
  const std::map<Ref, int> last = last_uses(body);
  for (int n = 0; n < body.size(); ++n) {
    const Node& node = body[n];
    if (places.count({n, 0})) continue;
    if (node.op->traits.reads_shape_only) {
      places[{n, 0}] = places[node.inputs[0]];
    } else {
      Types types;
      std::vector<std::string> input_formats;
      Step step;
      for (const Ref input : node.inputs) {
        types.push_back(input ? body.type(input) : Type{});
        input_formats.push_back(input ? formats[input] : "");
        step.inputs.push_back(input ? places[input] : Place{});
      }
      const Choice choice = cpu.choose({node, types, node.types, input_formats, problem.device, 0});
      if (!choice.kernel) {
        reason = cat("its ", node.op->name, " has no kernel");
        for (const std::string& refusal : choice.refusals) reason += cat("; ", refusal);
        return std::nullopt;
      }
      made.reference_ = made.reference_ || choice.reference;
      step.kernel = choice.kernel;
      for (std::size_t o = 0; o < node.types.size(); ++o) {
        const Ref value{n, static_cast<int>(o)};
        const bool opaque = node.types[o].dtype == DType::opaque;
        const std::size_t bytes = opaque ? choice.opaque[o].first : node.types[o].bytes();
        formats[value] = opaque ? choice.opaque[o].second : "";
        places[value] = {Place::Kind::workspace, pieces.take(bytes), bytes};
        step.outputs.push_back(places[value]);
        const auto used = last.find(value);
        if (used == last.end()) dying[n].push_back(places[value]);
        else if (used->second < body.size()) dying[used->second].push_back(places[value]);
      }
      step.workspace = pieces.take(choice.workspace_bytes);
      pieces.give_back(step.workspace, choice.workspace_bytes);
      most_pointers = std::max(most_pointers, step.inputs.size() + step.outputs.size());
      made.nodes_.push_back(std::move(step));
    }
    for (const Place& place : dying[n]) pieces.give_back(place.at, place.bytes);
  }
  for (std::size_t o = 0; o < body.outputs().size(); ++o) {
    const Place place = places[body.outputs()[o].value];
    if (o >= carries) made.yields_.push_back({place.kind, place.at, body.type(body.outputs()[o].value).bytes()});
    else made.carries_.push_back({place, place.bytes, held[o], pieces.take(place.bytes)});
  }
  made.pointers_offset_ = aligned(pieces.bytes());
  made.most_pointers_ = most_pointers;
  return made;
}

Choice scan(const Problem& problem) {
  std::string reason;
  std::optional<ScanKernel> kernel = ScanKernel::make(problem, reason);
  if (!kernel) return refuse(std::move(reason));
  const bool reference = kernel->uses_reference();
  const std::size_t bytes = kernel->workspace_bytes();
  Choice choice = accept(std::move(*kernel), bytes);
  choice.reference = reference;
  return choice;
}

}  // namespace

void kernels_scan(KernelTable& table) { table.add("scan", "steps", scan); }

}  // namespace strata::cpu
