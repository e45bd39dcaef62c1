// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/file_call.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {
namespace {

FileFault file_fault;

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void unreadable(const std::string& path, const std::string& what) { throw Error(cat(path, ": ", what)); }

// So that the name itself survives a power cut. File systems that cannot sync a folder say EINVAL; that is no failure.
void sync_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor open(
      changing("open", folder, [&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (open.number() < 0) unwritable(folder, "cannot be opened to sync it", errno);
  if (changing("fsync", folder, [&] { return ::fsync(open.number()); }) < 0 && errno != EINVAL) {
    unwritable(folder, "cannot be synced", errno);
  }
}

struct stat status_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) < 0) unreadable(path, cat("cannot be read: ", reason(errno)));
  return status;
}

}  // namespace

void set_file_fault(FileFault fault) { file_fault = std::move(fault); }

int asked_fault(std::string_view call, const std::string& path) { return file_fault ? file_fault(call, path) : 0; }

void unwritable(const std::string& path, std::string_view what, int error) {
  std::string message = cat(path, ": ", what, ": ", reason(error));
  if (error == ENOSPC || error == EDQUOT) {
    message += cat("; ", bytes_text(free_bytes(path)), " free; make room or choose another folder");
  }
  throw RunFailed(message);
}

void write_all(int descriptor, const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::size_t wanted = bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = changing(
        "write", path, [&] { return ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written < 0) unwritable(path, cat("cannot write ", bytes_text(wanted)), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::uint64_t file_bytes(const std::string& path) { return static_cast<std::uint64_t>(status_of(path).st_size); }

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) unreadable(path, cat("cannot be read: ", reason(errno)));
  struct stat status = {};
  if (::fstat(file.number(), &status) < 0) unreadable(path, cat("cannot be read: ", reason(errno)));
  if (S_ISDIR(status.st_mode)) unreadable(path, "is a folder, not a file");
  const auto too_big = [&](std::string_view size) {
    unreadable(path, cat("is too big: ", size, ", at most ", bytes_text(most_bytes), " are read"));
  };
  const auto told = static_cast<std::uint64_t>(status.st_size);
  if (told > most_bytes) too_big(bytes_text(told));

  // Read to the end whatever the size said: pipes and /proc tell none, and a file may grow meanwhile.
  std::string text;
  text.reserve(told + 1);
  constexpr std::size_t least = 64 * 1024;
  for (;;) {
    const std::size_t have = text.size();
    text.resize(std::max<std::size_t>(have + least, told + 1));
    const ssize_t got = ::read(file.number(), text.data() + have, text.size() - have);
    if (got < 0 && errno != EINTR) unreadable(path, cat("cannot be read: ", reason(errno)));
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (text.size() > most_bytes) too_big("it goes on");
    if (got == 0) return text;
  }
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void append_to_file(const std::string& path, std::string_view text) {
  const Descriptor file(
      changing("open", path, [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }));
  if (file.number() < 0) unwritable(path, "cannot be opened for writing", errno);
  while (!text.empty()) {
    const ssize_t written = changing("write", path, [&] { return ::write(file.number(), text.data(), text.size()); });
    if (written < 0) unwritable(path, cat("cannot write ", bytes_text(text.size())), errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::vector<std::string> list_dir(const std::string& path) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> folder(::opendir(path.c_str()), close);
  if (!folder) unreadable(path, cat("cannot be listed: ", reason(errno)));
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (!entry && errno != 0) unreadable(path, cat("cannot be listed: ", reason(errno)));
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void make_dirs(const std::string& path) {
  if (path.empty() || is_folder(path)) return;
  const std::string above = folder_of(path);
  if (above != path) make_dirs(above);
  if (changing("mkdir", path, [&] { return ::mkdir(path.c_str(), 0777); }) < 0 &&
      !(errno == EEXIST && is_folder(path))) {
    unwritable(path, "the folder cannot be made", errno);
  }
}

void remove_file(const std::string& path) {
  if (changing("unlink", path, [&] { return ::unlink(path.c_str()); }) < 0 && errno != ENOENT) {
    unwritable(path, "cannot be removed", errno);
  }
}

void rename_file(const std::string& from, const std::string& to) {
  if (changing("rename", from, [&] { return ::rename(from.c_str(), to.c_str()); }) < 0) {
    unwritable(to, cat("cannot be moved there from ", from), errno);
  }
  sync_folder(to);
}

void link_file(const std::string& from, const std::string& to) {
  const std::string beside = cat(to, ".tmp.", ::getpid());
  ::unlink(beside.c_str());
  if (changing("link", beside, [&] { return ::link(from.c_str(), beside.c_str()); }) == 0) {
    // Two names of one file: rename would leave both.
    struct stat one = {}, other = {};
    if (::stat(from.c_str(), &one) == 0 && ::stat(to.c_str(), &other) == 0 && one.st_ino == other.st_ino &&
        one.st_dev == other.st_dev) {
      ::unlink(beside.c_str());
      return;
    }
    return rename_file(beside, to);
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK && errno != EXDEV)
    unwritable(to, cat("cannot be linked to ", from), errno);
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.number() < 0) unreadable(from, cat("cannot be read: ", reason(errno)));
  AtomicFile copy(to);
  std::vector<std::byte> piece(1 << 20);
  for (;;) {
    const ssize_t got = ::read(source.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(from, cat("cannot be read: ", reason(errno)));
    if (got == 0) break;
    copy.write(std::span<const std::byte>(piece.data(), static_cast<std::size_t>(got)));
  }
  copy.commit();
}

std::uint64_t free_bytes(const std::string& path) {
  std::string place = path;
  struct statvfs status = {};
  while (::statvfs(place.c_str(), &status) < 0) {
    const std::string above = folder_of(place);
    if (above == place) return 0;
    place = above;
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

std::string folder_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const std::size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(cat(path_, ".tmp.", ::getpid())) {
  descriptor_ = changing("open", temporary_,
                         [&] { return ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) unwritable(temporary_, "cannot be opened for writing", errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_at(size_, bytes); }

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  STRATA_CHECK(descriptor_ >= 0, path_, " was committed already");
  write_all(descriptor_, temporary_, offset, bytes);
  size_ = std::max(size_, offset + bytes.size());
}

void AtomicFile::commit() {
  STRATA_CHECK(descriptor_ >= 0, path_, " was committed already");
  if (changing("fsync", temporary_, [&] { return ::fsync(descriptor_); }) < 0) {
    unwritable(temporary_, "cannot be synced to the disk", errno);
  }
  if (changing("rename", temporary_, [&] { return ::rename(temporary_.c_str(), path_.c_str()); }) < 0) {
    unwritable(path_, cat("cannot be moved there from ", temporary_), errno);
  }
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(path_);
}

}  // namespace strata
