// SPDX-License-Identifier: Apache-2.0
// Hostile HDF5 files, made here: each is read rightly or refused in words, soon; nothing of other files is read, and the
// program that asked goes on.
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

namespace {

using Fill = std::function<void(hid_t file)>;

struct Hostile {
  const char* name;
  Fill fill;
  std::string expected;  // what is said; "(no error)" for what is right after all
  bool newest = false;
};

const std::string linked = "is a link to somewhere else; links are not followed";
const std::string twice = "is a group that stands in two places, or in itself; that is not read";
const std::string fine = "(no error)";
const std::vector<double> ones(1000, 1.0);
std::string secret;  // a file that must not be read

hid_t group_in(hid_t where, const std::string& name) {
  return H5Gcreate2(where, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

void nest(hid_t file, int depth) {
  hid_t here = file;
  for (int i = 0; i < depth; ++i) {
    const hid_t next = group_in(here, "g");
    if (here != file) H5Gclose(here);
    here = next;
  }
  dataset(here, H5T_IEEE_F64LE, {2}, ones.data());
  H5Gclose(here);
}

Fill plain(hid_t type, std::vector<hsize_t> extents, std::function<void(hid_t)> plan = {}) {
  return [=](hid_t file) { dataset(file, type, extents, nullptr, plan); };
}

std::function<void(hid_t)> chunks(std::vector<hsize_t> chunk, bool deflate = false) {
  return [=](hid_t plan) {
    H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data());
    if (deflate) H5Pset_deflate(plan, 9);
  };
}

// Attribute "huge" of the dataset "x".
Fill attribute(std::function<hid_t()> type, hsize_t count, std::size_t bytes) {
  return [=](hid_t file) {
    dataset(file, H5T_IEEE_F64LE, {2}, ones.data());
    const hid_t space = H5Screate_simple(1, &count, nullptr), of = type();
    const hid_t made = H5Acreate_by_name(file, "x", "huge", of, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::vector<char> values(bytes, 0);
    H5Awrite(made, of, values.data());
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(of);
  };
}

hid_t text_of(std::size_t bytes) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, bytes);
  return type;
}

std::vector<Hostile> elsewhere() {
  auto external = [](std::vector<hsize_t> extents, hsize_t bytes) {
    return plain(H5T_STD_U8LE, extents, [=](hid_t plan) { H5Pset_external(plan, secret.c_str(), 0, bytes); });
  };
  auto virtual_of = [](const char* file) {
    return plain(H5T_IEEE_F64LE, {2}, [=](hid_t plan) {
      const hsize_t two = 2;
      const hid_t space = H5Screate_simple(1, &two, nullptr);
      H5Pset_virtual(plan, space, file, "x", space);
      H5Sclose(space);
    });
  };
  return {
      {"external storage", external({8}, 8), "'x': keeps its numbers in another file; that is not read"},
      {"endless external storage", external({1 << 20}, H5F_UNLIMITED),
       "'x': keeps its numbers in another file; that is not read"},
      {"external link", [](hid_t f) { H5Lcreate_external("other.h5", "x", f, "x", H5P_DEFAULT, H5P_DEFAULT); },
       "'x': " + linked},
      {"external link to itself",
       [](hid_t f) { H5Lcreate_external("hostile.h5", "x", f, "x", H5P_DEFAULT, H5P_DEFAULT); }, "'x': " + linked},
      {"soft link",
       [](hid_t f) {
         dataset(f, H5T_IEEE_F64LE, {2}, ones.data());
         H5Lcreate_soft("/x", f, "y", H5P_DEFAULT, H5P_DEFAULT);
       },
       "'y': " + linked},
      {"dangling soft link", [](hid_t f) { H5Lcreate_soft("/none", f, "x", H5P_DEFAULT, H5P_DEFAULT); },
       "'x': " + linked},
      {"soft links in a circle",
       [](hid_t f) {
         H5Lcreate_soft("/y", f, "x", H5P_DEFAULT, H5P_DEFAULT);
         H5Lcreate_soft("/x", f, "y", H5P_DEFAULT, H5P_DEFAULT);
       },
       "'x': " + linked},
      {"virtual dataset of another file", virtual_of("other.h5"), "'x': is a virtual dataset; that is not read", true},
      {"virtual dataset of itself", virtual_of("."), "'x': is a virtual dataset; that is not read", true},
  };
}

std::vector<Hostile> claims() {
  const std::string much = "'x': announces more numbers than there can be";
  return {
      {"shape bomb", plain(H5T_IEEE_F64LE, {1'100'000'000'000}),
       "'x': announces 8.0 TiB of numbers, but 0 bytes are stored"},
      {"shape bomb in chunks", plain(H5T_IEEE_F64LE, {1'100'000'000'000}, chunks({1000})),
       "'x': announces 8.0 TiB of numbers, but 0 bytes are stored"},
      {"shape bomb, packed", plain(H5T_IEEE_F64LE, {1'100'000'000'000}, chunks({1000}, true)),
       "'x': announces 8.0 TiB of numbers, but 0 bytes are stored"},
      {"product of the extents overflows", plain(H5T_IEEE_F64LE, {1ULL << 32, 1ULL << 32, 8}, chunks({1, 1, 8})), much},
      {"product of the extents overflows to nothing",
       plain(H5T_IEEE_F64LE, {1ULL << 31, 1ULL << 31, 4}, chunks({1, 1, 4})), much},
      {"bytes overflow", plain(H5T_IEEE_F64LE, {1ULL << 61}, chunks({8})), much},
      {"a gigabyte from a megabyte",
       [](hid_t f) {
         dataset(f, H5T_STD_U8LE, {1 << 20, 900}, nullptr, chunks({1 << 20, 1}, true));
         const hid_t set = H5Dopen2(f, "x", H5P_DEFAULT);
         const hsize_t begin[] = {0, 0};
         std::vector<std::uint8_t> random(1 << 20);
         for (std::size_t i = 0; i < random.size(); ++i) random[i] = static_cast<std::uint8_t>(mix64(i));
         H5Dwrite_chunk(set, H5P_DEFAULT, 1, begin, random.size(), random.data());  // "packed", but left as it is
         H5Dclose(set);
       },
       "'x': would be 900.0 MiB once unpacked; at most 258.0 MiB are read from this file"},
      {"9 axes", plain(H5T_IEEE_F64LE, std::vector<hsize_t>(9, 1)), "'x': has 9 axes; at most 8 can be read"},
      {"32 axes", plain(H5T_IEEE_F64LE, std::vector<hsize_t>(32, 1)), "'x': has 32 axes; at most 8 can be read"},
      {"no extent at all",
       [](hid_t f) {
         const hid_t s = H5Screate(H5S_NULL);
         H5Dclose(H5Dcreate2(f, "x", H5T_IEEE_F64LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
       },
       "'x': holds nothing, not even a scalar"},
      {"an extent of 0", plain(H5T_IEEE_F64LE, {0, 1ULL << 40}), fine},
      {"text of 4 GiB", plain(text_of(0xFFFFFFF0), {1}), "'x': announces 4.0 GiB of numbers, but 0 bytes are stored"},
      {"many texts", plain(text_of(8), {1ULL << 40}, chunks({8})), "'x': is not one text"},
  };
}

std::vector<Hostile> kinds_of_numbers() {
  auto no = [](std::size_t bytes) { return cat("'x': has a dtype that cannot be read (", bytes, " bytes each)"); };
  auto compound = [] {
    const hid_t type = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(type, "a", 0, H5T_IEEE_F64LE);
    H5Tinsert(type, "b", 8, H5T_STD_I64LE);
    return type;
  };
  const hsize_t three = 3;
  const hid_t names = H5Tenum_create(H5T_NATIVE_INT8);
  for (signed char i = 0; i < 3; ++i) H5Tenum_insert(names, cat("N", int{i}).c_str(), &i);
  return {
      {"texts of variable length",
       [](hid_t f) {
         const hid_t t = text_of(H5T_VARIABLE);
         const char* v[] = {"a", "b"};
         dataset(f, t, {2}, v);
       },
       no(8)},
      {"lists of variable length", plain(H5Tvlen_create(H5T_IEEE_F64LE), {2}), no(16)},
      {"compounds", plain(compound(), {2}), no(16)},
      {"arrays", plain(H5Tarray_create2(H5T_IEEE_F64LE, 1, &three), {2}), no(24)},
      {"references", plain(H5T_STD_REF_OBJ, {2}), no(8)},
      {"bit fields", plain(H5T_STD_B64LE, {2}), no(8)},
      {"times", plain(H5T_UNIX_D64LE, {2}), no(8)},
      {"long doubles", plain(H5T_NATIVE_LDOUBLE, {2}), no(16)},
      {"opaque bytes", plain(H5Tcreate(H5T_OPAQUE, 7), {2}), no(7)},
      {"an enumeration of three", plain(names, {2}), no(1)},
      {"a type that has a name",
       [](hid_t f) {
         const hid_t t = H5Tcopy(H5T_IEEE_F64LE);
         H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
         dataset(f, t, {2}, ones.data());
       },
       fine},
      {"a filter of others",
       plain(H5T_STD_I32LE, {1000},
             [](hid_t p) {
               chunks({100})(p);
               H5Pset_scaleoffset(p, H5Z_SO_INT, 0);
             }),
       "'x': uses filter 6; gzip, shuffle and fletcher32 can be read"},
      {"another filter of others",
       plain(H5T_STD_I32LE, {1000},
             [](hid_t p) {
               chunks({100})(p);
               H5Pset_nbit(p);
             }),
       "'x': uses filter 5; gzip, shuffle and fletcher32 can be read"},
      {"a filter nobody knows",
       plain(H5T_STD_I32LE, {1000},
             [](hid_t p) {
               chunks({100})(p);
               H5Pset_filter(p, 32000, H5Z_FLAG_OPTIONAL, 0, nullptr);
             }),
       "'x': uses filter 32000; gzip, shuffle and fletcher32 can be read"},
      {"many filters",
       plain(H5T_STD_U8LE, {1000},
             [](hid_t p) {
               chunks({100})(p);
               for (int i = 0; i < 30; ++i) H5Pset_fletcher32(p), H5Pset_shuffle(p);
             }),
       "'x': announces 1000 bytes of numbers, but 0 bytes are stored"},
  };
}

std::vector<Hostile> trees() {
  return {
      {"a group in itself",
       [](hid_t f) {
         const hid_t g = group_in(f, "g");
         H5Lcreate_hard(f, "/g", g, "g", H5P_DEFAULT, H5P_DEFAULT);
         H5Gclose(g);
       },
       "'g/g': " + twice},
      {"the root in itself", [](hid_t f) { H5Lcreate_hard(f, "/", f, "g", H5P_DEFAULT, H5P_DEFAULT); },
       "'g': " + twice},
      {"two groups in each other",
       [](hid_t f) {
         H5Gclose(group_in(f, "a"));
         H5Gclose(group_in(f, "b"));
         H5Lcreate_hard(f, "/b", f, "/a/b", H5P_DEFAULT, H5P_DEFAULT);
         H5Lcreate_hard(f, "/a", f, "/b/a", H5P_DEFAULT, H5P_DEFAULT);
       },
       "'a/b/a': " + twice},
      {"2^40 paths",
       [](hid_t f) {
         std::string above = "/";
         for (int i = 0; i < 40; ++i) {
           const std::string name = cat("/", i);
           H5Gclose(group_in(f, name));
           for (const char* side : {"l", "r"})
             H5Lcreate_hard(f, name.c_str(), f, (above == "/" ? cat("/", side) : cat(above, "/", side)).c_str(),
                            H5P_DEFAULT, H5P_DEFAULT);
           above = name;
         }
       },
       twice},
      {"64 levels", [](hid_t f) { nest(f, 63); }, fine},
      {"100 levels", [](hid_t f) { nest(f, 100); }, "is nested more than 64 deep"},
      {"5,000 levels", [](hid_t f) { nest(f, 5000); }, "is nested more than 64 deep"},
      {"one dataset in two places",
       [](hid_t f) {
         dataset(f, H5T_IEEE_F64LE, {2}, ones.data());
         H5Lcreate_hard(f, "/x", f, "y", H5P_DEFAULT, H5P_DEFAULT);
       },
       fine},
      {"a long name", [](hid_t f) { H5Gclose(group_in(f, std::string(5000, 'n'))); },
       "'/?': has a name of 5000 letters; at most 1023 can be read, and no '/'"},
      {"a huge attribute", attribute([] { return text_of(10 << 20); }, 1, 10 << 20),
       "'x': attribute huge is longer than 1.0 MiB", true},
      {"an attribute of many texts", attribute([] { return text_of(8); }, 7000, 56000),
       "'x': attribute huge is not one text"},
      {"an attribute of variable length", attribute([] { return text_of(H5T_VARIABLE); }, 1, 8),
       "'x': attribute huge is text of variable length, which is not read"},
      {"an attribute of references", attribute([] { return H5Tcopy(H5T_STD_REF_OBJ); }, 3, 24),
       "'x': attribute huge is no text"},
      {"5,000 attributes",
       [](hid_t f) {
         dataset(f, H5T_IEEE_F64LE, {2}, ones.data());
         const hid_t space = H5Screate(H5S_SCALAR);
         for (int i = 0; i < 5000; ++i)
           H5Aclose(H5Acreate_by_name(f, "x", cat("a", i).c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                                      H5P_DEFAULT));
         H5Sclose(space);
       },
       fine, true},
  };
}

struct Spent {
  double seconds;
  std::string said;
};
Spent timed(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  std::string said = explore(path);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), std::move(said)};
}

void check(const Hostile& hostile, const std::string& path) {
  CAPTURE(hostile.name);
  foreign(path, hostile.fill, hostile.newest);
  const Spent spent = timed(path);
  if (!spent.said.ends_with(hostile.expected)) CHECK(spent.said == hostile.expected);
  CHECK(spent.seconds < 2);
}

}  // namespace

TEST_CASE("hostile files: what lies elsewhere") {
  const TemporaryFolder folder;
  secret = folder / "secret";
  write_file(secret, std::string(4096, 'S'));
  foreign(folder / "other.h5", [](hid_t file) { dataset(file, H5T_IEEE_F64LE, {2}, ones.data()); });
  for (const Hostile& hostile : elsewhere()) check(hostile, folder / "hostile.h5");
}

TEST_CASE("hostile files: claims of more than there is") {
  const TemporaryFolder folder;
  for (const Hostile& hostile : claims()) check(hostile, folder / "hostile.h5");
}

TEST_CASE("hostile files: numbers and filters of other kinds") {
  const TemporaryFolder folder;
  for (const Hostile& hostile : kinds_of_numbers()) check(hostile, folder / "hostile.h5");
}

TEST_CASE("hostile files: trees that are none, names and attributes") {
  const TemporaryFolder folder;
  for (const Hostile& hostile : trees()) check(hostile, folder / "hostile.h5");
}

TEST_CASE("hostile files: no files, parts of files, names that bytes of a file pretend") {
  const TemporaryFolder folder;
  const std::string path = folder / "hostile.h5";
  const std::string good = read_file(foreign(path, [](hid_t file) {
    const hid_t group = group_in(file, "group_with_a_name");
    dataset(group, H5T_IEEE_F64LE, {100}, ones.data());
    dataset(
        group, H5T_IEEE_F64LE, {1000}, ones.data(),
        [](hid_t plan) {
          chunks({100})(plan);
          H5Pset_fletcher32(plan);
        },
        "checked");
    H5Gclose(group);
  }));
  auto said = [&](const std::string& bytes) {
    write_raw(path, bytes);
    const Spent spent = timed(path);
    CHECK(spent.seconds < 2);
    return spent.said;
  };
  const std::string signature = good.substr(0, 8),
                    damaged = "cannot be opened: it is damaged, or another program is writing it";
  CHECK(said(good) == fine);
  CHECK(said("") == "is no HDF5 file");
  CHECK(said("version: 1\n") == "is no HDF5 file");
  CHECK(said(std::string(1 << 20, '\0')) == "is no HDF5 file");
  CHECK(said(signature) == damaged);
  CHECK(said(signature + std::string(5000, '\xFF')) == damaged);
  CHECK(said(signature + std::string(5000, '\0')) == damaged);
  CHECK(said(std::string(1 << 20, '\0') + good) != "is no HDF5 file");  // a user block without a word of it within
  CHECK(said(good.substr(0, good.size() / 2)) == damaged);
  CHECK(said(good + good) == fine);
  for (const char* name : {"group/with_a_name", "/roup_with_a_nam/"})
    CHECK(said(replace_all(good, "group_with_a_name", name)).ends_with("at most 1023 can be read, and no '/'"));
  std::string dots = good;
  const auto at = dots.find("group_with_a_name");
  dots.replace(at, 3, std::string("..\0", 3));
  CHECK(said(dots).ends_with("at most 1023 can be read, and no '/'"));
  std::string wrong = good;  // the checksum tells
  wrong[wrong.rfind(std::string_view("\0\0\0\0\0\0\xF0\x3F", 8)) + 7] = 'A';
  CHECK(said(wrong) == "'group_with_a_name/checked': cannot be read: the file is damaged, or asks for too much memory");
  CHECK(explore(folder.path()) == "is a folder, not a file");
}
