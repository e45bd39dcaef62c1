// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/communicator.h"

#include <cstring>
#include <memory>

#include "backends/cpu/denormals.h"
#include "backends/cpu/machine.h"

namespace strata::cpu {
namespace {

// How elements are added: 16-bit floats in float, rounded once.
template <class T> struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct Float16 {
  using Stored = std::uint16_t;
  static float load(Stored bits) { return float16_to_float(bits); }
  static Stored store(float value) { return float_to_float16(value); }
};
struct Bfloat16 {
  using Stored = std::uint16_t;
  static float load(Stored bits) { return bfloat16_to_float(bits); }
  static Stored store(float value) { return float_to_bfloat16(value); }
};
struct Logical {  // the sum of truths: whether any is true
  using Stored = std::uint8_t;
  static int load(Stored bits) { return bits != 0; }
  static Stored store(int value) { return value != 0; }
};

// A block of the sum, replica after replica, so that neither threads nor memory change the order.
template <class Element>
void sum_block(std::span<void* const> inputs, std::span<void* const> outputs, std::int64_t begin, std::int64_t end) {
  using Stored = typename Element::Stored;
  using Sum = decltype(Element::load(Stored{}));
  constexpr std::int64_t tile = 512;
  Sum sums[tile];
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t count = end - at < tile ? end - at : tile;
    const Stored* first = static_cast<const Stored*>(inputs[0]) + at;
    for (std::int64_t i = 0; i < count; ++i) sums[i] = Element::load(first[i]);
    for (std::size_t replica = 1; replica < inputs.size(); ++replica) {
      const Stored* more = static_cast<const Stored*>(inputs[replica]) + at;
      for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<Sum>(sums[i] + Element::load(more[i]));
    }
    for (void* output : outputs) {
      Stored* out = static_cast<Stored*>(output) + at;
      for (std::int64_t i = 0; i < count; ++i) out[i] = Element::store(sums[i]);
    }
  }
}

template <class Element>
Status sum_all(std::span<void* const> inputs, std::span<void* const> outputs, std::int64_t count) {
  constexpr std::int64_t block = 8192;
  const std::int64_t blocks = (count + block - 1) / block;
  parallel_for(blocks, count, [&](std::int64_t b) {
    sum_block<Element>(inputs, outputs, b * block, b * block + block < count ? b * block + block : count);
  });
  return Status::ok;
}

class MemoryCommunicator final : public Communicator {
 public:
  explicit MemoryCommunicator(int replicas) : replicas_(static_cast<std::size_t>(replicas)) {}

  Status all_reduce(std::span<void* const> inputs, std::span<void* const> outputs, const Type& type) noexcept override {
    if (inputs.size() != replicas_ || outputs.size() != replicas_) return Status::failed;
    const FlushDenormals guard;
    const std::int64_t count = type.size();
    switch (type.dtype) {
      case DType::float32: return sum_all<Plain<float>>(inputs, outputs, count);
      case DType::float64: return sum_all<Plain<double>>(inputs, outputs, count);
      case DType::int32: return sum_all<Plain<std::int32_t>>(inputs, outputs, count);
      case DType::int64: return sum_all<Plain<std::int64_t>>(inputs, outputs, count);
      case DType::uint8: return sum_all<Plain<std::uint8_t>>(inputs, outputs, count);
      case DType::boolean: return sum_all<Logical>(inputs, outputs, count);
      case DType::float16: return sum_all<Float16>(inputs, outputs, count);
      case DType::bfloat16: return sum_all<Bfloat16>(inputs, outputs, count);
      case DType::none:
      case DType::opaque: break;
    }
    return Status::failed;
  }

 private:
  std::size_t replicas_;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(int replicas) { return std::make_unique<MemoryCommunicator>(replicas); }

}  // namespace strata::cpu
