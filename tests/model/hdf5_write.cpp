// SPDX-License-Identifier: Apache-2.0
// Writing: what is hard to hold (many layers, long names, odd paths), and what fails: the old file stays, the failure is
// named, the program goes on.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/skip.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

std::atomic<bool> no_locks = false;  // as a network file system without them

void write_one(const std::string& path, std::int64_t numbers_count = 1000) {
  Hdf5Writer out(path);
  out.group("vars");
  out.attribute("vars", "name", "model");
  out.dataset("layers/dense/vars/0", numbers({{numbers_count}, DType::float32}));
  out.dataset("layers/dense/vars/1", numbers({{7}, DType::float16}));
  out.text("strata/config", "version: 1\n");
  out.close(5);
}

// How often a RunFailed that names the file; what it said.
std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RunFailed& failure) {
    return failure.what();
  }
  return "(no failure)";
}

struct SizeLimit {
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before{};
};

}  // namespace

// In place of libc's, for this program and libhdf5 in it.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (no_locks) {
    errno = ENOLCK;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

TEST_CASE("3,000 layers with long names fit, and come back") {
  const TemporaryFolder folder;
  auto layer = [](int i) { return cat("layers/", std::string(200, 'a'), "_", i, "/vars"); };
  Hdf5Writer out(folder / "a.h5");
  for (int i = 0; i < 3000; ++i) {
    out.dataset(layer(i) + "/0", Tensor({}, std::vector<std::int32_t>{i}));
    out.fixed_attribute(layer(i) + "/0", "path", cat(std::string(300, 'p'), i));
  }
  out.text("strata/names", std::string(3'000'000, 'n'));  // more than an attribute holds
  out.close();
  const Hdf5Reader in(folder / "a.h5");
  CHECK(in.datasets_under("layers").size() == 3000);
  for (int i = 0; i < 3000; i += 7) {
    CHECK(in.read(layer(i) + "/0").to_doubles() == std::vector<double>{double(i)});
    CHECK(in.attribute(layer(i) + "/0", "path") == cat(std::string(300, 'p'), i));
  }
  CHECK(in.text("strata/names") == std::string(3'000'000, 'n'));
}

TEST_CASE("paths and names may hold blanks, umlauts, Chinese letters, quotes and ends of lines") {
  const TemporaryFolder folder;
  for (const std::string odd : {"a b", "L\xC3\xA4uft", "\xE6\xA8\xA1\xE5\x9E\x8B", "a\nb", "'q\"", "-x", "a%s\\"}) {
    CAPTURE(odd);
    const std::string path = cat(folder.path(), "/", odd, "/", odd, ".h5");
    make_dirs(folder_of(path));
    Hdf5Writer out(path);
    out.dataset(odd + "/" + odd, Tensor({}, std::vector<std::int32_t>{3}));
    out.fixed_attribute(odd, odd, odd);
    out.text("text", odd);
    out.close();
    CHECK(check_file(path) == FileState::whole);
    const Hdf5Reader in(path);
    CHECK(in.read(odd + "/" + odd).to_doubles() == std::vector<double>{3});
    CHECK(in.attribute(odd, odd) == odd);
    CHECK(in.text("text") == odd);
  }
}

TEST_CASE("texts of any length come back; a text is no number") {
  const TemporaryFolder folder;
  const std::vector<std::string> texts{"", "a", "{\"\xC3\xA4\": 1}\n", std::string(64 * 1024, 'x'),
                                       std::string(1 << 20, 'y')};
  Hdf5Writer out(folder / "a.h5");
  for (std::size_t i = 0; i < texts.size(); ++i) out.text(cat("t/", i), texts[i]);
  out.dataset("x", numbers({{2}, DType::int32}));
  out.close();
  const Hdf5Reader in(folder / "a.h5");
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(in.text(cat("t/", i)) == texts[i]);
  CHECK_THROWS_WITH_AS(in.read("t/1"), cat(folder / "a.h5", ": 't/1': holds text, not numbers").c_str(), Error);
  CHECK_THROWS_WITH_AS(in.type("t/1"), cat(folder / "a.h5", ": 't/1': holds text, not numbers").c_str(), Error);
  CHECK_THROWS_WITH_AS(in.text("x"), cat(folder / "a.h5", ": 'x': holds no text").c_str(), Error);
  CHECK(in.type("x") == Type{{2}, DType::int32});
}

TEST_CASE("equal calls give equal bytes, whatever lay in memory before, and in another second") {
  const TemporaryFolder folder;
  write_one(folder / "a.h5");
  std::vector<std::string> rubbish;
  for (std::size_t i = 1; i < 2000; ++i) rubbish.push_back(std::string(i * 7 % 5000, '\xA5'));
  rubbish.clear();
  ::usleep(1'100'000);
  write_one(folder / "b.h5");
  CHECK((read_file(folder / "a.h5") == read_file(folder / "b.h5")));
}

TEST_CASE("writers on several threads do not disturb each other") {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        Hdf5Writer out(folder / cat(t, ".h5"));
        for (int layer = 0; layer < 200; ++layer) out.text(cat("layers/", layer, "/text"), cat(layer));
        out.close();
      }
    });
  for (auto& thread : threads) thread.join();
  const std::string first = read_file(folder / "0.h5");
  for (int t = 0; t < 4; ++t) CHECK((read_file(folder / cat(t, ".h5")) == first));
  CHECK(Hdf5Reader(folder / "3.h5").text("layers/199/text") == "199");
}

TEST_CASE("whichever call of the file layer fails, the old file stays whole and nothing is left behind") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_one(path);
  const std::string before = read_file(path);
  int calls = 0;
  set_file_fault([&](std::string_view, const std::string&) { return ++calls, 0; });
  write_one(path);
  const int all = calls;
  CHECK(all >= 8);
  for (const int error : {ENOSPC, EIO, EDQUOT, EFBIG})
    for (int n = 0; n < all; ++n) {
      CAPTURE(n);
      calls = 0;
      std::string call;
      set_file_fault([&](std::string_view name, const std::string&) {
        if (calls++ != n) return 0;
        call = name;
        return error;
      });
      const std::string said = failure_of([&] { write_one(path, 2000); });
      set_file_fault({});
      CHECK(said.find(folder.path()) == 0);
      const bool is_last = n >= all - 2;  // the folder alone could not be synced: the new file stands already
      if (!is_last) CHECK((read_file(path) == before));
      CHECK(check_file(path) == FileState::whole);
      CHECK(list_dir(folder.path()) == std::vector<std::string>{"a.h5"});
      write_one(path);
    }
}

TEST_CASE("a limit on the size of files is a failure with the object's name, no signal and no crash") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_one(path);
  const std::string before = read_file(path);
  std::string said;
  {
    const SizeLimit limit(100'000);
    for (int i = 0; i < 20; ++i) said = failure_of([&] { write_one(path, 100'000); });
  }
  CHECK(said.find(path) == 0);
  CHECK(said.find("File too large") != std::string::npos);
  CHECK(said.ends_with("while writing 'layers/dense/vars/0'"));
  CHECK((read_file(path) == before));
  CHECK(list_dir(folder.path()) == std::vector<std::string>{"a.h5"});
  sigset_t pending;
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGXFSZ) == 0);
}

TEST_CASE("a disk that is full is named with what is free, and the old file stays") {
  const TemporaryFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return skip("no file system can be mounted");
  const std::string path = folder / "a.h5";
  write_one(path);
  const std::string before = read_file(path), said = failure_of([&] { write_one(path, 1 << 20); });
  CHECK(said.find(path) == 0);
  CHECK(said.find("No space left on device; ") != std::string::npos);
  CHECK(said.find("free; make room") != std::string::npos);
  CHECK(said.ends_with("while writing 'layers/dense/vars/0'"));
  CHECK((read_file(path) == before));
  CHECK(list_dir(folder.path()) == std::vector<std::string>{"a.h5"});
  write_one(path, 2000);
  CHECK(check_file(path) == FileState::whole);
  CHECK(::umount(folder.path().c_str()) == 0);
}

TEST_CASE("where files cannot be locked, they are written and read all the same") {
  const TemporaryFolder folder;
  no_locks = true;
  write_one(folder / "a.h5");
  const bool good = check_file(folder / "a.h5") == FileState::whole && Hdf5Reader(folder / "a.h5").has("vars");
  no_locks = false;
  CHECK(good);
}

TEST_CASE("what has no place in a file is refused with the object's name") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  Hdf5Writer out(path);
  CHECK(failure_of([&] { out.dataset("x", Tensor()); }) == cat(path, ": 'x': its dtype has no place in HDF5"));
  CHECK(failure_of([&] { out.attribute("x", "a", std::string(70'000, 'a')); }) ==
        cat(path, ": 'x': attribute a has 70000 bytes; at most 64000 have a place"));
  out.dataset("x", numbers({{2}, DType::int32}));
  out.dataset("x", numbers({{3}, DType::int32}));
  CHECK(failure_of([&] { out.close(); }) == cat(path, ": 'x': the dataset cannot be made"));
  Hdf5Writer nowhere(path);
  nowhere.attribute("none", "a", "b");
  CHECK(failure_of([&] { nowhere.close(); }) == cat(path, ": 'none': an attribute cannot be made"));
  CHECK(list_dir(folder.path()).empty());
}
