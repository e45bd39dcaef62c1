// SPDX-License-Identifier: Apache-2.0
// strata-guard as a process: found, started, answered, and survived when it is missing, dies, hangs or lies.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "model/hdf5_wire.h"
#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;
namespace fs = std::filesystem;

namespace {

const char* asked = std::getenv("STRATA_TEST_EXPLORE");
const std::string own_name = "a reader in a program of its own";

std::string ours(const std::string& path) {
  Hdf5Writer out(path);
  out.dataset("x", numbers({{10}, DType::float32}));
  out.close();
  return path;
}

// A dataset "x" in chunks, packed.
std::string packed(const std::string& path, const std::vector<float>& values, std::vector<hsize_t> extents,
                   std::vector<hsize_t> chunk) {
  return foreign(path, [&](hid_t file) {
    dataset(file, H5T_IEEE_F32LE, extents, values.data(), [&](hid_t plan) {
      H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_deflate(plan, 1);
    });
  });
}

void link(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path());
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to);
}

// What this program says about a file when it lies elsewhere, with `guard` beside it: a script, or nothing for none.
std::string elsewhere(const TemporaryFolder& folder, const std::string& file, const std::string& guard) {
  const std::string program = folder / "bin/test";
  if (!exists(program)) link(fs::read_symlink("/proc/self/exe"), program);
  if (guard.empty()) {
    remove_file(folder / "bin/strata-guard");
  } else {
    write_file(folder / "bin/strata-guard", "#!/bin/sh\n" + guard + "\n");
    fs::permissions(folder / "bin/strata-guard", fs::perms::all);
  }
  const std::string output = folder / "output";
  (void)!std::system(
      cat("STRATA_TEST_EXPLORE='", file, "' '", program, "' --test-case='", own_name, "' >", output).c_str());
  const std::string said = read_file(output);
  const auto begin = said.find("said: "), end = said.find("\n:end");
  return end == std::string::npos ? said : said.substr(begin + 6, end - begin - 6);
}

// The guard that a reader has.
pid_t its_guard() {
  std::ifstream children(cat("/proc/self/task/", ::gettid(), "/children"));
  pid_t guard = 0;
  REQUIRE((children >> guard).good());
  return guard;
}

// A row of /proc's table of limits, without the blanks between: "Max core file size 0 0".
std::string limit_of(pid_t process, const std::string& name) {
  for (const std::string& line : lines(read_file(cat("/proc/", process, "/limits")))) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string soft;
    rest >> soft;
    return soft;
  }
  return "none";
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

}  // namespace

TEST_CASE("a reader in a program of its own") {
  if (asked) std::printf("said: %s\n:end\n", explore(asked).c_str());
}

TEST_CASE("without the guard nothing is read, and the message says how to get it; installed, it is found in libexec") {
  const TemporaryFolder folder;
  const std::string file = ours(folder / "a.h5");
  CHECK(elsewhere(folder, file, "") ==
        cat("cannot be read without the program strata-guard, and neither ", folder / "bin",
            " nor libexec/strata beside it has it\n  install strata whole, or build the target strata_guard"));
  link(STRATA_BINARY_DIR "/strata-guard", folder / "libexec/strata/strata-guard");
  CHECK(elsewhere(folder, file, "") == "(no error)");
}

TEST_CASE("a guard that dies, hangs or lies is an Error that names the file") {
  const TemporaryFolder folder;
  const std::string file = ours(folder / "a.h5"), hostile = "cannot be read: it is damaged or hostile";
  CHECK(elsewhere(folder, file, "kill -SEGV $$") == hostile + " (strata-guard was ended by signal 11)");
  CHECK(elsewhere(folder, file, "exit 3") == hostile + " (strata-guard ended with 3)");
  CHECK(elsewhere(folder, file, "printf 'strata-guard 0\\n' >&0") ==
        "cannot be read: strata-guard is of another version; install strata anew");
  const std::string greeting = "printf 'strata-guard 1\\n' >&0; ";
  CHECK(elsewhere(folder, file, greeting + "kill -KILL $$") == hostile + " (strata-guard was ended by signal 9)");
  CHECK(elsewhere(folder, file, greeting + "printf '\\377\\377\\377\\377\\377\\377\\377\\377' >&0; exec sleep 60") ==
        hostile);
  CHECK(elsewhere(folder, file, greeting + "printf '\\1\\0\\0\\0\\0\\0\\0\\0X' >&0; exec sleep 60") == hostile);
  const auto start = std::chrono::steady_clock::now();
  CHECK(elsewhere(folder, file, greeting + "exec sleep 60") == hostile + " (reading takes too long)");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a guard that dies between two questions is an Error, again and again") {
  const TemporaryFolder folder;
  const std::vector<float> values(10'000, 2);
  const Hdf5Reader in(packed(folder / "a.h5", values, {100, 100}, {10, 10}));
  CHECK(in.read("x").as<float>()[9999] == 2);
  const pid_t guard = its_guard();
  ::kill(guard, SIGKILL);
  CHECK(message_of([&] { (void)in.read("x"); }) ==
        cat(folder / "a.h5", ": cannot be read: it is damaged or hostile (strata-guard was ended by signal 9)"));
  CHECK(message_of([&] { (void)in.read("x"); }).ends_with("(strata-guard has ended)"));
  CHECK(in.type("x").shape == Shape{100, 100});
}

TEST_CASE("a guard has memory for the file and 256 MiB, opens and writes nothing, and holds nothing of ours") {
  const TemporaryFolder folder;
  const std::string file = packed(folder / "a.h5", std::vector<float>(100, 1), {100}, {10});
  constexpr std::uint64_t spare = 256 << 20;
  for (const std::uint64_t wanted : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    const int ours_open = ::fcntl(0, F_DUPFD, 50);  // not even what forgets to close itself
    const Hdf5Reader in(file, wanted);
    const pid_t guard = its_guard();
    if (!STRATA_SANITIZED) CHECK(limit_of(guard, "Max address space") == cat(spare + 2 * file_bytes(file) + wanted));
    CHECK(limit_of(guard, "Max open files") == (STRATA_SANITIZED ? "6" : "4"));
    CHECK(limit_of(guard, "Max file size") == "0");
    CHECK(limit_of(guard, "Max core file size") == "0");
    CHECK(limit_of(guard, "Max cpu time") != "unlimited");
    const fs::path open = cat("/proc/", guard, "/fd");
    CHECK(std::distance(fs::directory_iterator(open), {}) == 4);
    CHECK(fs::read_symlink(open / "3") == fs::canonical(file));
    CHECK(::getpgid(guard) == guard);  // ^C is ours
    ::close(ours_open);
  }
}

TEST_CASE("packed numbers come as they are, whatever the chunks") {
  const TemporaryFolder folder;
  std::vector<float> values(50 * 301 * 211);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const std::vector<hsize_t>& chunk :
       std::vector<std::vector<hsize_t>>{{7, 40, 50}, {50, 301, 211}, {1, 301, 211}}) {
    const Hdf5Reader in(packed(folder / "a.h5", values, {50, 301, 211}, chunk));
    for (int again = 0; again < 2; ++again) {
      const Tensor read = in.read("x");
      CHECK(read.shape() == Shape{50, 301, 211});
      CHECK(std::memcmp(read.host_data(), values.data(), read.bytes()) == 0);
    }
  }
}

TEST_CASE(
    "readers leave no process and no descriptor behind, and mind neither closed input nor signals that are ignored") {
  const TemporaryFolder folder;
  const std::string good = packed(folder / "a.h5", std::vector<float>(100, 1), {100}, {10}), bad = folder / "b.h5";
  write_raw(bad, read_file(good).substr(0, 600));
  CHECK(explore(good) == "(no error)");
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    CHECK(explore(good) == "(no error)");
    CHECK(explore(bad) != "(no error)");
  }
  CHECK(open_descriptors() == before);
  CHECK_FALSE(has_children());
  const int input = ::dup(0);
  ::close(0);
  CHECK(explore(good) == "(no error)");
  ::dup2(input, 0);
  ::close(input);
  const auto handler = std::signal(SIGCHLD, SIG_IGN);
  CHECK(explore(good) == "(no error)");
  CHECK(explore(bad) != "(no error)");
  std::signal(SIGCHLD, handler);
  CHECK_FALSE(has_children());
}

TEST_CASE("readers on several threads, and without descriptors to spare") {
  const TemporaryFolder folder;
  const std::string file = packed(folder / "a.h5", std::vector<float>(100, 1), {100}, {10});
  std::vector<std::string> said(4);
  std::vector<std::thread> threads;
  for (auto& mine : said)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) mine += explore(file);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& mine : said) CHECK(replace_all(mine, "(no error)", "") == "");
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const int next = ::dup(0);
  ::close(next);
  std::string last;
  for (int spare = 0; spare < 12; ++spare) {
    const rlimit few{static_cast<rlim_t>(next + spare), old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    last = explore(file);
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK_MESSAGE((last == "(no error)" || last.find("cannot be read") == 0), last);
  }
  CHECK(explore(file) == "(no error)");
}

TEST_CASE("variables of the environment that change libhdf5 do not reach it") {
  const TemporaryFolder folder;
  const std::string file = ours(folder / "a.h5");
  ::setenv("HDF5_USE_FILE_LOCKING", "TRUE", 1);
  ::setenv("HDF5_PLUGIN_PATH", folder.path().c_str(), 1);
  CHECK(explore(file) == "(no error)");
  CHECK(elsewhere(folder, file, "exit $(env | grep -c ^HDF5_)").ends_with("(strata-guard ended with 0)"));
  CHECK(elsewhere(folder, file, "exit $(env | grep -c ^STRATA_TEST_)").ends_with("(strata-guard ended with 1)"));
  for (const char* name : {"HDF5_USE_FILE_LOCKING", "HDF5_PLUGIN_PATH"}) ::unsetenv(name);
}

TEST_CASE("what a guard says is believed only as far as its bytes and the file go") {
  StoredObject numbers_in, text;
  numbers_in.path = "x";
  numbers_in.kind = StoredObject::Kind::dataset;
  numbers_in.dtype = DType::float32;
  numbers_in.shape = {2, 3};
  numbers_in.bytes = 24;
  numbers_in.is_direct = true;
  numbers_in.offset = 76;
  numbers_in.attributes = {{"path", "a/b", ""}, {"name", "", "is no text"}};
  text = numbers_in;
  text.is_text = true;
  text.shape = {};
  const std::string bytes = pack({"", {numbers_in, text}});
  const Catalogue again = unpack(bytes, 100);
  CHECK(pack(again) == bytes);
  auto wrong = [](const StoredObject& object) { return message_of([&] { unpack(pack({"", {object}}), 100); }); };
  CHECK(wrong(numbers_in) == "(no error)");
  auto with = [&](auto change) {
    StoredObject object = numbers_in;
    change(object);
    return wrong(object);
  };
  const std::string hostile = "cannot be read: it is damaged or hostile";
  CHECK(with([](auto& o) { o.offset = 77; }) == hostile);
  CHECK(with([](auto& o) { o.offset = ~0ULL; }) == hostile);
  CHECK(with([](auto& o) { o.bytes = 28; }) == hostile);
  CHECK(with([](auto& o) { o.shape = {2, -3}; }) == hostile);
  CHECK(with([](auto& o) { o.shape = {1LL << 62, 1LL << 62, 0}, o.bytes = 0; }) == hostile);
  CHECK(with([](auto& o) { o.dtype = DType::none; }) == hostile);
  CHECK(with([](auto& o) { o.dtype = static_cast<DType>(77); }) == hostile);
  CHECK(with([](auto& o) { o.kind = static_cast<StoredObject::Kind>(9); }) == hostile);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(message_of([&] { unpack(bytes.substr(0, size), 100); }) == hostile);
  CHECK(message_of([&] { unpack(bytes + "x", 100); }) == hostile);
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const std::string said = message_of([&] { unpack(mutated(bytes, seed), 100); });
    CHECK((said == hostile || said == "(no error)"));
  }
}
