# SPDX-License-Identifier: Apache-2.0
# The rungs of the ladder as object libraries, and the library made of all of them.
#
#   strata_rung(<name> [LINKS <library>...])
#     src/<name>/**/*.cpp becomes the object library strata_<name>; an empty or missing folder is skipped. Only this
#     rung compiles with LINKS, so that a third-party header is not found elsewhere by accident.
#   strata_kernels(<rung>)   gives the files below cpu/kernels their optimization and instruction set flags
#   strata_library()         makes the library strata::strata of every rung
define_property(GLOBAL PROPERTY STRATA_RUNGS BRIEF_DOCS "rungs that have sources, low to high")
define_property(GLOBAL PROPERTY STRATA_LINKS BRIEF_DOCS "libraries that the rungs link")

# layers/ and strategies/ lie at the top of the tree but are spelled <strata/layers/...>.
set(STRATA_BUILD_INCLUDE ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${STRATA_BUILD_INCLUDE}/strata)
foreach(folder layers strategies)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${STRATA_BUILD_INCLUDE}/strata/${folder} SYMBOLIC)
endforeach()

# What every rung and every test compiles with.
add_library(strata_includes INTERFACE)
target_include_directories(strata_includes INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${STRATA_BUILD_INCLUDE} ${PROJECT_SOURCE_DIR}/src)

# The object library of a rung, made on first need (the rung of the parts has generated sources only, at first).
function(strata_rung_target name)
  if(NOT TARGET strata_${name})
    add_library(strata_${name} OBJECT)
    target_link_libraries(strata_${name} PUBLIC strata_includes)
    set_property(GLOBAL APPEND PROPERTY STRATA_RUNGS ${name})
  endif()
endfunction()

function(strata_rung name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/backends/cuda/")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_avx(2|512)\\.cpp$")
  endif()
  if(sources)
    strata_rung_target(${name})
    target_sources(strata_${name} PRIVATE ${sources})
    target_link_libraries(strata_${name} PRIVATE ${arg_LINKS})
    set_property(GLOBAL APPEND PROPERTY STRATA_LINKS ${arg_LINKS})
  endif()
endfunction()

# Kernels are optimized in every build but the sanitizers', and each may be written once more for a wider instruction set:
# softmax.cpp, softmax_avx2.cpp, softmax_avx512.cpp. Which one runs is decided from the machine, at plan time.
function(strata_kernels rung)
  if(NOT TARGET strata_${rung})
    return()
  endif()
  if(STRATA_OPENMP)
    target_link_libraries(strata_${rung} PRIVATE OpenMP::OpenMP_CXX)
    set_property(GLOBAL APPEND PROPERTY STRATA_LINKS OpenMP::OpenMP_CXX)
  else()  # no parallel regions; omp.h's questions still have an answer
    target_compile_options(strata_${rung} PRIVATE -fopenmp-simd)
    target_link_libraries(strata_${rung} PRIVATE ${OpenMP_CXX_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY STRATA_LINKS ${OpenMP_CXX_LIBRARIES})
  endif()
  get_target_property(sources strata_${rung} SOURCES)
  foreach(source IN LISTS sources)
    set(flags "")
    if(source MATCHES "/cpu/kernels/" AND NOT STRATA_SANITIZE)
      list(APPEND flags -O3 -fno-math-errno -fno-trapping-math)
    endif()
    if(source MATCHES "_avx2\\.cpp$")
      list(APPEND flags -mavx2 -mfma -mf16c)
    elseif(source MATCHES "_avx512\\.cpp$")
      list(APPEND flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c)
    endif()
    if(flags)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${flags}")
    endif()
  endforeach()
endfunction()

function(strata_library)
  get_property(rungs GLOBAL PROPERTY STRATA_RUNGS)
  get_property(links GLOBAL PROPERTY STRATA_LINKS)
  list(REMOVE_DUPLICATES links)
  if(STRATA_SHARED)
    add_library(strata SHARED)
  else()
    add_library(strata STATIC)
  endif()
  add_library(strata::strata ALIAS strata)
  foreach(rung IN LISTS rungs)
    target_sources(strata PRIVATE $<TARGET_OBJECTS:strata_${rung}>)
  endforeach()
  target_link_libraries(strata PRIVATE ${links} ${CMAKE_DL_LIBS})
  target_compile_features(strata PUBLIC cxx_std_20)
  target_include_directories(strata PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${STRATA_BUILD_INCLUDE}>
    $<INSTALL_INTERFACE:include>)
  set_target_properties(strata PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(STRATA_SHARED AND NOT STRATA_SANITIZE)
    target_link_options(strata PRIVATE -Wl,--no-undefined)
  endif()
endfunction()
