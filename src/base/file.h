// SPDX-License-Identifier: Apache-2.0
// Files: reading whole ones, and writing so that a name always holds a whole file. A file that cannot be read is the
// caller's mistake (Error), one that cannot be written the run's failure (RunFailed); both name the file and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

bool exists(const std::string& path);
bool is_folder(const std::string& path);
std::uint64_t file_bytes(const std::string& path);  // Error when there is no such file
std::string read_file(const std::string& path, std::uint64_t most_bytes = std::uint64_t{1} << 30);
void write_file(const std::string& path, std::string_view text);      // through an AtomicFile
void append_to_file(const std::string& path, std::string_view text);  // made when missing; one write, no sync
std::vector<std::string> list_dir(const std::string& path);           // names, sorted, without . and ..
void make_dirs(const std::string& path);                              // and those above it; one that is there is fine
void remove_file(const std::string& path);                            // one that is not there is fine
void rename_file(const std::string& from, const std::string& to);     // replaces what is there, and syncs to's folder
// `to` becomes a second name of the file, replacing what is there; a copy where the file system has no such names.
void link_file(const std::string& from, const std::string& to);
std::uint64_t free_bytes(const std::string& path);  // on the file system that holds it, or would; 0 if unknown
std::string folder_of(const std::string& path);     // "a/b" -> "a", "b" -> ".", "/b" -> "/"

// A file written beside its final name (path.tmp.<pid>) and moved there by commit(), so that a reader, a crash or a full
// disk never sees a part of it. Destroyed before commit(), it leaves nothing behind. Not for two threads at once.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);  // at the end
  void write(std::string_view text);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Syncs the file, renames it, syncs its folder. When it throws, the old file still stands under the name, unless the
  // folder alone could not be synced. Call it once.
  void commit();

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }  // for a library that opens the file itself
  std::uint64_t size() const { return size_; }                 // end of what was written through this object

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// For tests: asked before each system call that changes a file (open write fsync rename unlink mkdir link flock), with
// the path; a number other than 0 makes that call fail with it as errno. An empty function ends it.
using FileFault = std::function<int(std::string_view call, const std::string& path)>;
void set_file_fault(FileFault fault);

}  // namespace strata
