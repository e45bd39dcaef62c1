// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "strata/error.h"
#include "support/temporary.h"

namespace strata {
namespace {

using test::TemporaryFolder;
using Words = std::vector<std::string>;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Fails the n-th call that changes a file (from 0) while it lives.
struct FaultAt {
  explicit FaultAt(int n, int error) {
    set_file_fault([this, n, error](std::string_view, const std::string&) { return calls++ == n ? error : 0; });
  }
  ~FaultAt() { set_file_fault({}); }
  int calls = 0;
};

TEST_CASE("a file reads back as it was written") {
  const TemporaryFolder folder;
  const std::string text("a\0b\n", 4);
  write_file(folder / "x", text);
  CHECK(read_file(folder / "x") == text);
  CHECK(file_bytes(folder / "x") == 4);
  CHECK(list_dir(folder.path()) == Words{"x"});
  append_to_file(folder / "x", "c");
  append_to_file(folder / "y", "d");
  CHECK(read_file(folder / "x") == text + "c");
  CHECK(read_file(folder / "y") == "d");
  write_file(folder / "x", "");
  CHECK(read_file(folder / "x").empty());
}

TEST_CASE("a file that tells no size is read to its end") {
  CHECK(read_file("/proc/self/status").find("Name:") != std::string::npos);
}

TEST_CASE("what cannot be read is named, with the reason") {
  const TemporaryFolder folder;
  CHECK(message_of([&] { read_file(folder / "none"); }) == folder / "none: cannot be read: No such file or directory");
  CHECK(message_of([&] { file_bytes(folder / "none"); }) == folder / "none: cannot be read: No such file or directory");
  CHECK(message_of([&] { list_dir(folder / "none"); }) == folder / "none: cannot be listed: No such file or directory");
  CHECK(message_of([&] { read_file(folder.path()); }) == folder.path() + ": is a folder, not a file");
  write_file(folder / "big", std::string(2048, 'x'));
  CHECK(message_of([&] { read_file(folder / "big", 1024); }) ==
        folder / "big: is too big: 2.0 KiB, at most 1.0 KiB are read");
  CHECK(read_file(folder / "big", 2048).size() == 2048);
  CHECK(message_of([] { read_file("/proc/self/maps", 16); }) ==
        "/proc/self/maps: is too big: it goes on, at most 16 bytes are read");
}

TEST_CASE("what cannot be written is a failed run, and names the file") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(write_file(folder / "none/x", "a"), RunFailed);
  const std::string message = message_of([&] { write_file(folder / "none/x", "a"); });
  CHECK(message.starts_with(folder / "none/x.tmp."));
  CHECK(message.ends_with("cannot be opened for writing: No such file or directory"));
}

TEST_CASE("a full disk is told with what is free") {
  const TemporaryFolder folder;
  write_file(folder / "x", "old");
  const FaultAt fault(1, ENOSPC);  // open, write
  const std::string message = message_of([&] { write_file(folder / "x", "new!"); });
  CHECK(message.find("x.tmp.") != std::string::npos);
  CHECK(message.find(": cannot write 4 bytes: No space left on device; ") != std::string::npos);
  CHECK(message.ends_with("B free; make room or choose another folder"));
}

TEST_CASE("an atomic file is whole under its name or not there, whichever call fails") {
  const TemporaryFolder folder;
  bool committed = false;
  for (int n = 0; !committed; ++n) {
    CAPTURE(n);
    REQUIRE(n < 20);
    write_file(folder / "x", "old");
    const FaultAt fault(n, EIO);
    try {
      write_file(folder / "x", "new");
      committed = true;
      CHECK(fault.calls == n);  // the fault lies behind the last call
    } catch (const RunFailed&) {
    }
    const std::string text = read_file(folder / "x");
    CHECK((text == "old" || text == "new"));
    CHECK(list_dir(folder.path()) == Words{"x"});
  }
  CHECK(read_file(folder / "x") == "new");
}

TEST_CASE("an atomic file that is not committed leaves nothing behind") {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "x");
    file.write("abc");
    CHECK(file.temporary() == folder / "x.tmp." + std::to_string(::getpid()));
    CHECK(exists(file.temporary()));
  }
  CHECK(list_dir(folder.path()).empty());
}

TEST_CASE("an atomic file is written at any offset") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("abcdef");
  file.write_at(2, std::as_bytes(std::span("XY", 2)));
  CHECK(file.size() == 6);
  file.write_at(8, std::as_bytes(std::span("Z", 1)));
  CHECK(file.size() == 9);
  file.write("!");
  file.commit();
  CHECK(read_file(folder / "x") == std::string("abXYef\0\0Z!", 10));
  CHECK_THROWS_AS(file.commit(), InternalError);
  CHECK_THROWS_AS(file.write("more"), InternalError);
}

TEST_CASE("folders are made with those above them") {
  const TemporaryFolder folder;
  make_dirs(folder / "a/b//c/");
  CHECK(is_folder(folder / "a/b/c"));
  CHECK_NOTHROW(make_dirs(folder / "a/b/c"));
  write_file(folder / "file", "");
  CHECK_FALSE(is_folder(folder / "file"));
  for (const char* name : {"file", "file/below"}) {
    CHECK(message_of([&] { make_dirs(folder / name); }) == folder / "file: the folder cannot be made: File exists");
  }
}

TEST_CASE("files are renamed and removed") {
  const TemporaryFolder folder;
  write_file(folder / "x", "1");
  write_file(folder / "y", "2");
  rename_file(folder / "x", folder / "y");
  CHECK(list_dir(folder.path()) == Words{"y"});
  CHECK(read_file(folder / "y") == "1");
  remove_file(folder / "y");
  CHECK_NOTHROW(remove_file(folder / "y"));
  CHECK(list_dir(folder.path()).empty());
  CHECK_THROWS_AS(rename_file(folder / "x", folder / "y"), RunFailed);
}

TEST_CASE("the folder of a path") {
  CHECK(folder_of("a/b") == "a");
  CHECK(folder_of("a//b//") == "a");
  CHECK(folder_of("b") == ".");
  CHECK(folder_of("/b") == "/");
  CHECK(folder_of("/") == "/");
  CHECK(folder_of("") == ".");
  CHECK(free_bytes("/tmp/none/there") > 0);
}

}  // namespace
}  // namespace strata
