// SPDX-License-Identifier: Apache-2.0
// Scopes: paths, declared states, random streams, masks, checks.
#include "strata/scope.h"

#include "base/text.h"

namespace strata {

Scope::Scope(Trace& trace, std::string path, Precision precision, bool trainable, const void* owner,
             std::string owner_path)
    : trace_(&trace),
      path_(std::move(path)),
      precision_(precision),
      trainable_(trainable),
      owner_(owner),
      owner_path_(std::move(owner_path)) {}

namespace {

std::string joined_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : cat(path, "/", name);
}

}  // namespace

Value Scope::declare(std::string_view name, const Type& type, const WeightOptions& options) const {
  const std::string path = joined_path(path_, name);
  if (const auto it = trace_->states.find(path); it != trace_->states.end()) {
    if (it->second.type != type)
      throw Error(cat("state '", path, "' is ", it->second.type, ", but is asked for again as ", type));
    return graph().state(path, type);
  }
  StateDeclaration declaration;
  declaration.path = path;
  declaration.type = type;
  declaration.initializer = options.initializer;
  declaration.regularizer = options.regularizer;
  declaration.constraint = options.constraint;
  declaration.trainable = options.trainable && trainable_;
  declaration.owner = owner_;
  declaration.name = owner_path_.empty() ? path : path.substr(std::min(path.size(), owner_path_.size() + 1));
  trace_->states.emplace(path, std::move(declaration));
  trace_->order.push_back(path);
  return graph().state(path, type);
}

Value Scope::weight(std::string_view name, const Shape& shape, const WeightOptions& options) const {
  const Value own = declare(name, {shape, precision_.variable}, options);
  return options.autocast && own.dtype() != precision_.compute ? cast(own, precision_.compute) : own;
}

Value Scope::state(std::string_view name, const Type& type, const Initializer& initializer) const {
  WeightOptions options;
  options.initializer = initializer;
  options.trainable = false;
  return declare(name, type, options);
}

void Scope::next(Value state, Value value, Advance advance) const { graph().next(state, value, advance); }

Value Scope::knob(const std::string& path, double value) const {
  trace_->knobs.emplace(path, value);
  return graph().state(path, {{}, DType::float32});
}

Value Scope::random(const Shape& shape, Distribution distribution, std::optional<std::int64_t> seed) const {
  static constexpr const char* words[] = {"uniform", "normal", "bits"};
  Random random;
  random.stream = cat(path_, "#", trace_->random_calls[path_]++, seed ? cat("#", *seed) : "");
  random.distribution = words[static_cast<int>(distribution)];
  random.shape = shape;
  const Type scalar{{}, DType::int64};
  // Rows count over the whole batch only where the first axis is the batch.
  const bool rows = shape.rank() > 0 && shape[0] == trace_->rows;
  return strata::random(graph(), graph().state(names::seed, scalar), graph().state(names::step, scalar),
                        rows ? graph().input(names::first_row, scalar) : full(graph(), 0, {}, DType::int64), random);
}

Value Scope::mask(Value x) const {
  const auto it = x ? trace_->masks.find(Graph::ref(x)) : trace_->masks.end();
  return it == trace_->masks.end() ? Value{} : it->second;
}

void Scope::set_mask(Value x, Value mask) const {
  if (mask) trace_->masks[Graph::ref(x)] = mask;
  else trace_->masks.erase(Graph::ref(x));
}

Value Scope::step() const { return graph().state(names::step, {{}, DType::int64}); }

void Scope::penalty(Value scalar) const {
  STRATA_CHECK(scalar.shape().rank() == 0, "a penalty is a scalar, got ", scalar.type());
  trace_->penalties.push_back(scalar);
}

void Scope::check(Value condition, const std::string& message) const {
  const auto bit = static_cast<double>(std::uint64_t{1} << std::min<std::size_t>(trace_->checks.size(), 52));
  trace_->checks.emplace_back(condition, message);
  graph().guard(condition);
  const Value faults = graph().state(names::faults, {{}, DType::int64});
  const Ref before = graph().next_of(names::faults);
  const Value none = full(graph(), 0, {}, DType::int64), here = full(graph(), bit, {}, DType::int64);
  graph().next(faults, add(before ? graph().value(before) : faults, select(condition, none, here)), Advance::always);
}

Scope Scope::child(std::string_view name) const {
  Scope scope = *this;
  scope.path_ = joined_path(path_, name);
  return scope;
}

}  // namespace strata
