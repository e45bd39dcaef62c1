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
void operator delete(void* address) noexcept { std::free(address); }
void operator delete(void* address, std::size_t) noexcept { std::free(address); }

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
    const Type type = opaque ? Type{Shape{static_cast<std::int64_t>(choice.opaque[i].first)}, DType::uint8} : outputs[i];
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

std::string check_node(const Node& node, std::span<const Tensor> inputs, Backend& backend, std::vector<std::string>* used) {
  Types input_types;
  std::vector<Array> arrays(inputs.size());
  std::vector<const Array*> given(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    input_types.push_back(inputs[i].type());
    if (!inputs[i]) continue;
    arrays[i] = Array(inputs[i].shape(), inputs[i].to_doubles());
    given[i] = &arrays[i];
  }
  std::vector<Array> expected;
  for (const Type& type : node.types) expected.emplace_back(type.shape);
  node.op->reference({given, expected, input_types, node.types, node.attributes, node.bodies});

  const DeviceModel device = backend.model({std::string(backend.name()), 0});
  const std::vector<std::string> formats(inputs.size());
  for (int candidate = 0;; ++candidate) {
    const Choice choice = backend.choose({node, input_types, node.types, formats, device, candidate});
    if (!choice.kernel) return candidate == 0 ? cat(node.op->name, ": no kernel at all") : "";
    if (used) used->push_back(choice.name);
    const auto fault = [&](const std::string& what) { return cat(node.op->name, " by '", choice.name, "': ", what); };
    if (choice.name.find(" ref") != std::string::npos) return fault("is a library's reference");
    for (const std::string& reason : choice.refusals) {
      if (reason.size() < 5 || reason.find(": ") == std::string::npos) return fault(cat("a refusal without a reason: ", reason));
    }
    std::vector<Tensor> results = run_choice(choice, inputs, node.types);
    const auto compare = [&](const std::vector<Tensor>& got) -> std::string {
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (node.types[i].dtype == DType::opaque) continue;
        double tolerance = usual_tolerance(node.types[i].dtype);
        for (const Type& type : input_types) tolerance = std::max(tolerance, is_floating(node.types[i].dtype) ? usual_tolerance(type.dtype) : 0);
        std::vector<double> wanted = expected[i].data;
        for (double& value : wanted) value = round_to(node.types[i].dtype, value);
        if (const std::string why = difference(got[i], wanted, tolerance); !why.empty()) return cat("output ", i, ": ", why);
      }
      return "";
    };
    if (const std::string why = compare(results); !why.empty()) return fault(why);
    if (choice.reference) continue;
    std::vector<Tensor> again = results;
    if (const std::string why = check_allocations(choice, inputs, again); !why.empty()) return fault(why);
    for (const auto& [output, input] : choice.in_place) {
      const auto o = static_cast<std::size_t>(output), i = static_cast<std::size_t>(input);
      std::vector<void*> in, out;
      const Tensor shared = inputs[i].clone();
      for (const Tensor& tensor : inputs) in.push_back(tensor ? tensor.address() : nullptr);
      in[i] = shared.address();
      for (const Tensor& tensor : again) out.push_back(tensor.address());
      out[o] = shared.address();
      const auto workspace = host_buffer(choice.workspace_bytes + 64);
      if (choice.kernel->run({in, out, workspace->address, nullptr}) != Status::ok) return fault("failed in place");
      again[o] = Tensor(node.types[o], shared.buffer());
      if (const std::string why = compare(again); !why.empty()) return fault(cat("in place: ", why));
      again[o] = results[o];
    }
  }
}

}  // namespace

std::string check_kernels(const Case& test, Backend& backend, std::vector<std::string>* used) {
  std::map<std::string, Array> feeds;
  std::size_t next = 0;
  std::vector<std::vector<Tensor>> made(static_cast<std::size_t>(test.graph.size()));
  for (int n = 0; n < test.graph.size(); ++n) {
    const Node& node = test.graph[n];
    std::vector<Tensor>& outputs = made[static_cast<std::size_t>(n)];
    if (node.op->name == "input") {
      outputs.push_back(test.inputs[next]);
      feeds[node.label] = Array(test.inputs[next].shape(), test.inputs[next].to_doubles());
      ++next;
      continue;
    }
    std::vector<Tensor> inputs;
    bool opaque = false;
    for (const Ref input : node.inputs) {
      inputs.push_back(input ? made[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)] : Tensor());
      opaque = opaque || (input && test.graph.type(input).dtype == DType::opaque);
    }
    if (opaque) return cat(node.op->name, " reads an opaque array: check it together with its maker");
    if (const std::string why = check_node(node, inputs, backend, used); !why.empty()) return why;
    // What follows computes with the references' results.
    std::vector<Array> arrays(inputs.size()), results;
    std::vector<const Array*> given(inputs.size());
    Types types;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      types.push_back(inputs[i].type());
      if (!inputs[i]) continue;
      arrays[i] = Array(inputs[i].shape(), inputs[i].to_doubles());
      given[i] = &arrays[i];
    }
    for (const Type& type : node.types) results.emplace_back(type.shape);
    node.op->reference({given, results, types, node.types, node.attributes, node.bodies});
    for (std::size_t i = 0; i < node.types.size(); ++i) {
      const bool is_opaque = node.types[i].dtype == DType::opaque;
      outputs.push_back(is_opaque ? Tensor() : Tensor::from_doubles(node.types[i], results[i].data));
    }
  }
  return "";
}

}  // namespace strata::test
