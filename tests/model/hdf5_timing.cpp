// SPDX-License-Identifier: Apache-2.0
// What writing and reading cost, beside a plain file of the same bytes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("256 MiB are written at no less than half the speed of a plain file, digest included") {
  const TemporaryFolder folder;
  constexpr std::int64_t parts = 16, each = 16 << 20;
  const Tensor all = numbers({{parts, each}, DType::uint8});
  const auto bytes = std::span(static_cast<const std::byte*>(all.host_data()), all.bytes());
  std::vector<double> ours, plain, checked, read, read_plain;
  std::vector<std::byte> into(all.bytes());
  for (int i = 0; i < 7; ++i) {
    ours.push_back(seconds([&] {
      Hdf5Writer out(folder / "a.h5");
      for (std::int64_t part = 0; part < parts; ++part) out.dataset(cat("x/", part), all.rows(part, part + 1));
      out.close();
    }));
    plain.push_back(seconds([&] {
      AtomicFile out(folder / "plain");
      for (std::size_t at = 0; at < bytes.size(); at += 1 << 20) out.write(bytes.subspan(at, 1 << 20));
      out.commit();
    }));
    checked.push_back(seconds([&] { CHECK(check_file(folder / "a.h5") == FileState::whole); }));
    read.push_back(seconds([&] {
      const Hdf5Reader in(folder / "a.h5");
      for (std::int64_t part = 0; part < parts; ++part) CHECK(in.read(cat("x/", part)).bytes() == each);
    }));
    read_plain.push_back(seconds([&] {
      const int file = ::open((folder / "plain").c_str(), O_RDONLY);
      CHECK(::read(file, into.data(), into.size()) == static_cast<ssize_t>(into.size()));
      ::close(file);
    }));
  }
  auto speed = [](const char* what, double time) { std::printf("%-28s %7.0f MiB/s\n", what, 256 / time); };
  speed("written", median(ours));
  speed("plain file, synced", median(plain));
  speed("digest checked", median(checked));
  speed("read", median(read));
  speed("plain file read", median(read_plain));
  CHECK(median(ours) < 2 * median(plain));
}

TEST_CASE("a file is open within 30 ms") {
  const TemporaryFolder folder;
  Hdf5Writer out(folder / "a.h5");
  for (int layer = 0; layer < 50; ++layer)
    out.dataset(cat("layers/dense_", layer, "/vars/0"), numbers({{4, 4}, DType::float32}));
  out.close();
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) times.push_back(seconds([&] { CHECK(Hdf5Reader(folder / "a.h5").has("layers")); }));
  std::printf("a file of 50 layers is open after %.1f ms\n", 1000 * median(times));
  CHECK(median(times) < 0.030);
}
