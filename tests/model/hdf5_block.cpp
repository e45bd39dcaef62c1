// SPDX-License-Identifier: Apache-2.0
// The block and the digest: what is not as it was written is found, wherever it is, without libhdf5.
#include "model/hdf5_block.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"
#include "strata/strata.h"
#include "support/hdf5_files.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

std::string write_one(const std::string& path, std::int64_t step = 412) {
  Hdf5Writer out(path);
  for (int layer = 0; layer < 5; ++layer) {
    out.dataset(cat("layers/dense_", layer, "/vars/0"), numbers({{40, 50}, DType::float32}));
    out.fixed_attribute(cat("layers/dense_", layer, "/vars/0"), "path", cat("dense_", layer, "/kernel"));
    out.dataset(cat("layers/dense_", layer, "/vars/1"), numbers({{50}, DType::bfloat16}));
  }
  out.text("strata/config", std::string(3000, 'c'));
  out.close(step);
  return path;
}

// What is said on stderr meanwhile.
std::string said_by(const std::string& folder, const std::function<void()>& call) {
  const std::string file = folder + "/stderr";
  const int before = ::dup(2), to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(to, 2);
  call();
  ::dup2(before, 2);
  ::close(before);
  ::close(to);
  return read_file(file);
}

}  // namespace

TEST_CASE("a file of ours begins with a block of text, and the digest is of all that is not its line") {
  const TemporaryFolder folder;
  const std::string bytes = read_file(write_one(folder / "a.h5"));
  const auto said = lines(bytes.substr(0, 512));
  REQUIRE(said.size() == 6);
  CHECK(said[0] == "strata file; HDF5 begins at byte 512");
  CHECK(said[1] == "format 1");
  CHECK(said[2] == "step 412");
  CHECK(said[3] == cat("length ", bytes.size()));
  CHECK(bytes.substr(512, 8) == "\x89HDF\r\n\x1a\n");
  Digest digest;
  digest.add(bytes.substr(0, bytes.find("xxh3-128")));
  digest.add(std::string_view(bytes).substr(512));
  CHECK(said[4] == cat("xxh3-128 ", digest.hex()));
  FileBlock block;
  std::string why = "?";
  CHECK(check_file(folder / "a.h5", &block, &why) == FileState::whole);
  CHECK(why == "");
  CHECK(block.format == 1);
  CHECK(block.step == 412);
  CHECK(block.length == bytes.size());
  CHECK(block.digest == digest.hex());
}

TEST_CASE("each of 10,000 single bits turned is found") {
  const TemporaryFolder folder;
  const std::string path = write_one(folder / "a.h5");
  const std::uint64_t size = file_bytes(path);
  const int file = ::open(path.c_str(), O_RDWR);
  std::set<std::uint64_t> places;
  for (std::uint64_t bit = 0; bit < 512 * 8; bit += 4) places.insert(bit);                      // the block
  for (std::uint64_t bit = (size - 64) * 8; bit < size * 8; bit += 2) places.insert(bit);       // the end
  for (std::uint64_t i = 0; places.size() < 10'000; ++i) places.insert(mix64(i) % (size * 8));  // anywhere
  int found = 0;
  for (const std::uint64_t bit : places) {
    unsigned char byte = 0;
    REQUIRE(::pread(file, &byte, 1, static_cast<off_t>(bit / 8)) == 1);
    const auto bad = static_cast<unsigned char>(byte ^ (1U << (bit % 8)));
    REQUIRE(::pwrite(file, &bad, 1, static_cast<off_t>(bit / 8)) == 1);
    const FileState state = check_file(path);
    found += state == FileState::damaged ? 1 : 0;
    if (state != FileState::damaged) CHECK_MESSAGE(false, "bit ", bit, " turned is not found");
    REQUIRE(::pwrite(file, &byte, 1, static_cast<off_t>(bit / 8)) == 1);
  }
  CHECK(found == 10'000);
  CHECK(check_file(path) == FileState::whole);
  ::close(file);
}

TEST_CASE(
    "a file that was cut is found: at every 4 KiB, at each of the last 64 bytes and of the first 600; so is a longer "
    "one") {
  const TemporaryFolder folder;
  const std::string bytes = read_file(write_one(folder / "a.h5"));
  std::set<std::size_t> sizes;
  for (std::size_t size = 0; size < bytes.size(); size += 4096) sizes.insert(size);
  for (std::size_t cut = 1; cut <= 64; ++cut) sizes.insert(bytes.size() - cut);
  for (std::size_t size = 0; size < 600; ++size) sizes.insert(size);
  for (const std::size_t size : sizes) {
    write_raw(folder / "b.h5", bytes.substr(0, size));
    const FileState state = check_file(folder / "b.h5");
    CHECK_MESSAGE(state == (size < 37 ? FileState::foreign : FileState::damaged), size);  // 37: its first line
  }
  write_raw(folder / "b.h5", bytes + '\0');
  CHECK(check_file(folder / "b.h5") == FileState::damaged);
}

TEST_CASE("what is wrong is said; files of others are foreign; what cannot be read is an error") {
  const TemporaryFolder folder;
  std::string why;
  FileBlock block;
  auto state = [&](const std::string& bytes) {
    write_raw(folder / "b.h5", bytes);
    return check_file(folder / "b.h5", &block, &why);
  };
  std::string bytes = read_file(write_one(folder / "a.h5"));
  CHECK(state(bytes.substr(0, 5000)) == FileState::damaged);
  CHECK(why == cat("has 5000 bytes of ", bytes.size(), " that were written"));
  CHECK(block.step == 412);
  bytes[3000] = static_cast<char>(bytes[3000] + 1);
  CHECK(state(bytes) == FileState::damaged);
  CHECK(why.starts_with("its bytes are not those that were written: their digest is "));
  CHECK(why.ends_with(cat(", not ", block.digest)));
  CHECK(state(replace_all(bytes, "step 412", "step 413")) == FileState::damaged);
  CHECK(state(replace_all(bytes, "step 412", "step abc")) == FileState::damaged);
  CHECK(why == "its first 512 bytes are damaged");
  CHECK(state("") == FileState::foreign);
  CHECK(why == "is empty");
  CHECK(state("hello") == FileState::foreign);
  CHECK(why == "was not written by strata");
  foreign(folder / "c.h5", [](hid_t) {});
  CHECK(check_file(folder / "c.h5") == FileState::foreign);
  CHECK(check_file(STRATA_SOURCE_DIR "/tests/golden/weights/order.weights.h5") == FileState::foreign);
  CHECK(message_of([&] { check_file(folder / "none"); }) == cat(folder / "none", ": there is no such file"));
  CHECK(message_of([&] { check_file(folder.path()); }) == cat(folder.path(), ": is a folder, not a file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(message_of([&] { check_file(folder / "pipe"); }) == cat(folder / "pipe", ": is no plain file"));
  CHECK(message_of([&] { Hdf5Reader in(folder / "pipe"); }) == cat(folder / "pipe", ": is no plain file"));
  CHECK(message_of([&] { check_file("/dev/zero"); }) == "/dev/zero: is no plain file");
}

TEST_CASE("a step may be any number") {
  const TemporaryFolder folder;
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    FileBlock block;
    CHECK(check_file(write_one(folder / "a.h5", step), &block) == FileState::whole);
    CHECK(block.step == step);
  }
}

TEST_CASE("weights of a file of ours that is damaged, or was edited, are loaded with a warning") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.weights.h5";
  Sequential model({4}, {Dense{.units = 3}});
  model.save_weights(path);
  CHECK(said_by(folder.path(), [&] { model.load_weights(path); }) == "");
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);  // as h5py would edit it
  REQUIRE(file >= 0);
  const hid_t bias = H5Dopen2(file, "layers/dense/vars/1", H5P_DEFAULT);
  const float edited[] = {1, 2, 3};
  REQUIRE(H5Dwrite(bias, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, edited) >= 0);
  H5Dclose(bias);
  H5Fclose(file);
  CHECK(check_file(path) == FileState::damaged);
  const std::string said = said_by(folder.path(), [&] { model.load_weights(path); });
  CHECK(said.starts_with(cat("warning: ", path, ": is damaged, or was edited by another program: its bytes are not")));
  CHECK(said.ends_with("\n  its weights are loaded all the same\n"));
  CHECK(model.weight("dense/bias").to_doubles() == std::vector<double>{1, 2, 3});
}
