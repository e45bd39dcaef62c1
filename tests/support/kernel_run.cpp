// SPDX-License-Identifier: Apache-2.0
#include "support/kernel_run.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

thread_local long allocated = 0;
thread_local bool counting = false;

// Allocations of a third-party library are its own affair: only those that our code asks for count.
void count(void* caller) {
  if (!counting) return;
  counting = false;
  Dl_info from{};
  const bool foreign = dladdr(caller, &from) != 0 && std::strstr(from.dli_fname, "libdnnl") != nullptr;
  if (!foreign) ++allocated;
  counting = true;
}

}  // namespace

void* operator new(std::size_t bytes) {
  count(__builtin_return_address(0));
  if (void* address = std::malloc(bytes > 0 ? bytes : 1)) return address;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  count(__builtin_return_address(0));
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* address) noexcept { std::free(address); }
[[gnu::noinline]] void operator delete(void* address, std::size_t) noexcept { std::free(address); }
[[gnu::noinline]] void operator delete(void* address, const std::nothrow_t&) noexcept { std::free(address); }

namespace strata::test {

long allocations() { return allocated; }

Tensor draw(const Type& type, double low, double high, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(type.size()));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (double& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    value = type.dtype == DType::boolean ? static_cast<double>(unit < 0.5)
            : is_integer(type.dtype)     ? std::floor(low + unit * (high - low))
                                         : low + unit * (high - low);
  }
  return Tensor::from_doubles(type, values);
}

Case make_case(const std::vector<Drawn>& inputs, const std::function<Values(std::span<const Value>)>& build) {
  Case test;
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(test.graph.input(cat("x", i), inputs[i].type));
    test.inputs.push_back(draw(inputs[i].type, inputs[i].low, inputs[i].high, i + 1));
  }
  build(values);
  return test;
}

double usual_tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-11;
    case DType::float32: return 1e-5;
    case DType::float16: return 2e-3;
    case DType::bfloat16: return 1.6e-2;
    default: return 0;
  }
}

std::string difference(const Tensor& got, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = got.to_doubles();
  double largest = 0;
  for (const double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i], given = values[i];
    if (std::isnan(wanted) ? std::isnan(given) : wanted == given) continue;
    if (std::fabs(wanted - given) <= tolerance * std::max(largest, 1e-3)) continue;
    return cat("element ", i, " of ", got.type(), " is ", given, ", not ", wanted);
  }
  return "";
}

std::vector<Tensor> run_choice(const Choice& choice, std::span<const Tensor> inputs, std::span<const Type> outputs) {
  std::vector<void*> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor ? tensor.address() : nullptr);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool opaque = outputs[i].dtype == DType::opaque;
    const Type type =
        opaque ? Type{Shape{static_cast<std::int64_t>(choice.opaque[i].first)}, DType::uint8} : outputs[i];
    results.push_back(Tensor::from_doubles(type, std::vector<double>(static_cast<std::size_t>(type.size()), 77)));
    out.push_back(results.back().address());
  }
  const auto workspace = host_buffer(choice.workspace_bytes + 64);
  std::memset(workspace->address, 0xA5, choice.workspace_bytes);
  const Launch launch{in, out, workspace->address, nullptr};
  if (choice.kernel->run(launch) != Status::ok) throw Error(cat(choice.name, ": failed"));
  return results;
}

namespace {

// The kernel once more, with no more memory than it needs and nothing allocated.
std::string check_allocations(const Choice& choice, std::span<const Tensor> inputs, std::vector<Tensor>& results) {
  std::vector<void*> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor ? tensor.address() : nullptr);
  for (const Tensor& tensor : results) out.push_back(tensor.address());
  const auto workspace = host_buffer(choice.workspace_bytes + 64);
  auto* bytes = static_cast<unsigned char*>(workspace->address);
  std::memset(bytes + choice.workspace_bytes, 0x5A, 64);
  const long before = allocated;
  counting = true;
  const Status status = choice.kernel->run({in, out, bytes, nullptr});
  counting = false;
  if (status != Status::ok) return "failed when run again";
  if (allocated != before) return cat("allocates ", allocated - before, " times");
  for (int i = 0; i < 64; ++i) {
    if (bytes[choice.workspace_bytes + static_cast<std::size_t>(i)] != 0x5A) return "writes behind its workspace";
  }
  return "";
}

// A node with what it reads: arrays for its reference, tensors and their formats for kernels.
struct Given {
  const Node& node;
  std::vector<Array> arrays;
  std::vector<Tensor> tensors;
  std::vector<std::string> formats;
  Types types;
};

std::vector<Array> reference_of(const Given& given) {
  std::vector<const Array*> inputs(given.arrays.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = given.types[i] ? &given.arrays[i] : nullptr;
  std::vector<Array> outputs;
  for (const Type& type : given.node.types) outputs.emplace_back(type.shape);
  given.node.op->reference({inputs, outputs, given.types, given.node.types, given.node.attributes, given.node.bodies});
  return outputs;
}

// Calls f with each choice for the node, until it returns a fault.
std::string each_choice(const Given& given, Backend& backend, const DeviceModel& device,
                        const std::function<std::string(const Choice&)>& f) {
  for (int candidate = 0;; ++candidate) {
    const Choice choice = backend.choose({given.node, given.types, given.node.types, given.formats, device, candidate});
    if (!choice.kernel) {
      std::string reasons;
      for (const std::string& reason : choice.refusals) reasons += "; " + reason;
      return candidate == 0 ? cat(given.node.op->name, ": no kernel at all", reasons) : "";
    }
    if (const std::string why = f(choice); !why.empty())
      return cat(given.node.op->name, " by '", choice.name, "': ", why);
  }
}

std::string check_node(const Given& given, double factor, Backend& backend, const DeviceModel& device,
                       std::vector<std::string>* used) {
  const Node& node = given.node;
  const std::vector<Tensor>& inputs = given.tensors;
  const std::vector<Array> expected = reference_of(given);
  return each_choice(given, backend, device, [&](const Choice& choice) -> std::string {
    if (used) used->push_back(choice.name);
    if (choice.name.find(" ref") != std::string::npos) return "is a library's reference";
    for (const std::string& reason : choice.refusals) {
      if (reason.find(": ") == std::string::npos) return cat("a refusal without a reason: ", reason);
    }
    const auto compare = [&](const std::vector<Tensor>& got) -> std::string {
      for (std::size_t i = 0; i < got.size(); ++i) {
        const DType dtype = node.types[i].dtype;
        if (dtype == DType::opaque) continue;
        double tolerance = usual_tolerance(dtype);
        for (const Type& type : given.types)
          tolerance = std::max(tolerance, is_floating(dtype) ? usual_tolerance(type.dtype) : 0);
        std::vector<double> wanted = expected[i].data;
        for (double& value : wanted) value = round_to(dtype, value);
        if (const std::string why = difference(got[i], wanted, tolerance * factor); !why.empty())
          return cat("output ", i, ": ", why);
      }
      return "";
    };
    const std::vector<Tensor> results = run_choice(choice, inputs, node.types);
    if (std::string why = compare(results); !why.empty()) return why;
    if (choice.reference) return "";
    std::vector<Tensor> again;
    for (const Tensor& result : results) again.push_back(result.clone());
    if (std::string why = check_allocations(choice, inputs, again); !why.empty()) return why;
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (node.types[i].dtype == DType::opaque || again[i].bytes() == 0) continue;
      if (std::memcmp(again[i].address(), results[i].address(), again[i].bytes()) != 0)
        return "gives other bits when run again";
    }
    for (const auto& [output, input] : choice.in_place) {
      const auto o = static_cast<std::size_t>(output), i = static_cast<std::size_t>(input);
      std::vector<void*> in, out;
      const Tensor shared = inputs[i].clone();
      for (const Tensor& tensor : inputs) in.push_back(tensor ? tensor.address() : nullptr);
      in[i] = shared.address();
      for (const Tensor& tensor : again) out.push_back(tensor.address());
      out[o] = shared.address();
      const auto workspace = host_buffer(choice.workspace_bytes + 64);
      if (choice.kernel->run({in, out, workspace->address, nullptr}) != Status::ok) return "failed in place";
      again[o] = Tensor(node.types[o], shared.buffer());
      if (const std::string why = compare(again); !why.empty()) return cat("in place: ", why);
      again[o] = results[o];
    }
    return "";
  });
}

}  // namespace

std::string check_kernels(const Case& test, Backend& backend, std::vector<std::string>* used) {
  return check_kernels(test, backend, backend.model({std::string(backend.name()), 0}), used);
}

std::string check_kernels(const Case& test, Backend& backend, const DeviceModel& device,
                          std::vector<std::string>* used) {
  struct Made {
    std::unique_ptr<Given> given;
    std::vector<Array> arrays;
    std::vector<Tensor> tensors;
  };
  std::vector<Made> made(static_cast<std::size_t>(test.graph.size()));
  std::size_t next = 0;
  for (int n = 0; n < test.graph.size(); ++n) {
    const Node& node = test.graph[n];
    Made& own = made[static_cast<std::size_t>(n)];
    if (node.op->name == "input") {
      own.tensors.push_back(test.inputs[next]);
      own.arrays.emplace_back(test.inputs[next].shape(), test.inputs[next].to_doubles());
      ++next;
      continue;
    }
    own.given = std::make_unique<Given>(Given{node, {}, {}, std::vector<std::string>(node.inputs.size()), {}});
    int maker = -1, opaque = -1;
    for (const Ref input : node.inputs) {
      const bool is_given = static_cast<bool>(input);
      const Made* from = is_given ? &made[static_cast<std::size_t>(input.node)] : nullptr;
      if (is_given && test.graph.type(input).dtype == DType::opaque) {
        maker = input.node;
        opaque = static_cast<int>(own.given->types.size());
      }
      own.given->types.push_back(is_given ? test.graph.type(input) : Type{});
      own.given->arrays.push_back(is_given ? from->arrays[static_cast<std::size_t>(input.output)] : Array());
      own.given->tensors.push_back(is_given ? from->tensors[static_cast<std::size_t>(input.output)] : Tensor());
    }
    std::string why;
    if (maker < 0) {
      why = check_node(*own.given, test.tolerance, backend, device, used);
    } else {  // with what each kernel of its maker writes
      const Given& before = *made[static_cast<std::size_t>(maker)].given;
      const auto output = static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(opaque)].output);
      why = each_choice(before, backend, device, [&](const Choice& choice) {
        own.given->tensors[static_cast<std::size_t>(opaque)] =
            run_choice(choice, before.tensors, before.node.types)[output];
        own.given->formats[static_cast<std::size_t>(opaque)] = choice.opaque[output].second;
        return check_node(*own.given, test.tolerance, backend, device, used);
      });
    }
    if (!why.empty()) return why;
    // What follows computes with the references' results.
    own.arrays = reference_of(*own.given);
    for (std::size_t i = 0; i < node.types.size(); ++i) {
      const Type& type = node.types[i];
      own.tensors.push_back(type.dtype == DType::opaque ? Tensor() : Tensor::from_doubles(type, own.arrays[i].data));
      if (own.tensors[i]) own.arrays[i].data = own.tensors[i].to_doubles();
    }
  }
  return "";
}

}  // namespace strata::test
