# SPDX-License-Identifier: Apache-2.0
# The program strata (apps/cli; it may look into src/), and the examples, which see the public headers only: each file in
# apps/examples is an executable example_<name>.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/cli/*.cpp)
if(sources)
  add_executable(strata_program ${sources})
  set_target_properties(strata_program PROPERTIES OUTPUT_NAME strata RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" ENABLE_EXPORTS ON)
  target_include_directories(strata_program PRIVATE ${PROJECT_SOURCE_DIR}/apps/cli ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(strata_program PRIVATE strata::strata)
  add_parts(Verb apps/cli/verbs verbs TARGET strata_program HEADER verb.h)
  install(TARGETS strata_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/examples/*.cpp)
set(STRATA_EXAMPLES "") # their names: each is a test
foreach(example IN LISTS examples)
  get_filename_component(stem ${example} NAME_WE)
  list(APPEND STRATA_EXAMPLES ${stem})
  add_executable(example_${stem} ${example})
  target_link_libraries(example_${stem} PRIVATE strata::strata)
endforeach()
