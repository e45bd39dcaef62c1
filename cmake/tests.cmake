# SPDX-License-Identifier: Apache-2.0
# The tests: one executable a folder of tests/, one ctest entry a file in it.
#
#   strata_test(<name> [RUNGS <rung>...] [SUPPORT <stem>...] [LABELS <label>] [LINKS <library>...])
#     tests/<name>/*.cpp, tests/support/main.cpp and the SUPPORT files beside it become test_<name>, made of the objects
#     of just the RUNGS it names; a folder or a rung that does not exist yet is skipped. The entry of
#     tests/<name>/text.cpp is called <name>/text.
#     Labels: fast (default, seconds) slow (minutes) full (not run by ./bootstrap test) gpu peers. A file whose name ends
#     in one of the last four (kill_slow.cpp) has that label whatever its folder says.
find_package(doctest REQUIRED)
add_library(strata_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
target_include_directories(strata_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(strata_test_main PUBLIC
  STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STRATA_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(strata_test_main PUBLIC strata_includes doctest::doctest)

function(strata_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RUNGS;SUPPORT;LABELS;LINKS")
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  list(TRANSFORM arg_SUPPORT REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/support/\\1.cpp")
  add_executable(test_${name} ${sources} ${arg_SUPPORT})
  target_link_libraries(test_${name} PRIVATE strata_test_main ${arg_LINKS})
  foreach(rung IN LISTS arg_RUNGS)
    if(TARGET strata_${rung})
      target_link_libraries(test_${name} PRIVATE strata_${rung})
    endif()
  endforeach()
  foreach(source IN LISTS sources)
    get_filename_component(stem ${source} NAME_WE)
    set(labels ${arg_LABELS})
    if(stem MATCHES "_(slow|full|gpu|peers)$")
      set(labels ${CMAKE_MATCH_1})
    endif()
    add_test(NAME ${name}/${stem} COMMAND test_${name} "--source-file=*/tests/${name}/${stem}.cpp")
    # Waiting OpenMP threads must not spin while other tests share the cores.
    set_tests_properties(${name}/${stem} PROPERTIES LABELS "${labels}" ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endforeach()
endfunction()

set(to_graph base core schema graph)
set(to_parts ${to_graph} parts)
set(engine backends compiler runtime)
set(all ${to_parts} ${engine} data model)
strata_test(base RUNGS base)
strata_test(core RUNGS base core)
strata_test(schema RUNGS base core schema)
strata_test(graph RUNGS ${to_graph})
strata_test(parts RUNGS ${to_parts})
strata_test(backends RUNGS ${to_graph} backends)
strata_test(compiler RUNGS ${to_graph} backends compiler)
strata_test(runtime RUNGS ${to_graph} ${engine})
strata_test(data RUNGS ${to_parts} data)
strata_test(model RUNGS ${all})
strata_test(conformance RUNGS ${all})
strata_test(golden RUNGS ${all})
strata_test(rules RUNGS base)
strata_test(runs RUNGS ${all} LABELS slow)
strata_test(examples RUNGS ${all} LABELS slow)
