// SPDX-License-Identifier: Apache-2.0
// HDF5 files for tests: ours, and others made by libhdf5 itself in any way it can make them.
#pragma once

#include <hdf5.h>

#include <functional>
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata::test {

Tensor numbers(const Type& type);  // bytes that are no number twice; booleans that are booleans
bool same(const Tensor& a, const Tensor& b);

// A file that `fill` fills; the newest format when asked. Returns the path.
std::string foreign(const std::string& path, const std::function<void(hid_t file)>& fill, bool newest = false);

// A dataset "x" of a type, with the creation properties that `plan` sets.
void dataset(hid_t file, hid_t type, std::vector<hsize_t> extents, const void* values,
             const std::function<void(hid_t plan)>& set_up = {}, const char* name = "x");

// Opens the file and asks for all there is: what was said first, without the folder, or "(no error)".
std::string explore(const std::string& path);

// A copy of a file with a few bytes changed, moved or cut away by a seed: small numbers, lengths and addresses mostly.
std::string mutated(const std::string& bytes, std::uint64_t seed);

// Files of several kinds to mutate: ours, h5py's old format and the newest, packed and nested.
std::vector<std::string> seeds(const std::string& folder);

// Makes mutations [first, last) of each seed and CHECKs that they are read or refused, in time; how many were refused.
int explore_mutated(std::uint64_t first, std::uint64_t last);

void write_raw(const std::string& path, const std::string& bytes);  // in place, at once

}  // namespace strata::test
