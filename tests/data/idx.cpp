// SPDX-License-Identifier: Apache-2.0
// IDX files: good ones read, damaged ones refused before memory is taken for what they claim.
#include <doctest/doctest.h>

#include <fstream>

#include <zlib.h>

#include "strata/datasets/idx.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;

namespace {

std::string header(int dtype, std::initializer_list<std::uint32_t> extents) {
  std::string text{0, 0, static_cast<char>(dtype), static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift & 0xFF);
  return text;
}

void plain(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
void packed(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  gzclose(file);
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string images = header(8, {3, 2, 2}) + std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\xFF", 12);
const std::string labels = header(8, {3}) + std::string("\x00\x02\x01", 3);

}  // namespace

TEST_CASE("images get a channel axis, labels their classes; gzip or not") {
  const test::TemporaryFolder folder;
  plain(folder / "images", images);
  packed(folder / "labels.gz", labels);
  const auto reader = datasets::IDX{.images = "images", .labels = "labels.gz", .directory = folder.path()}.open();
  CHECK(reader->size() == 3);
  CHECK(to_text(reader->fields()[0].type) == "uint8[2, 2, 1]");
  CHECK(reader->fields()[1].classes == 3);
  std::uint8_t image[4], label = 0;
  void* const out[] = {image, &label};
  reader->read(2, out);
  CHECK(image[3] == 255);
  CHECK(label == 1);
}

TEST_CASE("numbers wider than a byte are turned from big-endian") {
  const test::TemporaryFolder folder;
  plain(folder / "x", header(0x0D, {1, 2}) + std::string("\x3F\x80\x00\x00\xC0\x00\x00\x00", 8));
  const auto reader = datasets::IDX{.images = folder / "x"}.open();
  float values[2];
  void* const out[] = {values};
  reader->read(0, out);
  CHECK(values[0] == 1.0F);
  CHECK(values[1] == -2.0F);
}

TEST_CASE("every dtype of the format is read; small numbers with a sign become int32") {
  const test::TemporaryFolder folder;
  auto read = [&](int code, const std::string& bytes) {
    plain(folder / "x", header(code, {2, 1}) + bytes);
    const auto reader = datasets::IDX{.images = folder / "x"}.open();
    Tensor row(Type{{1}, reader->fields()[0].type.dtype});
    void* const out[] = {row.host_data()};
    reader->read(1, out);
    return cat(row.dtype(), " ", row.to_doubles()[0]);
  };
  CHECK(read(0x08, std::string("\x01\xFF", 2)) == "uint8 255");
  CHECK(read(0x09, std::string("\x01\xFF", 2)) == "int32 -1");
  CHECK(read(0x0B, std::string("\x00\x01\xFE\x00", 4)) == "int32 -512");
  CHECK(read(0x0C, std::string("\x00\x00\x00\x01\xFF\xFF\xFF\xFE", 8)) == "int32 -2");
  CHECK(read(0x0D, std::string("\x00\x00\x00\x01\xC0\x20\x00\x00", 8)) == "float32 -2.5");
  CHECK(read(0x0E, std::string(8, '\0') + std::string("\xBF\xE0\x00\x00\x00\x00\x00\x00", 8)) == "float64 -0.5");
}

TEST_CASE("labels that are no whole numbers are numbers to predict, not classes") {
  const test::TemporaryFolder folder;
  plain(folder / "images", images);
  plain(folder / "y", header(0x0D, {3}) + std::string(12, '\0'));
  const auto reader = datasets::IDX{.images = folder / "images", .labels = folder / "y"}.open();
  CHECK(reader->fields()[1].type.dtype == DType::float32);
  CHECK(reader->fields()[1].classes == 0);
}

TEST_CASE("what is wrong with a file is said, with both values") {
  const test::TemporaryFolder folder;
  const auto said = [&](const std::string& bytes, const std::string& label_bytes = labels) {
    plain(folder / "images", bytes);
    plain(folder / "labels", label_bytes);
    std::string message =
        test::message_of([&] { (void)datasets::IDX{.images = folder / "images", .labels = folder / "labels"}.open(); });
    for (std::size_t at; (at = message.find(folder.path() + "/")) != std::string::npos;)
      message.erase(at, folder.path().size() + 1);
    return message;
  };
  CHECK(said(images) == "(no error)");
  CHECK(said("PK\x03\x04").find("images: is no IDX file: it begins with bytes 80 75, not 0 0") == 0);
  CHECK(said(header(10, {3})) ==
        "images: byte 2, the dtype, is 10; IDX knows 8 (uint8), 9 (int8), 11 (int16), 12 (int32), 13 (float32) and 14 "
        "(float64)");
  CHECK(said(images, header(9, {3}) + std::string("\x00\xFE\x01", 3)) ==
        "labels: row 1: label -2 is negative; classes count from 0");
  CHECK(said(header(8, {})) == "images: has 0 axes; 1 to 8 can be read");
  CHECK(said(images.substr(0, 20)) ==
        "images: ends after 20 bytes, in the middle of the numbers; 8 more are announced");
  CHECK(said(images.substr(0, 6)).find("images: ends after 6 bytes, in the middle of the header") == 0);
  CHECK(said(images + "x") == "images: goes on after the 28 bytes its header announces");
  CHECK(said(header(8, {0xFFFFFFFF, 0xFFFFFFFF, 4})) ==
        "images: announces more than 16.0 GiB of numbers: 4294967295 along axis 1 after 4294967295");
  CHECK(
      said(header(8, {60000, 28, 28})).find("images: announces 47040000 bytes of numbers, but the file has only 16") ==
      0);
  CHECK(said(images, header(8, {2}) + std::string("\x00\x01", 2)) == "labels: 2 labels for 3 images in images");
  CHECK(said(images, images) == "labels: labels are one number a row, got [3, 2, 2]");
  CHECK(test::message_of([&] {
          (void)datasets::IDX{.images = folder / "none"}.open();
        }).find("none: there is no such file") != std::string::npos);
  plain(folder / "labels", labels);
  CHECK(test::message_of([&] {
          (void)datasets::IDX{.images = folder / "images", .labels = folder / "labels", .classes = 2}.open();
        }) == cat(folder / "labels", ": row 1: label 2, but classes is 2"));
}

TEST_CASE("every bit flipped in a gzipped file is refused or read as something, never worse") {
  const test::TemporaryFolder folder;
  packed(folder / "good.gz", images);
  const std::string good = contents(folder / "good.gz");
  int refused = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    plain(folder / "bad.gz", bad);
    refused += test::message_of([&] { (void)datasets::IDX{.images = folder / "bad.gz"}.open(); }) != "(no error)";
  }
  // A few bits of gzip's header (time, system) carry nothing.
  CHECK(refused > static_cast<int>(good.size() * 8) * 3 / 4);
  for (std::size_t size = 0; size < good.size(); ++size) {
    plain(folder / "cut.gz", good.substr(0, size));
    CHECK(test::message_of([&] { (void)datasets::IDX{.images = folder / "cut.gz"}.open(); }) != "(no error)");
  }
}
