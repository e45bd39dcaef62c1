# SPDX-License-Identifier: Apache-2.0
# The benchmarks (tests/benchmarks; none is a test), and with STRATA_PEERS the same models in the libraries they are
# compared with: cmake --build <dir> --target benchmarks, then tests/benchmarks/compare.py.
add_custom_target(benchmarks)
add_executable(benchmark_floor EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/benchmarks/floor.cpp)
target_link_libraries(benchmark_floor PRIVATE Threads::Threads)
# Looks below the public headers, as the program's own step does; the library's symbols are all visible.
add_executable(benchmark_steps EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/benchmarks/steps.cpp)
target_include_directories(benchmark_steps PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(benchmark_steps PRIVATE strata::strata)
add_dependencies(benchmarks benchmark_floor benchmark_steps)

if(STRATA_PEERS)
  # Debian's package file of libtorch asks for more than is installed; the headers and three libraries do.
  find_path(STRATA_torch_INCLUDE torch/torch.h PATH_SUFFIXES torch/csrc/api/include REQUIRED)
  add_executable(peer_libtorch_steps EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/benchmarks/peers/libtorch/steps.cpp)
  target_include_directories(peer_libtorch_steps SYSTEM PRIVATE ${STRATA_torch_INCLUDE})
  foreach(library torch torch_cpu c10)
    find_library(STRATA_${library}_LIBRARY ${library} REQUIRED)
    target_link_libraries(peer_libtorch_steps PRIVATE ${STRATA_${library}_LIBRARY})
  endforeach()
  target_link_libraries(peer_libtorch_steps PRIVATE OpenMP::OpenMP_CXX)
  add_dependencies(benchmarks peer_libtorch_steps)
endif()
