// SPDX-License-Identifier: Apache-2.0
// From an elementwise graph to a program: finds each op's loop, how often each value must be computed, and where it
// lies.
#include <algorithm>
#include <numeric>
#include <optional>

#include "backends/cpu/program.h"
#include "graph/fused.h"
#include "strata/ops.h"

namespace strata::cpu {
namespace {

constexpr std::int64_t most_tile = 2048, usual_tile = 1024, short_tile = 512;
constexpr int many_registers = 8;  // of a usual tile fill the first cache

Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return Lane::f64;
    case DType::int32:
    case DType::int64:
    case DType::uint8: return Lane::i64;
    case DType::boolean: return Lane::truth;
    default: return Lane::f32;
  }
}
// Whether memory holds the dtype just as the lane does.
bool lies_in_lanes(DType dtype) { return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int64; }
bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

}  // namespace

class ProgramCompiler {
 public:
  ProgramCompiler(const Program::Source& source, std::string_view isa)
      : source_(source), loops_(loops_for(isa).elementwise), program_(std::make_shared<Program>()) {}

  std::shared_ptr<const Program> compile(std::string& reason) {
    std::vector<int> results;
    if (source_.body ? !read_body(results) : !read_node(results)) {
      reason = reason_;
      return nullptr;
    }
    for (std::size_t i = 0; i < results.size(); ++i) add_output(static_cast<int>(i), results[i], source_.outputs[i]);
    drop_unused();
    choose_tile();
    place_values();
    return program_;
  }

 private:
  // How often a value is computed: for each launch, each thread, each tile.
  enum class Level { once, repeated, tiled };
  struct Value {
    Lane lane = Lane::f32;
    DType array_dtype = DType::none;  // of what is read from an array as it lies
    Level level = Level::tiled;
    int input = -1;  // the array it is read from as it lies
    int place = Program::nowhere;
    int last_use = -1;
    bool constant = false, kept = false;
    double number = 0;
  };
  // A value and the dtype it passes for: casts between dtypes of one lane leave the numbers where they are.
  struct Named {
    int value = -1;
    DType dtype = DType::none;
  };
  struct Step {
    Loop loop = nullptr;
    int a = -1, b = -1, c = -1, out = -1;  // values
    int input = -1;                        // of a broadcast copy
    int output = -1;                       // of a store
    Level level = Level::tiled;
    bool used = false;
  };

  int new_value(Lane lane, Level level) {
    Value value;
    value.lane = lane;
    value.level = level;
    values_.push_back(value);
    return static_cast<int>(values_.size()) - 1;
  }
  Value& at(int value) { return values_[static_cast<std::size_t>(value)]; }
  Level level_of(int value) { return value < 0 ? Level::once : at(value).level; }

  int add_step(Loop loop, Lane lane, int a, int b = -1, int c = -1) {
    Step step;
    step.loop = loop;
    step.a = a;
    step.b = b;
    step.c = c;
    step.level = std::max({level_of(a), level_of(b), level_of(c)});
    step.out = new_value(lane, step.level);
    steps_.push_back(step);
    return step.out;
  }

  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  // --- reading ------------------------------------------------------------------------------------------------------

  Named read_input(int number) {
    const Program::Input& input = source_.inputs[static_cast<std::size_t>(number)];
    program_->inputs_.resize(source_.inputs.size());
    program_->inputs_[static_cast<std::size_t>(number)] = input;
    const Lane lane = lane_of(input.dtype);
    const Broadcast::Kind kind = input.broadcast.kind();
    Level level = Level::tiled;
    if (kind == Broadcast::Kind::scalar) level = Level::once;
    if (source_.repeats && kind == Broadcast::Kind::periodic && takes_period(input.broadcast.period()))
      level = Level::repeated;
    const int value = new_value(lane, level);
    at(value).array_dtype = input.dtype;
    if (kind == Broadcast::Kind::full || kind == Broadcast::Kind::scalar) {
      at(value).input = number;
    } else {
      Step copy;
      copy.input = number;
      copy.level = level;
      copy.out = value;
      steps_.push_back(copy);
    }
    if (lies_in_lanes(input.dtype)) return {value, input.dtype};
    at(value).kept = true;  // elements grow while they are loaded: not in place
    return {add_step(loops_.load(input.dtype), lane, value), input.dtype};
  }

  // Whether the tile can be made a multiple of this, too.
  bool takes_period(std::int64_t period) {
    const std::int64_t together = std::lcm(unit_, period);
    if (together > most_tile) return false;
    unit_ = together;
    return true;
  }

  Named read_constant(double number, DType dtype) {
    const int value = new_value(lane_of(dtype), Level::once);
    at(value).constant = true;
    at(value).number = is_half(dtype) || dtype == DType::float32 ? round_to(dtype, number) : number;
    return {value, dtype};
  }

  std::optional<Named> apply(std::string_view op, const Attributes& attributes, std::vector<Named> operands,
                             DType result) {
    if (op == "cast") return cast(operands[0], attributes.as<Cast>().dtype);
    if (op == "stop_gradient") return operands[0];
    if (op == "power" && at(operands[1].value).constant && at(operands[0].value).lane != Lane::i64) {
      const double exponent = at(operands[1].value).number;
      if (exponent == 2) return apply("square", {}, {operands[0]}, result);
      if (exponent == 3)
        return apply("multiply", {}, {*apply("square", {}, {operands[0]}, result), operands[0]}, result);
    }
    if (op == "is_finite" && is_half(operands[0].dtype))
      operands[0].value = rounded(operands[0].value, operands[0].dtype);
    const Lane lane = at(operands[op == "select" ? 1 : 0].value).lane;
    std::vector<int> values;
    Level level = Level::once;
    for (const Named& operand : operands) {
      values.push_back(operand.value);
      level = std::max(level, level_of(operand.value));
    }
    unsigned scalars = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (level != Level::once && level_of(values[i]) == Level::once) scalars |= 1U << i;
    }
    const Loop loop = values.size() <= 3 ? loops_.find(op, lane, scalars) : nullptr;
    if (!loop) {
      refuse(cat("no loop for ", op, " of ", operands.back().dtype));
      return std::nullopt;
    }
    values.resize(3, -1);
    return Named{add_step(loop, lane_of(result), values[0], values[1], values[2]), result};
  }

  int rounded(int value, DType dtype) { return add_step(loops_.round(dtype), Lane::f32, value); }

  Named cast(Named from, DType to) {
    const Lane lane = lane_of(to);
    int value = from.value;
    if (at(value).lane != lane) value = add_step(loops_.convert(at(value).lane, lane), lane, value);
    if (is_half(to) && to != from.dtype) value = rounded(value, to);
    return {value, to};
  }

  bool read_node(std::vector<int>& results) {
    std::vector<Named> operands;
    for (std::size_t i = 0; i < source_.inputs.size(); ++i) operands.push_back(read_input(static_cast<int>(i)));
    const std::optional<Named> value =
        apply(source_.node->op->name, source_.node->attributes, operands, source_.outputs[0]);
    if (value) results.push_back(value->value);
    return value.has_value();
  }

  bool read_body(std::vector<int>& results) {
    const Graph& body = *source_.body;
    std::vector<Named> of_node(static_cast<std::size_t>(body.size()));
    const std::vector<int> inputs = body_inputs(body);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      of_node[static_cast<std::size_t>(inputs[i])] = read_input(static_cast<int>(i));
    }
    for (int n = 0; n < body.size(); ++n) {
      if (of_node[static_cast<std::size_t>(n)].value >= 0) continue;
      const Node& node = body[n];
      std::optional<Named> value;
      if (node.op->name == "full") {
        value = read_constant(node.attributes.as<Full>().value, node.types[0].dtype);
      } else if (node.op->name == "literal" && node.attributes.as<Literal>().values.size() == 1) {
        value = read_constant(node.attributes.as<Literal>().values[0], node.types[0].dtype);
      } else if (!node.op->traits.elementwise) {
        return refuse(cat(node.op->name, " is not elementwise"));
      } else {
        std::vector<Named> operands;
        for (const Ref input : node.inputs) operands.push_back(of_node[static_cast<std::size_t>(input.node)]);
        value = apply(node.op->name, node.attributes, operands, node.types[0].dtype);
      }
      if (!value) return false;
      of_node[static_cast<std::size_t>(n)] = *value;
    }
    for (const Graph::Output& output : body.outputs()) {
      results.push_back(of_node[static_cast<std::size_t>(output.value.node)].value);
    }
    return true;
  }

  // --- results ------------------------------------------------------------------------------------------------------

  void add_output(int number, int value, DType dtype) {
    if (at(value).level == Level::once) {  // repeated to the whole size
      value = add_step(loops_.fill(at(value).lane), at(value).lane, value);
      steps_.back().level = at(value).level = Level::tiled;
    }
    program_->result_lanes_.push_back(at(value).lane);
    if (source_.results == Program::Results::in_lanes) {
      results_.push_back(value);
      at(value).kept = true;
      return;
    }
    // An array that is a result as it stands goes through a register: by the time results are stored, another one may
    // lie where it was.
    if (at(value).input >= 0) value = add_step(loops_.load(at(value).array_dtype), at(value).lane, value);
    Step store;
    store.loop = loops_.store(dtype);
    store.a = value;
    store.output = number;
    steps_.push_back(store);
  }

  void drop_unused() {
    std::vector<bool> wanted(values_.size());
    for (const int result : results_) wanted[static_cast<std::size_t>(result)] = true;
    for (std::size_t s = steps_.size(); s-- > 0;) {
      Step& step = steps_[s];
      step.used = step.output >= 0 || wanted[static_cast<std::size_t>(step.out)];
      if (!step.used) continue;
      for (const int operand : {step.a, step.b, step.c}) {
        if (operand >= 0) wanted[static_cast<std::size_t>(operand)] = true;
      }
    }
    std::erase_if(steps_, [](const Step& step) { return !step.used; });
    const auto rank = [](const Step& step) { return std::pair(step.level, step.output >= 0); };  // stores come last
    std::stable_sort(steps_.begin(), steps_.end(), [&](const Step& a, const Step& b) { return rank(a) < rank(b); });
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      for (const int operand : {steps_[s].a, steps_[s].b, steps_[s].c}) {
        if (operand >= 0) at(operand).last_use = static_cast<int>(s);
      }
    }
  }

  // Most values live at once decide how long a tile may be.
  void choose_tile() {
    int live = 0, most = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if (step.level == Level::once) continue;
      if (step.out >= 0) most = std::max(most, ++live);
      for (const int operand : {step.a, step.b, step.c}) {
        if (operand >= 0 && at(operand).level == Level::tiled && at(operand).input < 0 &&
            at(operand).last_use == static_cast<int>(s)) {
          --live;
        }
      }
    }
    const std::int64_t target = most > many_registers ? short_tile : usual_tile;
    if (const std::int64_t whole_lines = std::lcm(unit_, std::int64_t{16}); whole_lines <= most_tile)
      unit_ = whole_lines;
    program_->tile_ = unit_ >= target ? unit_ : target / unit_ * unit_;
  }

  // --- places -------------------------------------------------------------------------------------------------------

  int add_place(Program::Where where, std::int64_t offset, std::int64_t step = 0) {
    program_->places_.push_back({where, offset, step, 0});
    return static_cast<int>(program_->places_.size()) - 1;
  }
  std::int64_t take(std::size_t& bytes, std::int64_t count) {
    const auto offset = static_cast<std::int64_t>(bytes);
    bytes += static_cast<std::size_t>((count + 63) / 64 * 64);
    return offset;
  }
  int new_register(Lane lane) {
    std::vector<int>& free = free_[width_of(lane) == 8];
    if (!free.empty()) {
      const int place = free.back();
      free.pop_back();
      return place;
    }
    return add_place(Program::Where::thread, take(program_->thread_bytes_, program_->tile_ * width_of(lane)));
  }

  int place_of(int value) {
    if (value < 0) return Program::nowhere;
    Value& v = at(value);
    if (v.place != Program::nowhere) return v.place;
    if (v.input >= 0) {
      const bool moves = v.level == Level::tiled;
      v.place =
          add_place(Program::Where::input, v.input, moves ? static_cast<std::int64_t>(size_of(v.array_dtype)) : 0);
    } else if (v.level == Level::once) {
      v.place = add_place(Program::Where::launch, take(program_->launch_bytes_, 8));
      if (v.constant) {
        program_->constants_.push_back({program_->places_[static_cast<std::size_t>(v.place)].offset, v.lane, v.number});
      }
    } else {
      v.place = new_register(v.lane);
    }
    return v.place;
  }

  // A value may be computed straight into its output when no array is read afterwards: any may lie in the same memory.
  void place_values() {
    int last_read = -1;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if (step.level != Level::tiled) continue;
      for (const int operand : {step.a, step.b, step.c}) {
        if (operand >= 0 && at(operand).input >= 0 && at(operand).level == Level::tiled)
          last_read = static_cast<int>(s);
      }
    }
    std::vector<int> made_by(values_.size(), -1);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].out >= 0) made_by[static_cast<std::size_t>(steps_[s].out)] = static_cast<int>(s);
    }
    for (Step& step : steps_) {
      if (step.output < 0) continue;
      const DType dtype = source_.outputs[static_cast<std::size_t>(step.output)];
      const int place = output_place(step.output, dtype);
      Value& value = at(step.a);
      const int maker = made_by[static_cast<std::size_t>(step.a)];
      const bool direct = lies_in_lanes(dtype) && maker >= last_read && maker >= 0 && value.level == Level::tiled &&
                          value.place == Program::nowhere && steps_[static_cast<std::size_t>(maker)].loop;
      if (direct) {
        value.place = place;
        step.used = false;
      }
      step.out = place;  // of a store: a place, not a value
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) emit(steps_[s], static_cast<int>(s));
    for (const int result : results_) program_->results_.push_back(place_of(result));
    finish_memory();
  }

  int output_place(int output, DType dtype) {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const int place = add_place(Program::Where::output, output, size);
    const std::int64_t sink = take(program_->thread_bytes_, program_->tile_ * size);
    program_->places_.back().sink = sink;
    return place;
  }

  void emit(const Step& step, int number) {
    if (!step.used) return;
    Program::Instruction i;
    i.loop = step.loop;
    i.input = step.input;
    i.a = place_of(step.a);
    i.b = place_of(step.b);
    i.c = place_of(step.c);
    // Operands read for the last time leave their registers to the result: loops run element by element.
    for (const int operand : {step.a, step.b, step.c}) {
      if (operand < 0) continue;
      Value& v = at(operand);
      const bool in_register = v.level == Level::tiled && v.input < 0 && !v.kept &&
                               program_->places_[static_cast<std::size_t>(v.place)].where == Program::Where::thread;
      if (in_register && v.last_use == number) {
        v.last_use = -2;
        free_[width_of(v.lane) == 8].push_back(v.place);
      }
    }
    i.out = step.output >= 0 ? step.out : place_of(step.out);
    auto& list = step.level == Level::once       ? program_->once_
                 : step.level == Level::repeated ? program_->repeated_
                                                 : program_->tiled_;
    list.push_back(i);
  }

  void finish_memory() {
    const std::size_t table = program_->places_.size() * sizeof(Program::Worker::Address);
    for (std::size_t* bytes : {&program_->launch_bytes_, &program_->thread_bytes_}) {
      *bytes = (*bytes + table + 63) / 64 * 64;
    }
  }

  const Program::Source& source_;
  const ElementwiseLoops& loops_;
  std::shared_ptr<Program> program_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<int> results_;
  std::vector<int> free_[2];  // registers of 4 and of 8 bytes an element
  std::int64_t unit_ = 1;     // the tile is a multiple of it
  std::string reason_;
};

std::shared_ptr<const Program> Program::compile(const Source& source, std::string_view isa, std::string& reason) {
  return ProgramCompiler(source, isa).compile(reason);
}

}  // namespace strata::cpu
