// SPDX-License-Identifier: Apache-2.0
#include "support/toy_backend.h"

#include <cstdlib>
#include <cstring>
#include <functional>

#include "backends/kernel_table.h"
#include "strata/ops.h"

namespace strata::test {
namespace {

// No such address is mapped on the machines there are, nor may a program use it.
constexpr std::uintptr_t far_away = std::uintptr_t{1} << 60;
long own_kernels_run = 0;

template <class T = char> T* near(const void* address) {
  if (!address) return nullptr;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if ((number & far_away) == 0) std::abort();  // a host address where one of the device's belongs
  return reinterpret_cast<T*>(number & ~far_away);
}

class FarBuffer final : public Buffer {
 public:
  FarBuffer(const Device& where, std::size_t size)
      : FarBuffer(where, size, std::aligned_alloc(64, (size + 64) / 64 * 64)) {}
  ~FarBuffer() override { std::free(real_); }

 private:
  FarBuffer(const Device& where, std::size_t size, void* real)
      : Buffer(where, reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(real) | far_away), size, false),
        real_(real) {
    if (!real) throw Error(cat(to_text(where), ": no memory of ", size, " bytes"));
    std::memset(real, 0, size);
  }
  void* const real_;
};

// Work is kept until somebody waits, so that a result read too early is a wrong one.
class Queue final : public Stream {
 public:
  void add(std::function<void()> work) { work_.push_back(std::move(work)); }
  void synchronize() override {
    const auto work = std::move(work_);
    work_.clear();
    for (const auto& one : work) one();
  }

 private:
  std::vector<std::function<void()>> work_;
};

// Runs `inner` on near addresses when its turn comes.
class Queued final : public Kernel {
 public:
  Queued(std::shared_ptr<Kernel> inner, bool own) : inner_(std::move(inner)), own_(own) {}
  Status run(const Launch& launch) noexcept override try {
    std::vector<void*> inputs, outputs;
    for (void* input : launch.inputs) inputs.push_back(near(input));
    for (void* output : launch.outputs) outputs.push_back(near(output));
    void* workspace = near(launch.workspace);
    dynamic_cast<Queue&>(*launch.stream).add([inner = inner_, own = own_, inputs, outputs, workspace] {
      if (inner->run({inputs, outputs, workspace, nullptr}) != Status::ok) std::abort();
      own_kernels_run += own;
    });
    return Status::ok;
  } catch (...) {
    return Status::failed;
  }

 private:
  std::shared_ptr<Kernel> inner_;
  bool own_;
};

template <class F> Choice accept(F run) {
  Choice choice;
  choice.kernel = kernel_of([run](const Launch& launch) noexcept {
    run(launch);
    return Status::ok;
  });
  return choice;
}

// The kernel for the problem's dtype; the toy knows two.
template <template <class> class Make> Choice by_dtype(const Problem& problem) {
  if (problem.outputs[0].dtype == DType::float32) return Make<float>::choice(problem);
  if (problem.outputs[0].dtype == DType::float64) return Make<double>::choice(problem);
  return refuse(cat("no kernel for ", problem.outputs[0].dtype));
}

template <class T, class Combine> Choice of_pairs(const Problem& problem, Combine combine) {
  if (!(problem.inputs[0] == problem.outputs[0] && problem.inputs[1] == problem.outputs[0]))
    return refuse("it spreads nothing out");
  Choice choice = accept([count = problem.outputs[0].size(), combine](const Launch& launch) {
    const T *a = static_cast<const T*>(launch.inputs[0]), *b = static_cast<const T*>(launch.inputs[1]);
    T* to = static_cast<T*>(launch.outputs[0]);
    for (std::int64_t i = 0; i < count; ++i) to[i] = combine(a[i], b[i]);
  });
  choice.in_place = {{0, 0}, {0, 1}};
  return choice;
}
template <class T> struct Add {
  static Choice choice(const Problem& problem) {
    return of_pairs<T>(problem, [](T a, T b) { return a + b; });
  }
};
template <class T> struct Multiply {
  static Choice choice(const Problem& problem) {
    return of_pairs<T>(problem, [](T a, T b) { return a * b; });
  }
};

// Rows times columns, the second array turned beforehand.
template <class T> struct Product {
  static Choice choice(const Problem& problem) {
    const auto& how = problem.node.attributes.as<Matmul>();
    const Shape &a = problem.inputs[0].shape, &c = problem.outputs[0].shape;
    if (c.rank() != 2 || how.transpose_a || how.transpose_b) return refuse("only rows by columns");
    const std::int64_t rows = c[0], columns = c[1], inner = a[1];
    Choice choice = accept([=](const Launch& launch) {
      const T *x = static_cast<const T*>(launch.inputs[0]), *turned = static_cast<const T*>(launch.inputs[1]);
      T* to = static_cast<T*>(launch.outputs[0]);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += static_cast<double>(x[i / columns * inner + k]) * static_cast<double>(turned[i % columns * inner + k]);
        to[i] = static_cast<T>(sum);
      }
    });
    auto turn = accept([=](const Launch& launch) {
      const T* plain = static_cast<const T*>(launch.inputs[0]);
      T* to = static_cast<T*>(launch.outputs[0]);
      for (std::int64_t i = 0; i < inner * columns; ++i) to[i % columns * inner + i / columns] = plain[i];
    });
    choice.packs.push_back({1, static_cast<std::size_t>(inner * columns) * sizeof(T), cat("columns ", columns),
                            std::make_shared<Queued>(turn.kernel, true)});
    return choice;
  }
};

const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable made;
    made.add("add", "toy_add", by_dtype<Add>);
    made.add("multiply", "toy_multiply", by_dtype<Multiply>);
    made.add("matmul", "toy_product", by_dtype<Product>);
    return made;
  }();
  return table;
}

template <class T> void add_up(std::span<void* const> inputs, std::span<void* const> outputs, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T sum = 0;
    for (const void* input : inputs) sum = static_cast<T>(sum + near<const T>(input)[i]);
    for (void* output : outputs) near<T>(output)[i] = sum;
  }
}

class ToyCommunicator final : public Communicator {
 public:
  Status all_reduce(std::span<void* const> inputs, std::span<void* const> outputs, const Type& type) noexcept override {
    switch (type.dtype) {
      case DType::float32: add_up<float>(inputs, outputs, type.size()); return Status::ok;
      case DType::float64: add_up<double>(inputs, outputs, type.size()); return Status::ok;
      case DType::int64: add_up<std::int64_t>(inputs, outputs, type.size()); return Status::ok;
      default: return Status::failed;
    }
  }
};

class ToyBackend final : public Backend {
 public:
  std::string_view name() const override { return "toy"; }
  std::vector<Device> devices() const override { return {{"toy", 0}, {"toy", 1}, {"toy", 2}, {"toy", 3}}; }
  DeviceModel model(const Device&) const override {
    DeviceModel model;
    model.backend = "toy";
    model.isa = "none";
    model.host_memory = false;
    return model;
  }

  Choice choose(const Problem& problem) const override {
    if (problem.node.op->name == "fused") return refuse("one op at a time");
    Choice choice = kernels().choose(problem);
    const bool own = choice.kernel != nullptr;
    if (!own) {
      Problem before = problem;
      if (before.candidate-- > 0 && !kernels().choose(before).kernel) return choice;
      DeviceModel reachable = problem.device;
      reachable.host_memory = true;  // by the time that a queued kernel runs, its addresses are
      Choice last = reference_choice({problem.node, problem.inputs, problem.outputs, problem.formats, reachable, 0});
      last.refusals.insert(last.refusals.begin(), choice.refusals.begin(), choice.refusals.end());
      choice = std::move(last);
    }
    if (choice.kernel) choice.kernel = std::make_shared<Queued>(choice.kernel, own);
    return choice;
  }

  std::shared_ptr<Buffer> allocate(const Device& device, std::size_t bytes, std::string_view) override {
    return std::make_shared<FarBuffer>(device, bytes);
  }
  std::unique_ptr<Stream> stream(const Device&) override { return std::make_unique<Queue>(); }
  void copy_in(void* to, const void* from_host, std::size_t bytes, Stream& stream) override {
    const char* begin = static_cast<const char*>(from_host);
    const std::vector<char> staged(begin, begin + bytes);  // the host may change its own at once
    queue(stream).add([=] { std::copy(staged.begin(), staged.end(), near(to)); });
  }
  void copy_out(void* to_host, const void* from, std::size_t bytes, Stream& stream) override {
    stream.synchronize();
    std::copy_n(near(from), bytes, static_cast<char*>(to_host));
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    queue(stream).add([=] { std::memmove(near(to), near(from), bytes); });
  }
  std::unique_ptr<Communicator> connect(std::span<const Device>) override {
    return std::make_unique<ToyCommunicator>();
  }
  std::size_t free_bytes(const Device&) const override { return std::size_t{1} << 30; }

 private:
  static Queue& queue(Stream& stream) { return dynamic_cast<Queue&>(stream); }
};

}  // namespace

Backend& toy_backend() {
  static Backend& known = [&]() -> Backend& {
    add_backend(std::make_unique<ToyBackend>());
    return backend("toy");
  }();
  return known;
}

long toy_kernels_run() { return own_kernels_run; }

}  // namespace strata::test
