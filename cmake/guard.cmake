# SPDX-License-Identifier: Apache-2.0
# strata-guard, the program that reads HDF5 files for the library: base, core and libhdf5, so that it starts at once. It
# lies beside the library in the build tree and in libexec/strata when installed (found by src/model/hdf5_process.cpp).
set(guarded ${PROJECT_SOURCE_DIR}/src/model)
add_executable(strata_guard ${PROJECT_SOURCE_DIR}/apps/guard/main.cpp ${guarded}/hdf5_serve.cpp
  ${guarded}/hdf5_guard.cpp ${guarded}/hdf5_wire.cpp ${guarded}/hdf5_library.cpp)
set_target_properties(strata_guard PROPERTIES OUTPUT_NAME strata-guard RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(strata_guard PRIVATE strata_base strata_core strata_includes strata_hdf5 strata_xxhash Threads::Threads)
# A sanitizer's shadow takes terabytes of addresses.
target_compile_definitions(strata_guard PRIVATE STRATA_GUARD_LIMITS_MEMORY=$<IF:$<BOOL:${STRATA_SANITIZE}>,0,1>)
install(TARGETS strata_guard RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/strata)
add_dependencies(strata strata_guard)
set_source_files_properties(${guarded}/hdf5_process.cpp PROPERTIES
  COMPILE_DEFINITIONS "STRATA_LIBEXEC_DIR=\"${CMAKE_INSTALL_FULL_LIBEXECDIR}/strata\"")
