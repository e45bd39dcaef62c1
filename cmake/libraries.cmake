# SPDX-License-Identifier: Apache-2.0
# The third-party libraries. Each is linked only to the rung that is its door (rungs in CMakeLists.txt). Installed beside
# a static libstrata, whose users link them too.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)

# An imported target for a plain library; Debian's own package file of oneDNN asks for OpenCL, HDF5's for C.
function(strata_find target header name)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SUFFIXES;NAMES")
  find_path(STRATA_${name}_INCLUDE ${header} PATH_SUFFIXES ${arg_SUFFIXES} REQUIRED)
  find_library(STRATA_${name}_LIBRARY NAMES ${name} ${arg_NAMES} PATH_SUFFIXES ${arg_SUFFIXES} REQUIRED)
  mark_as_advanced(STRATA_${name}_INCLUDE STRATA_${name}_LIBRARY)
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${STRATA_${name}_LIBRARY})
  if(NOT STRATA_${name}_INCLUDE STREQUAL "/usr/include")
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${STRATA_${name}_INCLUDE})
  endif()
endfunction()
strata_find(strata_dnnl oneapi/dnnl/dnnl.hpp dnnl)
strata_find(strata_hdf5 hdf5.h hdf5 SUFFIXES hdf5/serial NAMES hdf5_serial)
strata_find(strata_xxhash xxhash.h xxhash)
