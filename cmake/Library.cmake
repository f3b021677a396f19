# libtenure: one static and one shared library out of the objects of every folder, with headers, pkg-config and CMake
# package files. Only the tn_ functions marked TN_API leave the shared library.
set(objects "")
foreach(folder ${TENURE_FOLDERS})
  list(APPEND objects $<TARGET_OBJECTS:tenure_${folder}_objects>)
endforeach()
if(TARGET tenure_blake3_objects)
  list(APPEND objects $<TARGET_OBJECTS:tenure_blake3_objects>)
endif()

foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} lower)
  add_library(tenure_${lower} ${kind} ${objects})
  set_target_properties(tenure_${lower} PROPERTIES OUTPUT_NAME tenure LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(tenure_${lower} PRIVATE $<BUILD_INTERFACE:tenure_options>)
  target_link_libraries(tenure_${lower} PRIVATE $<BUILD_INTERFACE:tenure_sqlite>)
  if(SYSTEM_BLAKE3_FOUND)
    target_link_libraries(tenure_${lower} PRIVATE $<BUILD_INTERFACE:PkgConfig::SYSTEM_BLAKE3>)
  endif()
  target_include_directories(tenure_${lower} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  add_library(tenure::${lower} ALIAS tenure_${lower})
  set_target_properties(tenure_${lower} PROPERTIES EXPORT_NAME ${lower})
endforeach()
if(WIN32)
  target_compile_definitions(tenure_shared INTERFACE TN_SHARED)
  set_target_properties(tenure_static PROPERTIES OUTPUT_NAME tenure_static)
elseif(NOT APPLE)
  target_link_options(tenure_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/libtenure.map -Wl,-z,defs)
  set_target_properties(tenure_shared PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/libtenure.map)
  if(TENURE_SANITIZE) # the sanitizers' own symbols come from the program that loads the library
    target_link_options(tenure_shared PRIVATE -Wl,-z,undefs)
  endif()
endif()

# What a program that links the static library needs beside it.
set(TENURE_PRIVATE_REQUIRES "sqlite3")
if(SYSTEM_BLAKE3_FOUND)
  string(APPEND TENURE_PRIVATE_REQUIRES " libblake3")
endif()
# The .pc file finds its prefix from where it lies, so that any PREFIX and a moved tree work.
file(RELATIVE_PATH TENURE_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/tenure.pc.in ${CMAKE_BINARY_DIR}/tenure.pc @ONLY)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/tenure-config.cmake.in ${CMAKE_BINARY_DIR}/tenure-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenure-config-version.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS tenure_static tenure_shared EXPORT tenure-targets)
install(EXPORT tenure-targets NAMESPACE tenure:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)
install(DIRECTORY include/tenure DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(FILES ${CMAKE_BINARY_DIR}/tenure.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/tenure-config.cmake ${CMAKE_BINARY_DIR}/tenure-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)

set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_PACKAGE_CONTACT "Tenure maintainers <maintainers@tenure.invalid>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
include(CPack)
