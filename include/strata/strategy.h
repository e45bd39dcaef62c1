// SPDX-License-Identifier: Apache-2.0
// Distribution strategies declare: which devices form the mesh, how each state and feed lies on it, in which order the
// two graphs of a step run, what is exchanged. Compiler passes and the executor do the work; no layer knows of it.
#pragma once

#include <string>
#include <vector>

#include "strata/device.h"
#include "strata/dtype.h"
#include "strata/part.h"

namespace strata {

// Devices along named axes; the product of the extents is their number.
struct Mesh {
  std::vector<std::pair<std::string, int>> axes{{"data", 1}};
  std::vector<Device> devices{{}};
  int extent(std::string_view axis) const;  // 1 when there is no such axis
};

// How an array lies on the mesh: for each of its axes the mesh axis it is split along, or "". No entries: replicated.
struct Sharding {
  std::vector<std::string> axes;
  bool replicated() const;
};

// The order in which the micro and update graphs of a step run.
enum class Order { joined, accumulate, gpipe, one_f_one_b, asynchronous };

struct Exchange {
  std::int64_t bucket_bytes = 25 << 20;
  std::string compression = "none";
  std::int64_t local_steps = 1;
};

// The devices a strategy may use: all that a backend offers, best backend first.
using Devices = std::vector<Device>;

struct StrategyKind {
  static constexpr std::string_view word = "strategy";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(const T& t, const Devices& d) {
    { t.mesh(d) } -> std::same_as<Mesh>;
  };
  template <class T, class Base> struct Holds : Base {
    T part;
    Mesh mesh(const Devices& devices) const override { return part.mesh(devices); }
    Sharding state(const std::string& path, const Type& type) const override {
      if constexpr (requires { part.state(path, type); }) return part.state(path, type);
      else return {};
    }
    Sharding feed(const std::string& name, const Type& type) const override {
      if constexpr (requires { part.feed(name, type); }) return part.feed(name, type);
      else return {{"data"}};
    }
    Order order() const override {
      if constexpr (requires { part.order(); }) return part.order();
      else return Order::joined;
    }
    Exchange exchange() const override {
      if constexpr (requires { part.exchange(); }) return part.exchange();
      else return {};
    }
  };
  virtual ~StrategyKind() = default;
  virtual Mesh mesh(const Devices& devices) const = 0;  // Error when the devices asked for are not there
  virtual Sharding state(const std::string& path, const Type& type) const = 0;
  virtual Sharding feed(const std::string& name, const Type& type) const = 0;
  virtual Order order() const = 0;
  virtual Exchange exchange() const = 0;
};

using Strategy = Part<StrategyKind>;
template <> struct FieldTypeOf<Strategy> { static const FieldType& get(); };

// While one lives, models compiled on this thread take its strategy (as tf.distribute's scope()).
class StrategyScope {
 public:
  explicit StrategyScope(Strategy strategy);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;
  static const Strategy* current();  // null outside any

 private:
  Strategy strategy_;
  const Strategy* before_;
};

}  // namespace strata
