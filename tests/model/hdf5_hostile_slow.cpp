// SPDX-License-Identifier: Apache-2.0
// Hostile HDF5 files that take long to make.
#include <doctest/doctest.h>

#include <chrono>

#include "strata/error.h"
#include "support/hdf5_files.h"
#include "support/temporary.h"

using namespace strata;
using namespace strata::test;

TEST_CASE("a chunk of 400 MiB in a file of 1 MiB, and 120,000 objects, are refused in time") {
  const TemporaryFolder folder;
  struct {
    const char* expected;
    std::function<void(hid_t)> fill;
  } files[] = {
      {"'x': cannot be read: the file is damaged, or asks for too much memory",
       [](hid_t file) {
         const hsize_t extent = 1000, most = H5S_UNLIMITED, chunk = 100 << 20;
         const hid_t plan = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &extent, &most);
         H5Pset_chunk(plan, 1, &chunk);
         H5Pset_deflate(plan, 1);
         const hid_t set = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
         const std::vector<float> values(1000, 1);
         REQUIRE(H5Dwrite(set, H5T_IEEE_F32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
         H5Dclose(set);
       }},
      {"has more than 100000 objects",
       [](hid_t file) {
         const double value = 1;
         dataset(file, H5T_IEEE_F64LE, {1}, &value);
         for (int i = 0; i < 120'000; ++i)
           H5Lcreate_hard(file, "/x", file, cat("y", i).c_str(), H5P_DEFAULT, H5P_DEFAULT);
       }},
  };
  for (const auto& [expected, fill] : files) {
    foreign(folder / "a.h5", fill);
    const auto start = std::chrono::steady_clock::now();
    const std::string said = explore(folder / "a.h5");
    const bool has_memory = STRATA_SANITIZED && said == "(no error)";  // no limit there
    CHECK_MESSAGE((said.ends_with(expected) || has_memory), said);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));  // of its own time 2 s
  }
}
