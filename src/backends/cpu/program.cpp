// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program.h"

namespace strata::cpu {

void Program::execute(const Instruction& i, const Worker::Address* addresses, std::span<void* const> inputs,
                      std::int64_t at, std::int64_t count) const {
  const auto address = [&](int place) -> char* {
    return place == nowhere ? nullptr : addresses[place].base + addresses[place].step * at;
  };
  if (i.loop) {
    i.loop(address(i.a), address(i.b), address(i.c), address(i.out), count);
    return;
  }
  const Input& input = inputs_[static_cast<std::size_t>(i.input)];
  input.broadcast.copy(inputs[static_cast<std::size_t>(i.input)], address(i.out),
                       static_cast<std::int64_t>(size_of(input.dtype)), at, count);
}

// The addresses of the places stand behind the values in both memories.
void Program::start(std::span<void* const> inputs, char* launch_memory) const {
  for (const Constant& constant : constants_) {
    char* at = launch_memory + constant.offset;
    switch (constant.lane) {
      case Lane::f32: *reinterpret_cast<float*>(at) = static_cast<float>(constant.value); break;
      case Lane::f64: *reinterpret_cast<double*>(at) = constant.value; break;
      case Lane::i64: *reinterpret_cast<std::int64_t*>(at) = static_cast<std::int64_t>(constant.value); break;
      case Lane::truth: *reinterpret_cast<std::int32_t*>(at) = constant.value != 0; break;
    }
  }
  if (once_.empty()) return;
  auto* addresses =
      reinterpret_cast<Worker::Address*>(launch_memory + launch_bytes_ - places_.size() * sizeof(Worker::Address));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    addresses[i] = {};
    if (place.where == Where::launch) addresses[i].base = launch_memory + place.offset;
    if (place.where == Where::input)
      addresses[i].base = static_cast<char*>(inputs[static_cast<std::size_t>(place.offset)]);
  }
  for (const Instruction& instruction : once_) execute(instruction, addresses, inputs, 0, 1);
}

Program::Worker::Worker(const Program& program, char* launch_memory, char* thread_memory)
    : program_(program),
      launch_memory_(launch_memory),
      thread_memory_(thread_memory),
      addresses_(reinterpret_cast<Address*>(thread_memory + program.thread_bytes_ -
                                            program.places_.size() * sizeof(Address))) {}

void Program::Worker::bind(std::span<void* const> inputs, std::span<void* const> outputs, std::int64_t count) {
  inputs_ = inputs;
  repeated_ = count < program_.tile_ ? count : program_.tile_;
  for (std::size_t i = 0; i < program_.places_.size(); ++i) {
    const Place& place = program_.places_[i];
    const auto number = static_cast<std::size_t>(place.offset);
    switch (place.where) {
      case Where::launch: addresses_[i] = {launch_memory_ + place.offset, 0}; break;
      case Where::thread: addresses_[i] = {thread_memory_ + place.offset, 0}; break;
      case Where::input: addresses_[i] = {static_cast<char*>(inputs[number]), place.step}; break;
      case Where::output:
        addresses_[i] = outputs[number] ? Address{static_cast<char*>(outputs[number]), place.step}
                                        : Address{thread_memory_ + place.sink, 0};
        break;
    }
  }
}

void Program::Worker::run(std::int64_t at, std::int64_t count) {
  if (repeated_ > 0) {
    for (const Instruction& i : program_.repeated_) program_.execute(i, addresses_, inputs_, 0, repeated_);
    repeated_ = 0;
  }
  for (const Instruction& i : program_.tiled_) program_.execute(i, addresses_, inputs_, at, count);
}

const void* Program::Worker::result(std::size_t output, std::int64_t at) const {
  const Address& address = addresses_[program_.results_[output]];
  return address.base + address.step * at;
}

}  // namespace strata::cpu
