// SPDX-License-Identifier: Apache-2.0
#include "support/hdf5_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/file.h"
#include "base/text.h"
#include "model/hdf5.h"
#include "strata/error.h"
#include "support/temporary.h"

namespace strata::test {

namespace {

// Before any other call of libhdf5, whichever test comes first: its handler at exit crashes after a failed write.
const herr_t without_handler = H5dont_atexit();

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

}  // namespace

Tensor numbers(const Type& type) {
  Tensor tensor(type);
  auto* bytes = static_cast<std::uint8_t*>(tensor.host_data());
  for (std::size_t i = 0; i < tensor.bytes(); ++i)
    bytes[i] = static_cast<std::uint8_t>(type.dtype == DType::boolean ? i % 2 : i * 37 + 11 + (i >> 8) * 5);
  return tensor;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.host_data(), b.host_data(), a.bytes()) == 0;
}

std::string foreign(const std::string& path, const std::function<void(hid_t file)>& fill, bool newest) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  if (newest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  must(file >= 0, "the file cannot be made");
  fill(file);
  must(H5Fclose(file) >= 0, "the file cannot be closed");
  H5Pclose(access);
  return path;
}

void dataset(hid_t file, hid_t type, std::vector<hsize_t> extents, const void* values,
             const std::function<void(hid_t plan)>& set_up, const char* name) {
  const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = extents.empty() ? H5Screate(H5S_SCALAR)
                                      : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  if (set_up) set_up(plan);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  must(set >= 0, "the dataset cannot be made");
  if (values) must(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "the dataset cannot be written");
  H5Dclose(set);
  H5Sclose(space);
  H5Pclose(plan);
}

std::string explore(const std::string& path) {
  try {
    const Hdf5Reader in(path);
    for (const std::string& name : in.datasets_under("")) {
      try {
        (void)in.read(name);
      } catch (const Error& error) {
        if (!std::string_view(error.what()).ends_with("holds text, not numbers")) throw;
        (void)in.text(name);
      }
      for (const char* attribute : {"path", "huge"})
        if (in.has_attribute(name, attribute)) (void)in.attribute(name, attribute);
    }
    return "(no error)";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (!message.starts_with(path + ": ")) return "(not named) " + message;
    return message.substr(path.size() + 2);
  }
}

std::string mutated(const std::string& bytes, std::uint64_t seed) {
  std::string out = bytes;
  std::uint64_t state = mix64(seed + 1);
  auto next = [&](std::uint64_t below) {
    state = mix64(state + 0x9E3779B97F4A7C15ULL);
    return below == 0 ? 0 : state % below;
  };
  const std::uint64_t many = 1 + next(4);
  for (std::uint64_t i = 0; i < many && out.size() > 16; ++i) {
    // Half of the changes hit the first 4 KiB, where the structure is.
    const std::uint64_t place =
        next(2) == 0 ? next(std::min<std::uint64_t>(out.size() - 8, 4096)) : next(out.size() - 8);
    const std::uint64_t numbers[] = {
        0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, ~0ULL, out.size(), next(out.size())};
    const std::uint64_t number = numbers[next(std::size(numbers))];
    switch (next(6)) {
      case 0: out[place] = static_cast<char>(next(256)); break;
      case 1: out[place] = static_cast<char>(out[place] ^ (1 << next(8))); break;
      case 2: std::memcpy(out.data() + place, &number, std::size_t{1} << next(4)); break;
      case 3: std::memmove(out.data() + place, out.data() + next(out.size() - 8), 8); break;
      case 4:
        std::memset(out.data() + place, next(2) == 0 ? 0 : 0xFF, std::min<std::size_t>(next(64), out.size() - place));
        break;
      default:
        if (next(4) == 0) out.resize(next(out.size()));
    }
  }
  return out;
}

std::vector<std::string> seeds(const std::string& folder) {
  std::vector<std::string> all;
  Hdf5Writer ours(folder + "/seed.h5");
  ours.group("layers/dense/vars");
  ours.attribute("layers/dense/vars", "name", "dense");
  ours.dataset("layers/dense/vars/0", numbers({{8, 8}, DType::float32}));
  ours.fixed_attribute("layers/dense/vars/0", "path", "dense/kernel");
  ours.dataset("layers/dense/vars/1", numbers({{8}, DType::bfloat16}));
  ours.dataset("layers/dense/vars/2", numbers({{8}, DType::boolean}));
  ours.text("strata/config", "version: 1\n");
  ours.close(3);
  all.push_back(read_file(folder + "/seed.h5"));
  for (const bool newest : {false, true}) {
    all.push_back(read_file(foreign(
        folder + "/seed.h5",
        [](hid_t file) {
          const std::vector<float> values(4096, 1.25F);
          const hsize_t chunk[] = {8, 16};
          const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
          for (int filter = 0; filter < 3; ++filter)
            dataset(
                group, H5T_IEEE_F32LE, {64, 64}, values.data(),
                [&](hid_t plan) {
                  H5Pset_chunk(plan, 2, chunk);
                  if (filter > 0) H5Pset_shuffle(plan);
                  if (filter > 0) H5Pset_deflate(plan, 6);
                  if (filter > 1) H5Pset_fletcher32(plan);
                },
                cat("packed", filter).c_str());
          dataset(group, H5T_STD_I16BE, {100}, values.data(), {}, "turned");
          dataset(
              group, H5T_IEEE_F32LE, {10}, values.data(), [](hid_t plan) { H5Pset_layout(plan, H5D_COMPACT); },
              "compact");
          const hid_t text = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
          H5Tset_size(text, 16);
          const hid_t attribute =
              H5Acreate_by_name(group, "turned", "path", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
          H5Awrite(attribute, text, "a path of letter");
          H5Aclose(attribute);
          H5Gclose(group);
        },
        newest)));
  }
  return all;
}

void write_raw(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

int explore_mutated(std::uint64_t first, std::uint64_t last) {
  const TemporaryFolder folder;
  int refused = 0;
  for (const std::string& seed : seeds(folder.path())) {
    write_raw(folder / "bad.h5", seed);
    CHECK(explore(folder / "bad.h5") == "(no error)");
    for (std::uint64_t i = first; i < last; ++i) {
      write_raw(folder / "bad.h5", mutated(seed, i));
      const auto start = std::chrono::steady_clock::now();
      const std::string said = explore(folder / "bad.h5");
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      CHECK_MESSAGE(!said.starts_with("(not named)"), said);
      CHECK_MESSAGE(seconds < 4, cat(i, ": ", said));  // 2 s for each of what is asked, on a machine that has time
      refused += said == "(no error)" ? 0 : 1;
    }
  }
  return refused;
}

}  // namespace strata::test
