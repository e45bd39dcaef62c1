# SPDX-License-Identifier: Apache-2.0
# Installs the build in BUILD, builds the project beside this file against it, and runs what comes out.
#   cmake -DBUILD=<build folder> -DCOMPILER=<C++ compiler> -P check.cmake
set(work ${BUILD}/package)
file(REMOVE_RECURSE ${work})

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
step(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix
     -DCMAKE_CXX_COMPILER=${COMPILER})
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)
