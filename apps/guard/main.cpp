// SPDX-License-Identifier: Apache-2.0
// strata-guard: looks through an HDF5 file for a program that does not trust it. It is started by libstrata with a socket
// as its input and the file open as descriptor 3, binds itself to what the file's size allows, and can open nothing else.
//   strata-guard <bytes of the file> <bytes wanted>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "model/hdf5_guard.h"
#include "model/hdf5_library.h"

namespace {

constexpr int socket_descriptor = 0, file_descriptor = 3;

class Descriptor : public strata::FileBytes {
 public:
  explicit Descriptor(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  bool resize(std::uint64_t) override { return true; }  // nothing is written
  bool write(std::uint64_t, std::span<const std::byte>) override { return false; }
  bool read(std::uint64_t offset, std::span<std::byte> into) const override {
    while (!into.empty()) {
      if (offset > INT64_MAX) return false;
      const ssize_t got = ::pread(file_descriptor, into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      if (got == 0) {
        std::memset(into.data(), 0, into.size());
        return true;
      }
      into = into.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    return true;
  }

 private:
  std::uint64_t size_;
};

bool limit(__rlimit_resource what, std::uint64_t most) {
  rlimit limits{};
  if (getrlimit(what, &limits) != 0) return false;
  limits.rlim_cur = limits.rlim_max = std::min<rlim_t>(most, limits.rlim_max);
  return setrlimit(what, &limits) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("strata-guard reads HDF5 files for libstrata, which starts it by itself\n", stderr);
    return 2;
  }
  const std::uint64_t size = std::stoull(argv[1]), wanted = std::stoull(argv[2]);
  const std::uint64_t most = strata::most_unpacked(size, wanted);
  constexpr std::uint64_t bytes_a_second = 4 << 20;
  // A sanitizer takes terabytes of addresses for its shadow, and looks at memory through a pipe.
  const bool limited = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
                       limit(RLIMIT_NOFILE, file_descriptor + 1 + (STRATA_SANITIZED ? 2 : 0)) &&
                       limit(RLIMIT_CPU, 5 + most / bytes_a_second) && (STRATA_SANITIZED || limit(RLIMIT_AS, most));
  if (!limited) return 3;
  Descriptor file(size);
  strata::serve_guarded(socket_descriptor, file, most);
  _exit(0);  // libhdf5 has nothing to tidy up
}
