# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies, so that find_package(strata CONFIG) works from another project.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS strata EXPORT strata LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/strata DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${STRATA_BUILD_INCLUDE}/strata/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata
        FILES_MATCHING PATTERN "*.h" PATTERN layers EXCLUDE PATTERN strategies EXCLUDE)
foreach(folder layers strategies)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata OPTIONAL FILES_MATCHING PATTERN "*.h")
endforeach()

set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/strata)
install(EXPORT strata NAMESPACE strata:: DESTINATION ${destination} FILE strataTargets.cmake)
configure_package_config_file(cmake/strataConfig.cmake.in ${PROJECT_BINARY_DIR}/strataConfig.cmake
  INSTALL_DESTINATION ${destination})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strataConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strataConfig.cmake ${PROJECT_BINARY_DIR}/strataConfigVersion.cmake
        DESTINATION ${destination})
if(NOT STRATA_SHARED)
  install(FILES cmake/libraries.cmake DESTINATION ${destination})
endif()
