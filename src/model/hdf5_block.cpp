// SPDX-License-Identifier: Apache-2.0
#include "model/hdf5_block.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

constexpr std::string_view magic = "strata file; HDF5 begins at byte 512\n";
constexpr std::size_t wrong_letters = 4;  // a damaged magic is still ours

[[noreturn]] void unreadable(const std::string& path, const std::string& what) { throw Error(cat(path, ": ", what)); }

// Takes "<word> <value>\n" off the front of a text.
bool take(std::string_view& text, std::string_view word, std::string_view& value) {
  if (!text.starts_with(word) || text.size() <= word.size() || text[word.size()] != ' ') return false;
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return false;
  value = text.substr(word.size() + 1, end - word.size() - 1);
  text.remove_prefix(end + 1);
  return true;
}

template <class T> bool take_number(std::string_view& text, std::string_view word, T& number) {
  std::string_view value;
  if (!take(text, word, value)) return false;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size();
}

}  // namespace

std::string digested_head(const FileBlock& block) {
  return cat(magic, "format ", block.format, "\nstep ", block.step, "\nlength ", block.length, "\n");
}

std::string block_text(const FileBlock& block) {
  std::string text = cat(digested_head(block), "xxh3-128 ", block.digest, "\n");
  text.resize(block_bytes - 1, ' ');
  return text + "\n";
}

InputFile::InputFile(const std::string& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // a pipe must not make us wait
  if (descriptor_ < 0 && errno == ENOENT) unreadable(path, "there is no such file");
  if (descriptor_ < 0) unreadable(path, cat("cannot be read: ", std::generic_category().message(errno)));
  struct stat status = {};
  const int failed = ::fstat(descriptor_, &status) < 0 ? errno : 0;
  if (failed == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  if (failed != 0) unreadable(path, cat("cannot be read: ", std::generic_category().message(failed)));
  unreadable(path, S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is no plain file");
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

void InputFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(path_, cat("cannot be read: ", std::generic_category().message(errno)));
    if (got == 0) unreadable(path_, "cannot be read: it became shorter meanwhile");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

FileState check_file(const std::string& path, FileBlock* block, std::string* why) {
  const InputFile file(path);
  const auto is = [&](FileState state, const std::string& reason) {
    if (why) *why = reason;
    return state;
  };
  if (block) *block = {};
  std::string head(static_cast<std::size_t>(std::min(file.size(), block_bytes)), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < std::min(head.size(), magic.size()); ++i) wrong += head[i] != magic[i] ? 1 : 0;
  if (head.size() < magic.size() || wrong > wrong_letters)
    return is(FileState::foreign, head.empty() ? "is empty" : "was not written by strata");
  if (wrong > 0 || head.size() < block_bytes)
    return is(FileState::damaged,
              head.size() < block_bytes ? cat("ends after ", head.size(), " bytes") : "its first line is damaged");
  FileBlock read;
  std::string_view rest = std::string_view(head).substr(magic.size()), digest;
  if (!take_number(rest, "format", read.format) || !take_number(rest, "step", read.step) ||
      !take_number(rest, "length", read.length) || !take(rest, "xxh3-128", digest))
    return is(FileState::damaged, "its first 512 bytes are damaged");
  read.digest = digest;
  if (block_text(read) != head) return is(FileState::damaged, "its first 512 bytes are damaged");
  if (block) *block = read;
  if (read.length != file.size())
    return is(FileState::damaged, cat("has ", file.size(), " bytes of ", read.length, " that were written"));
  Digest digested;
  digested.add(digested_head(read));
  std::vector<std::byte> portion(1 << 20);
  for (std::uint64_t at = block_bytes; at < file.size();) {
    const auto part = std::span(portion).first(std::min<std::uint64_t>(portion.size(), file.size() - at));
    file.read(at, part);
    digested.add(part);
    at += part.size();
  }
  if (digested.hex() != read.digest)
    return is(FileState::damaged, cat("its bytes are not those that were written: their digest is ", digested.hex(),
                                      ", not ", read.digest));
  return is(FileState::whole, "");
}

}  // namespace strata
