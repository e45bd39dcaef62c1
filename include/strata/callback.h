// SPDX-License-Identifier: Apache-2.0
// Callbacks: what happens beside training. A part here is a struct with any of
//   void on_fit_begin(Training&)      void on_fit_end(Training&)
//   void on_epoch_begin(Training&)    void on_epoch_end(Training&)
//   void on_step_end(Training&)       void on_validation_begin(Training&)   void on_validation_end(Training&)
// What it must remember over a stop is declared with `.keeps` in its schema.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "strata/metric.h"
#include "strata/part.h"
#include "strata/tensor.h"

namespace strata {

using Figures = std::map<std::string, double>;  // sorted by name: accuracy, loss, val_accuracy, val_loss

// The figures of each epoch, as Keras's History: a figure that was not measured every epoch has fewer entries.
struct History {
  std::vector<std::int64_t> epoch;  // 0-based
  std::map<std::string, std::vector<double>> figures;
  const std::vector<double>& operator[](const std::string& name) const;  // Error with the nearest name
};

// The training under way, as callbacks see it. Called on the thread that called fit().
class Training {
 public:
  virtual ~Training() = default;
  virtual std::int64_t epoch() const = 0;                       // 0-based, of the epoch under way
  virtual std::int64_t epochs() const = 0;                      // the final index, as in Keras
  virtual std::int64_t step() const = 0;                        // batches done in this epoch
  virtual std::int64_t steps() const = 0;                       // batches in an epoch
  virtual std::int64_t updates() const = 0;                     // optimizer updates since the beginning
  virtual const Figures& figures() const = 0;                   // running means so far; at an epoch's end also val_…
  virtual void log(const std::string& name, double value) = 0;  // adds a figure to this epoch's
  virtual Direction direction(const std::string& figure) const = 0;

  virtual void stop(const std::string& reason) = 0;             // after this step
  virtual double value(const std::string& path) const = 0;      // a scalar state, e.g. "optimizer/learning_rate"
  virtual void set(const std::string& path, double value) = 0;  // at a step edge; Error when a schedule rules it
  virtual std::map<std::string, Tensor> weights() const = 0;    // copies, by path; with the moving statistics
  virtual void restore(const std::map<std::string, Tensor>& weights) = 0;
  virtual const std::string& directory() const = 0;  // of the run; "" when there is none
  virtual const History& history() const = 0;
  // Whether the run goes on from a checkpoint: then what the callback `.keeps` is as it was, and an epoch that had begun
  // is not begun again.
  virtual bool resumed() const = 0;
  // Writes the model's weights, or all that going on needs, at the next step edge. A failure is a warning.
  virtual void save(const std::string& file, bool weights_only) = 0;
};

struct CallbackKind {
  static constexpr std::string_view word = "callback";
  using Common = NoCommon;
  template <class T> static constexpr bool fits = requires(T& t, Training& r) { t.on_fit_begin(r); }
  || requires(T& t, Training& r) { t.on_fit_end(r); }
  || requires(T& t, Training& r) { t.on_epoch_begin(r); }
  || requires(T& t, Training& r) { t.on_epoch_end(r); }
  || requires(T& t, Training& r) { t.on_step_end(r); }
  || requires(T& t, Training& r) { t.on_validation_end(r); };
  template <class T, class Base> struct Holds : Base {
    T part;
    void on_fit_begin(Training& r) override {
      if constexpr (requires { part.on_fit_begin(r); }) part.on_fit_begin(r);
    }
    void on_fit_end(Training& r) override {
      if constexpr (requires { part.on_fit_end(r); }) part.on_fit_end(r);
    }
    void on_epoch_begin(Training& r) override {
      if constexpr (requires { part.on_epoch_begin(r); }) part.on_epoch_begin(r);
    }
    void on_epoch_end(Training& r) override {
      if constexpr (requires { part.on_epoch_end(r); }) part.on_epoch_end(r);
    }
    void on_step_end(Training& r) override {
      if constexpr (requires { part.on_step_end(r); }) part.on_step_end(r);
    }
    void on_validation_begin(Training& r) override {
      if constexpr (requires { part.on_validation_begin(r); }) part.on_validation_begin(r);
    }
    void on_validation_end(Training& r) override {
      if constexpr (requires { part.on_validation_end(r); }) part.on_validation_end(r);
    }
    bool every_step() const override {
      return requires(T & t, Training & r) { t.on_step_end(r); };
    }
  };
  virtual ~CallbackKind() = default;
  virtual void on_fit_begin(Training&) = 0;
  virtual void on_fit_end(Training&) = 0;
  virtual void on_epoch_begin(Training&) = 0;
  virtual void on_epoch_end(Training&) = 0;
  virtual void on_step_end(Training&) = 0;
  virtual void on_validation_begin(Training&) = 0;
  virtual void on_validation_end(Training&) = 0;
  virtual bool every_step() const = 0;
};

using Callback = Part<CallbackKind>;
template <> struct FieldTypeOf<Callback> { static const FieldType& get(); };

// Follows one figure for callbacks that act on it: "auto" asks the metric which way is better.
struct Monitor {
  std::string figure;
  std::string mode = "auto";  // auto, min, max
  double min_delta = 0;
  // Whether `value` betters `best` by more than min_delta. Error when auto cannot know.
  bool better(const Training& training, double value, double best) const;
  double worst(const Training& training) const;  // what any figure betters
  // The figure now; null, with a warning that names those there are, when it is missing.
  Optional<double> read(const Training& training) const;
};

}  // namespace strata
