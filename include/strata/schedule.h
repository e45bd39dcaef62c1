// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules: functions of the step, computed on the device. A part here is a struct with
//   Value at(Scope&, Value step) const       float32 scalars
#pragma once

#include "strata/part.h"
#include "strata/scope.h"

namespace strata {

struct ScheduleKind {
  static constexpr std::string_view word = "schedule";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, Scope& s, Value step) {
    { t.at(s, step) } -> std::same_as<Value>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    Value at(Scope& scope, Value step) const override { return part.at(scope, step); }
  };
  virtual ~ScheduleKind() = default;
  virtual Value at(Scope& scope, Value step) const = 0;
};

using Schedule = Part<ScheduleKind>;
template <> struct FieldTypeOf<Schedule> { static const FieldType& get(); };

// A learning rate: a number (then it is a state that callbacks may set) or a schedule.
class Rate {
 public:
  Rate(double value = 1e-3) : value_(value) {}
  Rate(Schedule schedule) : schedule_(std::move(schedule)) {}
  template <class T>
    requires(HasSchema<T>&& ScheduleKind::fits<T>)
  Rate(T schedule) : schedule_(std::move(schedule)) {}

  bool scheduled() const { return static_cast<bool>(schedule_); }
  double value() const { return value_; }
  const Schedule& schedule() const { return *schedule_; }
  // float32 scalar: the knob "<scope's path>/learning_rate", or the schedule at `step` (int64 scalar).
  Value at(Scope& scope, Value step) const;

 private:
  double value_ = 0;
  Optional<Schedule> schedule_;
};
template <> struct FieldTypeOf<Rate> { static const FieldType& get(); };

}  // namespace strata
