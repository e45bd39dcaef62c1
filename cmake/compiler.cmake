# SPDX-License-Identifier: Apache-2.0
# How everything is compiled: language, warnings, sanitizers, and the tools that make building fast.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

# A constructor's parameter may have the name of the member it sets; g++'s plain -Wshadow would object.
add_compile_options(-Wall -Wextra -Wpedantic $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
# Without -fopenmp its pragmas are only unknown; the simd ones are kept either way.
add_compile_options(-Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-semantic-interposition)
endif()

if(STRATA_SANITIZE)
  add_compile_options(-fsanitize=${STRATA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STRATA_SANITIZE})
endif()

find_program(STRATA_CCACHE ccache)
if(STRATA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STRATA_CCACHE})
endif()

include(CheckLinkerFlag)
foreach(linker mold lld)
  find_program(STRATA_${linker} NAMES ${linker} ld.${linker})
  if(STRATA_${linker})
    check_linker_flag(CXX -fuse-ld=${linker} STRATA_LINKS_WITH_${linker})
    if(STRATA_LINKS_WITH_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endif()
endforeach()
