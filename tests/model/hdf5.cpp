// SPDX-License-Identifier: Apache-2.0
// HDF5 files: what is written reads back and has Keras's encodings; what others made is read, or refused in words.
#include "model/hdf5.h"

#include <doctest/doctest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/file.h"
#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/message.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

const std::vector<DType> dtypes{DType::float32, DType::float16, DType::bfloat16, DType::float64,
                                DType::int32,   DType::int64,   DType::uint8,    DType::boolean};

// What reading "x" gives: dtype, shape and numbers, or the message without the folder.
std::string read_x(const std::string& path) {
  try {
    const Tensor tensor = Hdf5Reader(path).read("x");
    std::string text = to_text(tensor.type());
    for (const double value : tensor.to_doubles()) text += cat(" ", value);
    return text;
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.substr(message.find(".h5: ") + 5);
  }
}

}  // namespace

TEST_CASE("every dtype and shape reads back as it was written") {
  const test::TemporaryFolder folder;
  const std::vector<Shape> shapes{{}, {1}, {7}, {0}, {3, 0, 2}, {2, 3, 4}, {1, 2, 1, 2, 1, 2, 1, 2}};
  Hdf5Writer out(folder / "a.h5");
  for (const DType dtype : dtypes)
    for (std::size_t i = 0; i < shapes.size(); ++i) out.dataset(cat("g/", dtype, "/", i), numbers({shapes[i], dtype}));
  out.close();
  const Hdf5Reader in(folder / "a.h5");
  for (const DType dtype : dtypes)
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      CAPTURE(cat(dtype, shapes[i]));
      CHECK(same(in.read(cat("g/", dtype, "/", i)), numbers({shapes[i], dtype})));
    }
  CHECK(in.datasets_under("").size() == dtypes.size() * shapes.size());
  CHECK(in.datasets_under("g/int32").size() == shapes.size());
  CHECK(in.datasets_under("g/int32/0").empty());
  CHECK(in.datasets_under("nowhere").empty());
}

TEST_CASE(
    "files have the encodings of Keras's: superblock 0, contiguous, bfloat16 as opaque bytes, booleans as h5py's") {
  const test::TemporaryFolder folder;
  Hdf5Writer out(folder / "a.h5");
  for (const DType dtype : dtypes) out.dataset(to_text(dtype), numbers({{2, 3}, dtype}));
  out.group("layers/dense");
  out.attribute("layers/dense", "name", "mein_Gewicht_\xC3\xA4");
  out.fixed_attribute("int32", "path", "layer/Gewicht_\xC3\xA4");
  out.fixed_attribute("int64", "path", "");
  out.close();

  const hid_t file = H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5F_info2_t about{};
  REQUIRE(H5Fget_info2(file, &about) >= 0);
  CHECK(about.super.version == 0);
  auto type_of = [&](DType dtype) {
    const hid_t set = H5Dopen2(file, to_text(dtype).c_str(), H5P_DEFAULT), plan = H5Dget_create_plist(set);
    CHECK(H5Pget_layout(plan) == H5D_CONTIGUOUS);
    return H5Dget_type(set);
  };
  CHECK(H5Tequal(type_of(DType::float32), H5T_IEEE_F32LE) > 0);
  CHECK(H5Tequal(type_of(DType::float64), H5T_IEEE_F64LE) > 0);
  CHECK(H5Tequal(type_of(DType::int32), H5T_STD_I32LE) > 0);
  CHECK(H5Tequal(type_of(DType::int64), H5T_STD_I64LE) > 0);
  CHECK(H5Tequal(type_of(DType::uint8), H5T_STD_U8LE) > 0);
  const hid_t half = type_of(DType::float16);
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  H5Tget_fields(half, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
  CHECK(std::vector<std::size_t>{sign, exponent, exponent_bits, mantissa, mantissa_bits, H5Tget_ebias(half)} ==
        std::vector<std::size_t>{15, 10, 5, 0, 10, 15});
  CHECK(H5Tget_class(type_of(DType::bfloat16)) == H5T_OPAQUE);
  CHECK(H5Tget_size(type_of(DType::bfloat16)) == 2);
  signed char value = -1;
  CHECK(H5Tenum_valueof(type_of(DType::boolean), "TRUE", &value) >= 0);
  CHECK(value == 1);
  const hid_t name = H5Aopen_by_name(file, "layers/dense", "name", H5P_DEFAULT, H5P_DEFAULT);
  char* text = nullptr;
  CHECK(H5Tis_variable_str(H5Aget_type(name)) > 0);
  CHECK(H5Tget_cset(H5Aget_type(name)) == H5T_CSET_UTF8);
  REQUIRE(H5Aread(name, H5Aget_type(name), &text) >= 0);
  CHECK(std::string(text) == "mein_Gewicht_\xC3\xA4");
  H5free_memory(text);
  H5Fclose(file);

  const Hdf5Reader in(folder / "a.h5");
  CHECK(in.attribute("int32", "path") == "layer/Gewicht_\xC3\xA4");
  CHECK(in.attribute("int64", "path") == "");
  CHECK(in.has_attribute("bfloat16", "dtype"));
  CHECK(message_of([&] {
          (void)in.attribute("layers/dense", "name");
        }).ends_with("'layers/dense': attribute name is text of variable length, which is not read"));
  CHECK(in.has_attribute("layers/dense", "name"));
  CHECK_FALSE(in.has_attribute("layers/dense", "path"));
  CHECK_FALSE(in.has_attribute("layers/none", "name"));
}

TEST_CASE("a file appears whole, under its name, at the end; a second one replaces it") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  {
    Hdf5Writer out(path);
    out.dataset("x", numbers({{3}, DType::float32}));
    CHECK_FALSE(exists(path));
  }  // never closed
  CHECK(list_dir(folder.path()).empty());
  for (const std::int64_t size : {3, 4}) {
    Hdf5Writer out(path);
    out.dataset("x", numbers({{size}, DType::float32}));
    out.close();
    CHECK(Hdf5Reader(path).read("x").shape() == Shape{size});
  }
  CHECK(list_dir(folder.path()) == std::vector<std::string>{"a.h5"});
}

TEST_CASE("a disk that is full fails the writing, and leaves what was there") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  Hdf5Writer before(path);
  before.dataset("x", numbers({{3}, DType::float32}));
  before.close();
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 10'000;
  std::string said;
  bool run_failed = false;
  {
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      Hdf5Writer out(path);
      out.dataset("y", numbers({{100'000}, DType::float32}));
      out.close();
    } catch (const RunFailed& failure) {
      run_failed = true;
      said = failure.what();
    }
    setrlimit(RLIMIT_FSIZE, &old);
  }
  std::signal(SIGXFSZ, handler);
  CHECK(run_failed);
  CHECK(said.find(path) == 0);
  CHECK(list_dir(folder.path()) == std::vector<std::string>{"a.h5"});
  CHECK(same(Hdf5Reader(path).read("x"), numbers({{3}, DType::float32})));
}

TEST_CASE("numbers of other encodings are read as what holds all of their values") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  auto read = [&](hid_t type, const void* values) {
    return read_x(foreign(path, [&](hid_t file) { dataset(file, type, {2}, values); }));
  };
  const std::int8_t bytes[] = {-1, 100};
  CHECK(read(H5T_STD_I8LE, bytes) == "int32[2] -1 100");
  const std::uint16_t shorts[] = {65535, 1};
  CHECK(read(H5T_STD_U16LE, shorts) == "int32[2] 65535 1");
  const std::uint32_t words[] = {4294967295, 1};
  CHECK(read(H5T_STD_U32LE, words) == "int64[2] 4294967295 1");
  const std::uint8_t big[] = {0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 0, 7};
  CHECK(read(H5T_STD_I32BE, big) == "int32[2] -2 7");
  const std::uint8_t big_floats[] = {0xC0, 0x20, 0, 0, 0x3F, 0x80, 0, 0};
  CHECK(read(H5T_IEEE_F32BE, big_floats) == "float32[2] -2.5 1");
  const std::uint64_t huge[] = {1, 2};
  CHECK(read(H5T_STD_U64LE, huge) == "'x': has a dtype that cannot be read (8 bytes each)");
  CHECK(read(H5T_NATIVE_LDOUBLE, std::vector<long double>{1, 2}.data()).find("has a dtype that cannot be read") !=
        std::string::npos);
  const hid_t opaque = H5Tcreate(H5T_OPAQUE, 2);  // Keras's bfloat16, but nothing says so
  CHECK(read(opaque, shorts) == "'x': has a dtype that cannot be read (2 bytes each)");
  const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t number = 0;
  H5Tenum_insert(boolean, "FALSE", &number);
  number = 1;
  H5Tenum_insert(boolean, "TRUE", &number);
  const std::int8_t both[] = {1, 0}, wrong[] = {1, 3};
  CHECK(read(boolean, both) == "bool[2] 1 0");
  CHECK(read(boolean, wrong) == "'x': should hold false and true, and holds other values");
}

TEST_CASE("packed datasets are read; filters of others are not") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const std::vector<float> values(1000, 1.5F);
  const hsize_t chunk = 100;
  auto packed = [&](const std::function<void(hid_t)>& filters) {
    return read_x(foreign(path,
                          [&](hid_t file) {
                            dataset(file, H5T_IEEE_F32LE, {1000}, values.data(), [&](hid_t plan) {
                              H5Pset_chunk(plan, 1, &chunk);
                              filters(plan);
                            });
                          }))
        .substr(0, 61);
  };
  CHECK(packed([](hid_t plan) {
          H5Pset_shuffle(plan);
          H5Pset_deflate(plan, 9);
          H5Pset_fletcher32(plan);
        }).find("float32[1000] 1.5 1.5") == 0);
  CHECK(packed([](hid_t) {}).find("float32[1000] 1.5 1.5") == 0);
  CHECK(packed([](hid_t plan) { H5Pset_scaleoffset(plan, H5Z_SO_FLOAT_DSCALE, 2); }) ==
        "'x': uses filter 6; gzip, shuffle and fletcher32 can be read");
}

TEST_CASE("what lies outside the file is not fetched") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const float value = 1;
  write_file(folder / "secret", std::string(8, 'x'));
  CHECK(read_x(foreign(path, [&](hid_t file) {
          dataset(file, H5T_IEEE_F32LE, {2}, nullptr,
                  [&](hid_t plan) { H5Pset_external(plan, (folder / "secret").c_str(), 0, 8); });
        })) == "'x': keeps its numbers in another file; that is not read");
  CHECK(read_x(foreign(path, [&](hid_t file) {
          dataset(file, H5T_IEEE_F32LE, {2}, nullptr, [&](hid_t plan) {
            const hsize_t two = 2;
            const hid_t space = H5Screate_simple(1, &two, nullptr);
            H5Pset_virtual(plan, space, "other.h5", "x", space);
          });
        })) == "'x': is a virtual dataset; that is not read");
  const std::string linked = "'x': is a link to somewhere else; links are not followed";
  CHECK(read_x(foreign(path, [&](hid_t file) {
          H5Lcreate_external("other.h5", "x", file, "x", H5P_DEFAULT, H5P_DEFAULT);
        })).ends_with("is a link to somewhere else; links are not followed"));
  foreign(path, [&](hid_t file) {
    const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    dataset(group, H5T_IEEE_F32LE, {1}, &value);
    H5Gclose(group);
    H5Lcreate_soft("/g", file, "h", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Hdf5Reader in(path);
  CHECK(in.read("g/x").to_doubles() == std::vector<double>{1});
  CHECK(message_of([&] { (void)in.read("h/x"); }).ends_with("is a link to somewhere else; links are not followed"));
  CHECK(message_of([&] {
          (void)in.datasets_under("");
        }).ends_with("is a link to somewhere else; links are not followed"));
}

TEST_CASE("a circle of groups, a claim without numbers, a thing that is no array: each is refused") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  foreign(path, [](hid_t file) {
    const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/g", group, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
  });
  CHECK(message_of([&] {
          (void)Hdf5Reader(path).datasets_under("");
        }).ends_with("'g/again': is a group that stands in two places, or in itself; that is not read"));
  CHECK(read_x(foreign(path, [](hid_t file) { dataset(file, H5T_IEEE_F32LE, {1'000'000'000}, nullptr); })) ==
        "'x': announces 3.7 GiB of numbers, but 0 bytes are stored");
  CHECK(read_x(foreign(path, [](hid_t file) {
          dataset(file, H5T_IEEE_F32LE, {1'000'000'000}, nullptr, [](hid_t plan) {
            const hsize_t chunk = 1000;
            H5Pset_chunk(plan, 1, &chunk);
            H5Pset_deflate(plan, 9);
          });
        })) == "'x': announces 3.7 GiB of numbers, but 0 bytes are stored");
  CHECK(read_x(foreign(path, [](hid_t file) {
          const hid_t space = H5Screate(H5S_NULL);
          H5Dclose(H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        })) == "'x': holds nothing, not even a scalar");
  CHECK(read_x(foreign(path, [](hid_t file) {
          dataset(file, H5T_IEEE_F32LE, {1, 1, 1, 1, 1, 1, 1, 1, 1}, nullptr);
        })) == "'x': has 9 axes; at most 8 can be read");
  CHECK(read_x(foreign(path, [](hid_t file) {
          H5Gclose(H5Gcreate2(file, "x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        })) == "'x': is no dataset");
  CHECK(read_x(foreign(path, [](hid_t) {})) == "'x': is not in the file");
}

TEST_CASE("files that are none, or hurt, are refused and never worse") {
  const test::TemporaryFolder folder;
  CHECK(message_of([&] { const Hdf5Reader in(folder / "none.h5"); }) ==
        cat(folder / "none.h5", ": there is no such file"));
  write_file(folder / "text.h5", "hello");
  CHECK(message_of([&] { const Hdf5Reader in(folder / "text.h5"); }) == cat(folder / "text.h5", ": is no HDF5 file"));

  Hdf5Writer out(folder / "good.h5");
  out.dataset("g/x", numbers({{5, 5}, DType::float32}));
  out.attribute("g", "name", "g");
  out.fixed_attribute("g/x", "path", "layer/kernel");
  out.close();
  const std::string good = read_file(folder / "good.h5");
  auto look = [&](const std::string& bytes) {
    std::ofstream(folder / "bad.h5", std::ios::binary) << bytes;
    return message_of([&] {
      const Hdf5Reader in(folder / "bad.h5");
      for (const auto& path : in.datasets_under("")) (void)in.read(path);
      if (in.has_attribute("g/x", "path")) (void)in.attribute("g/x", "path");
    });
  };
  CHECK(look(good) == "(no error)");
  for (std::size_t size = 0; size < good.size(); size += 97) CHECK(look(good.substr(0, size)) != "(no error)");
  for (std::size_t at = 0; at < good.size(); at += 31) {
    std::string bad = good;
    bad[at] = static_cast<char>(~bad[at]);
    const std::string said = look(bad);  // where the numbers lie, nothing tells
    CHECK((said == "(no error)" || said.find("bad.h5: ") != std::string::npos));
  }
}
