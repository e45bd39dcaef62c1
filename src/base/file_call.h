// SPDX-License-Identifier: Apache-2.0
// System calls that change files, as base/ makes them: a test may have one fail (set_file_fault), a signal makes none
// fail, and what fails names the file and the reason.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strata {

int asked_fault(std::string_view call, const std::string& path);  // the errno a test wants of this call, or 0

// The call's result, or -1 with the errno that a test asks for; a call that a signal interrupted is made again.
template <class Call> auto changing(std::string_view name, const std::string& path, Call call) -> decltype(call()) {
  if (const int error = asked_fault(name, path)) {
    errno = error;
    return -1;
  }
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

[[noreturn]] void unwritable(const std::string& path, std::string_view what, int error);  // RunFailed

void write_all(int descriptor, const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes);

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace strata
