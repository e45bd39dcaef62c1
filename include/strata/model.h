// SPDX-License-Identifier: Apache-2.0
// Models: layers put together, bound to an optimizer and losses by compile(), trained by fit(). Argument names, defaults
// and meanings are Keras's.
#pragma once

#include <functional>
#include <iosfwd>

#include "strata/callback.h"
#include "strata/checkpoint.h"
#include "strata/dataset.h"
#include "strata/layer.h"
#include "strata/metric.h"
#include "strata/optimizer.h"
#include "strata/strategy.h"

namespace strata {

// --- putting layers together ------------------------------------------------------------------------------------------

// A place in a model under construction: an input, or what a layer makes of others. No shapes yet, no batch.
struct SymbolNode;
struct Symbol {
  std::shared_ptr<const SymbolNode> node;
  int output = 0;
};
using Symbols = std::vector<Symbol>;
struct NamedSymbols {  // {{"image", x}, {"size", y}}
  std::map<std::string, Symbol> symbols;
  NamedSymbols(std::map<std::string, Symbol> by_name) : symbols(std::move(by_name)) {}
  NamedSymbols(std::initializer_list<std::pair<const std::string, Symbol>> by_name) : symbols(by_name) {}
};
struct SymbolNode {
  std::string name;  // an input's name; otherwise ""
  Type type;         // an input's, without the batch axis
  Optional<Layer> layer;
  Symbols from;
};

Symbol input(const Shape& shape, const std::string& name = "", DType dtype = DType::float32);
Symbol operator|(const Symbol& x, Layer layer);
Symbol operator|(const Symbols& x, Layer layer);
// One of several outputs of the layer that made `x` (an LSTM with return_state).
Symbol output_of(const Symbol& x, int output);

// --- what compile, fit, evaluate and predict take -------------------------------------------------------------------------

// One thing for all outputs, one by output in order, or by output name.
template <class T> struct PerOutput {
  std::vector<T> list;
  std::map<std::string, T> named;
  PerOutput() = default;
  PerOutput(std::vector<T> several) : list(std::move(several)) {}
  PerOutput(std::map<std::string, T> by_name) : named(std::move(by_name)) {}
  template <class U>
    requires(std::is_constructible_v<T, U&&> && !std::is_same_v<std::remove_cvref_t<U>, PerOutput>)
  PerOutput(U&& one) : list{T(std::forward<U>(one))} {}
  bool empty() const { return list.empty() && named.empty(); }
};

struct MetricList {  // metrics = {"accuracy", TopKCategoricalAccuracy{.k = 3}}
  std::vector<Metric> metrics;
  MetricList() = default;
  MetricList(std::initializer_list<Metric> metrics) : metrics(metrics) {}
  MetricList(std::vector<Metric> metrics) : metrics(std::move(metrics)) {}
};

struct CompileSettings {
  Optimizer optimizer = "rmsprop";
  PerOutput<Loss> loss = {};                        // "crossentropy" picks by shape; an output without a loss has none
  std::map<std::string, double> loss_weights = {};  // by output name; default 1
  MetricList metrics = {};                          // of every output with a loss; ignore sample weights, as in Keras
  std::map<std::string, MetricList> output_metrics = {};  // by output name
  MetricList weighted_metrics = {};
  std::string precision = "float32";  // float64, mixed_float16, mixed_bfloat16, float16, bfloat16
  Optional<Strategy> strategy = {};   // default: the scope's, else DefaultStrategy
  // Layers that this model does not train, by name or path ("encoder/attention"): their weights stay, their penalties do
  // not count, and batch normalization among them works as in prediction.
  std::vector<std::string> freeze = {};
  bool auto_scale_loss = true;  // dynamic loss scale under mixed_float16
  bool fast_math = true;
};

struct FitOptions {
  std::int64_t batch_size = 32;  // of the whole step, over all replicas
  std::int64_t epochs = 1;       // the final index, not a count
  std::string verbose = "auto";  // auto, bar, line, none
  std::vector<Callback> callbacks = {};
  double validation_split = 0;  // the tail of the unshuffled data
  Optional<Dataset> validation_data = {};
  bool shuffle = true;  // a permutation of all rows, from (seed, epoch)
  std::map<std::int64_t, double> class_weight = {};
  std::int64_t initial_epoch = 0;
  Optional<std::int64_t> steps_per_epoch = {};  // then an epoch goes on where the last one stopped
  Optional<std::int64_t> validation_steps = {};
  Optional<std::int64_t> validation_batch_size = {};
  std::int64_t validation_freq = 1;
  std::int64_t seed = 0;           // of shuffling, dropout and everything random
  std::int64_t micro_batches = 1;  // a step's rows in this many parts, gradients summed
  std::string directory = {};      // of the run: logs and weights; "" for none, or the checkpoints'
  CheckpointOptions checkpoint = {};
};

struct EvaluateOptions {
  std::int64_t batch_size = 32;
  Optional<std::int64_t> steps = {};
};

struct PredictOptions {
  std::int64_t batch_size = 32;
};

// --- the model -------------------------------------------------------------------------------------------------------

// A weight or other state of a model, as summary and files list it.
struct StateEntry {
  std::string path;
  Type type;
  bool trainable = false;
};

// A handle: copies are the same model. Also a layer: it can be used inside another model, sharing its weights.
class Model {
 public:
  Model(Symbols inputs, Symbols outputs, std::string name = "");
  Model(NamedSymbols inputs, NamedSymbols outputs, std::string name = "");

  operator Layer() const;
  const std::string& name() const;

  // Binds optimizer, loss and metrics. Weights are made (once) from the inputs' shapes. Error: all mistakes in shapes,
  // names and targets that can be known without data.
  void compile(CompileSettings settings);

  // Trains, or goes on where a stopped run's checkpoint left off. Error: the input is wrong. RunFailed: the run is.
  // Stopped: a signal came, and a checkpoint holds what was learnt.
  History fit(const Dataset& train, const FitOptions& options = {});
  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {});
  Figures evaluate(const Dataset& data, const EvaluateOptions& options = {});
  Figures evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options = {});
  std::vector<Tensor> predict(const Dataset& data, const PredictOptions& options = {});  // by output, batches joined
  Tensor predict(const Tensor& x, const PredictOptions& options = {});                   // of a one-output model
  std::vector<Tensor> predict(const std::vector<Tensor>& x, const PredictOptions& options = {});

  // One step on these rows; the batch's own figures. Plans are kept by row count.
  Figures train_on_batch(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& sample_weight = {});
  Figures test_on_batch(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& sample_weight = {});

  void build(std::int64_t seed = 0);             // makes the weights, when they are not there yet
  std::vector<StateEntry> weights() const;       // in Keras's order: layer by layer
  Tensor weight(const std::string& path) const;  // Error with the nearest path
  void set_weight(const std::string& path, const Tensor& value);
  std::map<std::string, Tensor> weights_by_path() const;

  void save_weights(const std::string& file) const;  // Keras 3's .weights.h5
  // Strict by default: every weight of the model must be there, of its shape. `skip_mismatch` reports instead.
  void load_weights(const std::string& file, bool skip_mismatch = false);

  std::string summary() const;  // the table of layers, shapes and parameters
  // Launches, memory by slot, totals. `mode`: train, evaluate or predict.
  std::string plan(std::int64_t batch_size, const std::string& mode = "train");

  struct Core;  // the engine's view
  Core& core() const { return *core_; }

 protected:
  Model() = default;
  std::shared_ptr<Core> core_;
};

class Sequential : public Model {
 public:
  // The shape is one row's.
  Sequential(const Shape& input, std::vector<Layer> layers, std::string name = "", DType dtype = DType::float32);
};

// --- custom loops ---------------------------------------------------------------------------------------------------------

// A traced function over models: `trace` calls layers and models through the scope and names outputs and nexts; compiled
// once per set of input types, run as often as wanted.
class Program {
 public:
  using Trace = std::function<void(Scope& scope, const std::map<std::string, Value>& inputs)>;
  // Trains the models' weights in whatever way `trace` says. `inputs` are whole-batch types.
  Program(std::vector<Model> models, std::map<std::string, Type> inputs, Trace trace,
          std::string precision = "float32");
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs);

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

// Inside a Program's trace: the model's output on these inputs; its trainable weights (all, or without frozen layers);
// and an optimizer's step on them.
Values call_model(Scope& scope, const Model& model, std::span<const Value> inputs, bool training = true);
std::vector<std::pair<std::string, Value>> trainable_weights(Scope& scope, const Model& model,
                                                             const std::vector<std::string>& freeze = {});
void minimize(Scope& scope, const Optimizer& optimizer, Value loss,
              const std::vector<std::pair<std::string, Value>>& weights);

}  // namespace strata
