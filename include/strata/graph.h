// SPDX-License-Identifier: Apache-2.0
// Programs: operations, their values, and the graph that holds them. A graph is pure; what outlives a step is state with
// a path, and a graph says what each state holds next.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/schema.h"

namespace strata {

class Graph;
struct OpDef;

// A handle to one output of one node of a graph under construction. Cheap to copy; valid while the graph lives. A null
// Value (no graph) stands for an input that is not given or a gradient that is zero.
struct Value {
  Graph* graph = nullptr;
  int node = -1;
  int output = 0;

  explicit operator bool() const { return graph != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};
using Values = std::vector<Value>;

// A host array of doubles: what references compute with.
struct Array {
  Shape shape;
  std::vector<double> data;

  Array() = default;
  explicit Array(Shape shape) : shape(shape), data(static_cast<std::size_t>(shape.size())) {}
  Array(Shape shape, std::vector<double> data) : shape(shape), data(std::move(data)) {}
};

// An op's attributes: any aggregate with a schema, held by value. Equality, printing, parsing and fingerprints come from
// the schema.
class Attributes {
 public:
  Attributes() = default;
  template <class T>
    requires HasSchema<T> Attributes(T value)
        : schema_(&schema_of<T>()), data_(std::make_shared<const T>(std::move(value))) {}

    template <class T> const T& as() const {
      STRATA_CHECK(schema_ == &schema_of<T>(), "attributes are ", schema_ ? schema_->name : "none", ", not ",
                   schema_of<T>().name);
      return *static_cast<const T*>(data_.get());
    }
    bool empty() const { return !schema_; }
    Config write() const { return schema_ ? schema_->write(data_.get()) : Config(); }
    bool operator==(const Attributes& other) const { return schema_ == other.schema_ && write() == other.write(); }

   private:
    const Schema* schema_ = nullptr;
    std::shared_ptr<const void> data_;
};

template <class T> Attributes read_attributes(const Config& config) {
  T value{};
  Mistakes mistakes;
  schema_of<T>().read(&value, config, mistakes);
  mistakes.raise();
  return Attributes(std::move(value));
}

// One output of one node, by number. node < 0: no value.
struct Ref {
  int node = -1;
  int output = 0;
  explicit operator bool() const { return node >= 0; }
  bool operator==(const Ref&) const = default;
  auto operator<=>(const Ref&) const = default;
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<Ref> inputs;
  Attributes attributes;
  std::vector<Type> types;                           // of the outputs
  std::string label;                                 // an input's name or a state's path
  std::string scope;                                 // the layer it was traced in: "block1/conv"
  std::vector<std::shared_ptr<const Graph>> bodies;  // the graphs a scan or a fused group holds
};

// --- what an operation is -------------------------------------------------------------------------------------------

using Types = std::vector<Type>;
using Bodies = std::vector<std::shared_ptr<const Graph>>;

struct Inference {  // inputs that are not given have dtype none
  std::span<const Type> inputs;
  const Attributes& attributes;
  const Bodies& bodies;
};
struct Vjp {
  std::span<const Value> inputs, outputs, gradients;  // gradients of the outputs: null where unused
  const Attributes& attributes;
  const Bodies& bodies;
};
struct Reference {
  std::span<const Array* const> inputs;  // null where not given
  std::span<Array> outputs;              // arrive with their shapes set, zeroed
  std::span<const Type> input_types, output_types;
  const Attributes& attributes;
  const Bodies& bodies;
};
struct OpExample {
  struct Input {
    Type type;
    double low = -1, high = 1;  // values are drawn from [low, high); integers likewise
  };
  std::string name;
  std::vector<Input> inputs;
  Values (*build)(std::span<const Value> inputs);  // calls the op's public function
  double tolerance = 1;                            // times the dtype's usual one
  bool differentiable = true;                      // false: no central differences (integers, kinks, random)
};

// How an array lies on the replicas along the mesh's data axis: whole on each, split along one of its axes, or as terms
// of which the array is the sum.
struct Layout {
  enum class Kind : std::uint8_t { whole, split, terms };
  Kind kind = Kind::whole;
  int axis = 0;  // of a split
  bool operator==(const Layout&) const = default;
};
// What an op's shard rule is asked: the layouts its inputs have. It may ask for others (an input is then gathered or cut),
// and says how the outputs lie.
struct Shard {
  std::span<const Type> inputs, outputs;  // whole
  const Attributes& attributes;
  std::vector<Layout> in, out;            // out arrives whole
  Attributes local;                       // arrives as `attributes`; extents in it become the replica's
  std::int64_t batch_rows = 0, rows = 0;  // of all replicas, of this one
  std::int64_t extent(std::int64_t whole) const { return whole / batch_rows * rows; }  // of a split axis
  Shape shape(const Shape& whole, const Layout& layout) const {
    return layout.kind == Layout::Kind::split ? whole.with(layout.axis, extent(whole[layout.axis])) : whole;
  }
};

// What may be done with an op without knowing it.
struct Traits {
  bool elementwise = false;       // output element i depends on element i of the (broadcast) inputs only
  bool reads_shape_only = false;  // the result is the input's bytes under another shape (reshape)
  bool random = false;            // a function of a seed, not to be merged with its like by value alone
  bool collective = false;        // exchanges data with the other replicas
  bool internal = false;          // made by compiler passes only; not in ops.h
};

// Everything known of an operation but how a device runs it: kernels live with the backends and point here.
struct OpDef {
  std::string_view name;
  std::string_view doc;
  const Schema& (*attributes)() = nullptr;        // &schema_of<T>; null: the op has none
  Attributes (*read)(const Config&) = nullptr;    // &read_attributes<T>: back from what they print
  Types (*infer)(const Inference&) = nullptr;     // the outputs' types, or an Error that names the mismatch
  Values (*vjp)(const Vjp&) = nullptr;            // the gradient of each input (null: none), in public ops
  void (*reference)(const Reference&) = nullptr;  // the definition, in plain loops over doubles; the oracle
  Values (*decompose)(std::span<const Value> inputs, const Attributes&) = nullptr;  // the same from simpler ops
  std::vector<OpExample> (*examples)() = nullptr;
  Traits traits{};
  // false: with these inputs it must be decomposed or its inputs gathered. Null: likewise, unless elementwise.
  bool (*shard)(Shard&) = nullptr;
};

// Every op of strata by name, in order; and a user's own (needed only for parsing printed graphs).
const std::map<std::string_view, const OpDef*>& ops();
void register_op(const OpDef& op);

// --- the program ----------------------------------------------------------------------------------------------------

enum class Advance { if_ok, always };  // whether a step that failed its checks still changes the state

class Graph {
 public:
  struct Next {
    int state;
    Ref value;
    Advance advance;
  };
  struct Output {
    std::string name;
    Ref value;
  };

  // Leaves. Asking for a name again returns the same value; a differing type is an Error naming both.
  Value input(const std::string& name, const Type& type);
  Value state(const std::string& path, const Type& type);

  Value add(const OpDef& op, Values inputs, Attributes attributes = {}, Bodies bodies = {});       // its first output
  Values add_all(const OpDef& op, Values inputs, Attributes attributes = {}, Bodies bodies = {});  // all outputs
  void next(Value state, Value value,
            Advance advance = Advance::if_ok);  // a second next of one state replaces the first
  void output(const std::string& name, Value value);
  void guard(Value ok);  // a bool scalar; the step commits only if all guards hold

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& operator[](int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Node& mutable_node(int node) { return nodes_[static_cast<std::size_t>(node)]; }  // for passes
  const Type& type(Ref ref) const {
    return nodes_[static_cast<std::size_t>(ref.node)].types[static_cast<std::size_t>(ref.output)];
  }
  Value value(Ref ref) { return ref ? Value{this, ref.node, ref.output} : Value{}; }
  static Ref ref(const Value& value) { return value ? Ref{value.node, value.output} : Ref{}; }

  const std::vector<Next>& nexts() const { return nexts_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  Ref ok() const { return ok_; }                  // all guards joined; none: the step always commits
  Ref find_input(const std::string& name) const;  // none: a false Ref
  Ref find_state(const std::string& path) const;
  const std::map<std::string, int>& inputs() const { return inputs_; }
  const std::map<std::string, int>& states() const { return states_; }
  Ref next_of(const std::string& path) const;  // what the state holds next; false when unchanged

  // Nodes added while a Labelled lives carry its scope, for messages, tables and blame.
  class Labelled {
   public:
    Labelled(Graph& graph, std::string scope) : graph_(graph), before_(std::move(graph.scope_)) {
      graph_.scope_ = std::move(scope);
    }
    ~Labelled() { graph_.scope_ = std::move(before_); }

   private:
    Graph& graph_;
    std::string before_;
  };
  const std::string& scope() const { return scope_; }

 private:
  friend class Labelled;
  std::vector<Node> nodes_;
  std::map<std::string, int> inputs_, states_;
  std::vector<Next> nexts_;
  std::vector<Output> outputs_;
  Ref ok_;
  std::string scope_;
};

std::string to_text(const Graph& graph);   // one node a line; parse reads it back
Graph parse_graph(std::string_view text);  // Error with line and column
void verify(const Graph& graph);           // STRATA_CHECKs every rule a graph must keep

// d(loss)/d(each of wrt), appended to loss's graph, seeded with `seed` (1 when null). Null where loss does not depend on
// it. Only what lies between wrt and loss is differentiated; an op without a vjp is decomposed first.
Values gradients(Value loss, std::span<const Value> wrt, Value seed = {});

// Runs a graph by its references: the oracle. `feeds` gives each input by name and each state by path. The result holds
// every output of every node.
std::vector<std::vector<Array>> evaluate(const Graph& graph, const std::map<std::string, Array>& feeds);

// Copies the nodes of `body` into `graph`, its inputs (in the order they were made) replaced; returns its outputs.
Values inlined(Graph& graph, const Graph& body, std::span<const Value> inputs);

}  // namespace strata
