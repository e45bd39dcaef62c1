# SPDX-License-Identifier: Apache-2.0
# The tests: one executable a folder of tests/, one ctest entry a file in it.
#
#   strata_test(<name> [RUNGS <rung>...] [SUPPORT <stem>...] [LABEL fast|slow] [LINKS <library>...] [NEEDS <target>...])
#     tests/<name>/*.cpp, tests/support/main.cpp and the SUPPORT files beside it become test_<name>, made of the objects
#     of just the RUNGS it names; a folder or a rung that does not exist yet is skipped. NEEDS are programs it starts.
#     The entry of tests/<name>/text.cpp is called <name>/text.
#
# Labels: fast (seconds) and slow (minutes), as LABEL says or the file's name when it ends in _slow. Other endings:
# _timing runs alone, never under a sanitizer; _full only on demand; _gpu and _peers skip themselves where there is none.
# Files that exercise threads are labelled threads as well; the thread sanitizer runs those. The targets tests_fast,
# tests_slow, ... build what the entries of a label need.
find_package(doctest REQUIRED)
add_library(strata_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
target_include_directories(strata_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests)
set(sanitized false)
if(STRATA_SANITIZE)  # "address,undefined": a generator expression would take the comma for its own
  set(sanitized true)
endif()
target_compile_definitions(strata_test_main PUBLIC STRATA_SANITIZED=${sanitized}
  STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STRATA_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(strata_test_main PUBLIC strata_includes doctest::doctest)

set(STRATA_THREAD_TESTS "loader|executor|replicas|thread|checkpoint|strateg|signals")
foreach(label fast slow timing full gpu peers threads)
  add_custom_target(tests_${label})
endforeach()

function(strata_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "RUNGS;SUPPORT;LINKS;NEEDS")
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
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
  if(model IN_LIST arg_RUNGS)
    list(APPEND arg_NEEDS strata_guard)
  endif()
  foreach(target IN LISTS arg_NEEDS)
    if(TARGET ${target})
      add_dependencies(test_${name} ${target})
    endif()
  endforeach()
  foreach(source IN LISTS sources)
    get_filename_component(stem ${source} NAME_WE)
    set(labels ${arg_LABEL})
    if(stem MATCHES "_(slow|timing|full|gpu|peers)$")
      set(labels ${CMAKE_MATCH_1})
    endif()
    if(stem MATCHES "${STRATA_THREAD_TESTS}" AND labels MATCHES "fast|slow")
      list(APPEND labels threads)
    endif()
    strata_test_entry(${name}/${stem} test_${name} "${labels}" test_${name} "--source-file=*/tests/${name}/${stem}.cpp")
  endforeach()
endfunction()

# An entry of ctest with what all entries have: strata_test_entry(<entry> <target to build> <labels> <command>...).
function(strata_test_entry entry target labels)
  add_test(NAME ${entry} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  # Waiting OpenMP threads must not spin while other tests share the cores.
  set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT 1200 ENVIRONMENT "OMP_WAIT_POLICY=passive")
  if(labels MATCHES "fast")
    set_tests_properties(${entry} PROPERTIES TIMEOUT 300)
  elseif(labels MATCHES "timing")
    set_tests_properties(${entry} PROPERTIES RUN_SERIAL ON)
  endif()
  foreach(label IN LISTS labels)
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()

set(to_graph base core schema graph)
set(to_parts ${to_graph} parts)
set(engine backends compiler runtime)
set(all ${to_parts} ${engine} data model)
strata_test(base RUNGS base)
strata_test(core RUNGS base core)
strata_test(schema RUNGS base core schema SUPPORT kitchen)
strata_test(graph RUNGS ${to_graph})
strata_test(parts RUNGS ${to_parts})
strata_test(backends RUNGS ${to_graph} backends SUPPORT kernel_run)
strata_test(compiler RUNGS ${to_graph} backends compiler)
strata_test(runtime RUNGS ${to_graph} ${engine} SUPPORT graph_run toy_backend)
strata_test(data RUNGS ${to_parts} data)
strata_test(model RUNGS ${all} LINKS strata_hdf5 SUPPORT toy_backend hdf5_files resume)
strata_test(allocation RUNGS ${all} SUPPORT allocations)
strata_test(conformance RUNGS ${all} SUPPORT graph_run layer_example toy_backend)
strata_test(golden RUNGS ${all})
strata_test(rules RUNGS base)
strata_test(cli RUNGS ${all} cli NEEDS strata_program)
strata_test(runs RUNGS ${all} LABEL slow SUPPORT kills NEEDS strata_program strata_guard)

# Each example checks its own result.
foreach(example IN LISTS STRATA_EXAMPLES)
  strata_test_entry(examples/${example} example_${example} fast example_${example})
endforeach()

# Another project finds the installed library; nothing of this tree is on its way.
strata_test_entry(package/find_package strata slow
  ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DCOMPILER=${CMAKE_CXX_COMPILER}
  -P ${PROJECT_SOURCE_DIR}/tests/package/check.cmake)
if(TARGET strata_program)
  add_dependencies(tests_slow strata_program)
endif()

# Every public header compiles alone: a file of one line each, compiled on demand by its entry. The second entry is the
# rule's own test: a header that needs another one before it must fail.
function(strata_lone_headers target)
  set(sources "")
  foreach(header IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER ${header} stem)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${target}/${stem}.cpp CONTENT "#include \"${header}\"\n" @ONLY)
    list(APPEND sources ${PROJECT_BINARY_DIR}/generated/${target}/${stem}.cpp)
  endforeach()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${STRATA_BUILD_INCLUDE})
  target_compile_options(${target} PRIVATE -O0 -g0 -Werror)
  strata_test_entry(rules/${target} strata_test_main slow
    ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${target})
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/strata/*.h)
file(GLOB part_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/layers/*.h ${PROJECT_SOURCE_DIR}/strategies/*.h)
list(TRANSFORM part_headers PREPEND strata/)
strata_lone_headers(public_headers ${headers} ${part_headers})
strata_lone_headers(needy_header ${PROJECT_SOURCE_DIR}/tests/rules/needy.h)
set_tests_properties(rules/needy_header PROPERTIES PASS_REGULAR_EXPRESSION "needy\\.h:[0-9:]+ error")
set_tests_properties(rules/public_headers rules/needy_header PROPERTIES RESOURCE_LOCK build)
