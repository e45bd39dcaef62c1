// SPDX-License-Identifier: Apache-2.0
// One door per third-party library: its headers are included in one place only. Public headers include the standard
// library and strata, nothing else. Tests may use any library.
#include <doctest/doctest.h>

#include <map>

#include "tree.h"

namespace strata::rules {
namespace {

struct Door {
  std::string_view header;  // how the name in the include begins
  std::string_view place;   // how the path of a file that may include it begins
};

constexpr Door doors[] = {{"yaml-cpp/", "src/schema/yaml.cpp"},
                          {"hdf5", "src/model/hdf5_library.h"},
                          {"H5", "src/model/hdf5_library.h"},
                          {"xxhash", "src/base/digest.cpp"},
                          {"oneapi/dnnl/", "src/backends/cpu/"},
                          {"dnnl", "src/backends/cpu/"},
                          {"omp.h", "src/backends/cpu/"},
                          {"immintrin.h", "src/backends/cpu/"},
                          {"cpuid.h", "src/backends/cpu/"},
                          {"gloo/", "src/backends/cpu/"},
                          {"cuda", "src/backends/cuda/"},
                          {"cublas", "src/backends/cuda/"},
                          {"cudnn", "src/backends/cuda/"},
                          {"nccl", "src/backends/cuda/"},
                          {"cub/", "src/backends/cuda/"},
                          {"mma.h", "src/backends/cuda/"},
                          {"zlib.h", "src/data/"},
                          {"png.h", "src/data/"},
                          {"turbojpeg.h", "src/data/"},
                          {"nlohmann/", "tests/"},
                          {"doctest/", "tests/"},
                          {"benchmark/", "tests/"}};

// The system's own headers, beside the standard library's (which have no dot).
constexpr std::string_view system_headers[] = {"arpa/",     "dirent.h", "dlfcn.h",  "errno.h",  "fcntl.h",  "ifaddrs.h",
                                               "linux/",    "net/",     "netdb.h",  "netinet/", "poll.h",   "pthread.h",
                                               "pwd.h",     "sched.h",  "signal.h", "spawn.h",  "stdlib.h", "sys/",
                                               "termios.h", "time.h",   "unistd.h"};

Faults door_rule(const File& file) {
  if (!is_source(file.path) || is_under(file.path, "tests")) return {};
  const bool is_public =
      is_under(file.path, "include") || is_under(file.path, "layers") || is_under(file.path, "strategies");
  Faults faults;
  for (const Include& include : includes_of(file)) {
    const auto begins = [&](std::string_view beginning) { return include.name.starts_with(beginning); };
    const auto* door =
        std::find_if(std::begin(doors), std::end(doors), [&](const Door& d) { return begins(d.header); });
    const auto fault = [&](std::string_view what) {
      faults.push_back(at(file, include.line, cat(include.name, ' ', what)));
    };
    if (door != std::end(doors)) {
      if (!file.path.starts_with(door->place)) fault(cat("is included by ", door->place, "* only"));
    } else if (include.angle && !begins("strata/") && include.name.find('.') != std::string::npos) {
      if (std::none_of(std::begin(system_headers), std::end(system_headers), begins)) {
        fault("has no door; give it one in tests/rules/doors.cpp");
      } else if (is_public) {
        fault("is the system's, and public headers are not tied to one");
      }
    }
  }
  return faults;
}

Faults try_door(std::string path, std::string_view include) {
  return door_rule({std::move(path), cat("#include ", include, "\n")});
}

TEST_CASE("third-party headers are included in one place") {
  CHECK(faults_of(read_tree(STRATA_SOURCE_DIR), door_rule) == "");
}

TEST_CASE("the rule of the doors finds a header outside its door") {
  CHECK(try_door("src/schema/config.cpp", "<yaml-cpp/yaml.h>") ==
        Faults{"src/schema/config.cpp:1: yaml-cpp/yaml.h is included by src/schema/yaml.cpp* only"});
  CHECK(try_door("src/data/hdf5.cpp", "<hdf5.h>").size() == 1);
  CHECK(try_door("src/data/hdf5.cpp", "<H5Cpp.h>").size() == 1);
  CHECK(try_door("src/compiler/lower.cpp", "<oneapi/dnnl/dnnl.hpp>").size() == 1);
  CHECK(try_door("src/base/text.cpp", "<xxhash.h>").size() == 1);
  CHECK(try_door("src/model/npz.cpp", "<zlib.h>").size() == 1);
  CHECK(try_door("src/schema/reference.cpp", "<nlohmann/json.hpp>").size() == 1);
  CHECK(try_door("src/backends/cpu/device.cpp", "<cuda_runtime.h>").size() == 1);
  CHECK(try_door("src/backends/cpu/device.cpp", "\"dnnl.hpp\"").empty());
  CHECK(try_door("src/runtime/executor.cpp", "\"omp.h\"").size() == 1);
}

TEST_CASE("the rule of the doors finds a library without one, and the system in public headers") {
  CHECK(try_door("src/base/text.cpp", "<boost/regex.hpp>").size() == 1);
  CHECK(try_door("layers/core.h", "<unistd.h>").size() == 1);
}

TEST_CASE("the rule of the doors lets good includes pass") {
  CHECK(try_door("src/schema/yaml.cpp", "<yaml-cpp/yaml.h>").empty());
  CHECK(try_door("src/model/hdf5_library.h", "<hdf5.h>").empty());
  CHECK(try_door("src/base/digest.cpp", "<xxhash.h>").empty());
  CHECK(try_door("src/base/file.cpp", "<sys/stat.h>").empty());
  CHECK(try_door("layers/core.h", "<vector>").empty());
  CHECK(try_door("layers/core.h", "<strata/layer.h>").empty());
  CHECK(try_door("tests/data/x.cpp", "<zlib.h>").empty());
}

}  // namespace
}  // namespace strata::rules
