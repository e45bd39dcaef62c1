// SPDX-License-Identifier: Apache-2.0
// The step every optimizer shares, and learning rates.
#include "strata/optimizer.h"

#include <algorithm>

#include "base/text.h"

namespace strata {

Schema OptimizerCommon::schema() {
  return Schema("optimizer", "What every optimizer takes.")
      .arg("weight_decay", &OptimizerCommon::weight_decay,
           "Part of each weight taken off before the update, times the learning rate.", at_least(0))
      .arg("clipnorm", &OptimizerCommon::clipnorm, "Largest norm of each gradient.", above(0))
      .arg("global_clipnorm", &OptimizerCommon::global_clipnorm, "Largest norm of all gradients together.", above(0))
      .arg("clipvalue", &OptimizerCommon::clipvalue, "Largest size of each element of a gradient.", above(0))
      .arg("use_ema", &OptimizerCommon::use_ema,
           "Whether to keep running averages of the weights, which replace them when training ends.")
      .arg("ema_momentum", &OptimizerCommon::ema_momentum, "How much of the average stays at each step.", between(0, 1))
      .arg("ema_overwrite_frequency", &OptimizerCommon::ema_overwrite_frequency,
           "Steps after which the averages replace the weights.", at_least(1))
      .arg("loss_scale_factor", &OptimizerCommon::loss_scale_factor,
           "What the loss was multiplied by: gradients are divided by it.", above(0))
      .arg("gradient_accumulation_steps", &OptimizerCommon::gradient_accumulation_steps,
           "Batches whose gradients are averaged for one update.", at_least(2))
      .arg("name", &OptimizerCommon::name, "Its name.");
}

Value Rate::at(Scope& scope, Value step) const {
  if (schedule_) return (*schedule_)->at(scope, step);
  return scope.knob(cat(scope.path(), scope.path().empty() ? "" : "/", "learning_rate"), value_);
}

const FieldType& FieldTypeOf<Rate>::get() {
  static const FieldType type = [] {
    FieldType t;
    t.name = "a number or a schedule";
    t.read = [](void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
      const bool schedule = config.map() || (config.text() && !(config.plain && read_number(*config.text())));
      if (schedule) {
        Schedule made;
        field_type<Schedule>().read(&made, config, subject, mistakes);
        if (made) *static_cast<Rate*>(field) = Rate(made);
      } else {
        double value = 0;
        Mistakes own;
        field_type<double>().read(&value, config, subject, own);
        if (own.empty()) *static_cast<Rate*>(field) = Rate(value);
        else mistakes.add(config.where, cat(subject, " should be a number or a schedule, got ", to_text(config)));
      }
    };
    t.write = [](const void* field) {
      const Rate& rate = *static_cast<const Rate*>(field);
      return rate.scheduled() ? write_part(rate.schedule()) : Config(rate.value());
    };
    t.json_schema = [] {
      return Config(Config::Map{
          {"anyOf", Config(Config::List{field_type<double>().json_schema(), field_type<Schedule>().json_schema()})}});
    };
    return t;
  }();
  return type;
}

namespace {

// Of all these weights' gradients together; null when none has one.
Value norm_of(std::span<const Trained> weights) {
  const bool wide = std::ranges::any_of(
      weights, [](const Trained& one) { return one.gradient && one.gradient.dtype() == DType::float64; });
  Value squares;
  for (const Trained& one : weights) {
    if (!one.gradient) continue;
    Value own = sum(square(cast(one.gradient, wide ? DType::float64 : DType::float32)));
    squares = squares ? squares + own : own;
  }
  return squares ? sqrt(squares) : Value{};
}

void clip(const OptimizerCommon& common, std::vector<Trained>& weights) {
  const int clips = (common.clipnorm ? 1 : 0) + (common.clipvalue ? 1 : 0) + (common.global_clipnorm ? 1 : 0);
  if (clips > 1) throw Error("an optimizer takes at most one of clipnorm, clipvalue and global_clipnorm");
  if (!clips) return;
  Value global = common.global_clipnorm ? norm_of(weights) : Value{};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Value& g = weights[i].gradient;
    if (!g) continue;
    if (common.clipvalue) {
      g = minimum(maximum(g, full_like(g, -*common.clipvalue)), full_like(g, *common.clipvalue));
    } else if (common.clipnorm) {
      Value norm = norm_of({&weights[i], 1});
      g = g * cast(*common.clipnorm / maximum(norm, full_like(norm, *common.clipnorm)), g.dtype());
    } else {
      const double c = *common.global_clipnorm;
      g = g * cast(c / maximum(global, full_like(global, c)), g.dtype());
    }
  }
}

}  // namespace

void apply_optimizer(Scope& scope, const Optimizer& optimizer, std::span<const Trained> weights) {
  const OptimizerCommon& common = optimizer.common();
  Graph& graph = scope.graph();
  Scope root = scope.path().empty() ? scope.child("optimizer") : scope;
  const Graph::Labelled label(graph, root.path());
  Value step = scope.step();
  const std::int64_t parts = common.gradient_accumulation_steps.value_or(1);
  // Schedules count batches, also those whose gradients are only added up.
  Value rate = optimizer->learning_rate().at(
      root, parts == 1 ? step : step * static_cast<double>(parts) + static_cast<double>(parts - 1));
  std::vector<Trained> trained(weights.begin(), weights.end());
  if (common.loss_scale_factor)
    for (Trained& one : trained)
      if (one.gradient) one.gradient = one.gradient / *common.loss_scale_factor;
  clip(common, trained);
  const Optional<double> decay = common.weight_decay ? common.weight_decay : optimizer->own_weight_decay();
  for (const Trained& one : trained) {
    if (!one.gradient) continue;
    const Graph::Labelled labelled(graph, cat(root.path(), "/", one.path));
    Scope slots = root.child(one.path);
    const DType dtype = one.weight.dtype();
    Value own_rate = cast(rate, dtype), weight = one.weight;
    if (decay && *decay != 0) weight = weight - weight * (own_rate * *decay);
    weight = optimizer->update(slots, weight, one.gradient, own_rate);
    if (common.use_ema) {
      Value average = slots.state("average", one.weight.type(), "zeros");
      Value first = equal(step, full_like(step, 0));
      Value momentum = select(first, full_like(weight, 0), full_like(weight, common.ema_momentum));
      Value next = momentum * average + (1.0 - momentum) * weight;
      root.next(average, next);
      if (common.ema_overwrite_frequency) {
        const auto every = static_cast<double>(*common.ema_overwrite_frequency);
        Value done = cast(step, DType::float64) + 1.0;
        Value turn = equal(floor(done / every) * every, done);
        weight = select(turn, next, weight);
      }
    }
    if (one.constraint) weight = (*one.constraint)->apply(weight);
    root.next(one.weight, weight);
  }
  root.next(step, step + 1.0);
}

}  // namespace strata
