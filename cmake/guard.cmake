# SPDX-License-Identifier: Apache-2.0
# strata-guard, the program that reads HDF5 files for the library: base, core and libhdf5, so that it starts at once. It
# lies beside the library in the build tree and in libexec/strata when installed (found by src/model/hdf5_process.cpp).
set(guarded ${PROJECT_SOURCE_DIR}/src/model)
add_executable(strata_guard ${PROJECT_SOURCE_DIR}/apps/guard/main.cpp ${guarded}/hdf5_serve.cpp
  ${guarded}/hdf5_guard.cpp ${guarded}/hdf5_wire.cpp ${guarded}/hdf5_library.cpp)
set_target_properties(strata_guard PROPERTIES OUTPUT_NAME strata-guard RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
# Debian's shared libhdf5 brings thirty libraries of the network along, which take 10 ms of the 13 to load.
include(CheckCXXSourceCompiles)
find_library(STRATA_hdf5_STATIC NAMES libhdf5_serial.a libhdf5.a PATH_SUFFIXES hdf5/serial)
find_library(STRATA_sz_LIBRARY NAMES sz)
mark_as_advanced(STRATA_hdf5_STATIC STRATA_sz_LIBRARY)
if(STRATA_hdf5_STATIC AND STRATA_sz_LIBRARY)
  set(static_hdf5 ${STRATA_hdf5_STATIC} ${STRATA_sz_LIBRARY} ZLIB::ZLIB ${CMAKE_DL_LIBS} m)
  set(CMAKE_REQUIRED_LIBRARIES ${static_hdf5})
  set(CMAKE_REQUIRED_INCLUDES ${STRATA_hdf5_INCLUDE})
  check_cxx_source_compiles("#include <hdf5.h>\nint main() { return H5open(); }" STRATA_LINKS_STATIC_HDF5)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_INCLUDES)
endif()
set(guard_hdf5 strata_hdf5)
if(STRATA_LINKS_STATIC_HDF5)
  set(guard_hdf5 ${static_hdf5})
endif()
target_include_directories(strata_guard SYSTEM PRIVATE ${STRATA_hdf5_INCLUDE})
target_link_libraries(strata_guard PRIVATE strata_base strata_core strata_includes
  ${guard_hdf5} strata_xxhash Threads::Threads)
set(sanitized false)
if(STRATA_SANITIZE)
  set(sanitized true)
endif()
target_compile_definitions(strata_guard PRIVATE STRATA_SANITIZED=${sanitized})
install(TARGETS strata_guard RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/strata)
add_dependencies(strata strata_guard)
set_source_files_properties(${guarded}/hdf5_process.cpp PROPERTIES
  COMPILE_DEFINITIONS "STRATA_LIBEXEC_DIR=\"${CMAKE_INSTALL_FULL_LIBEXECDIR}/strata\"")
