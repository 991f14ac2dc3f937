# Where built and installed files go.
include(GNUInstallDirs)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# An installed tree may be moved: the program finds the library by a path relative to itself.
file(RELATIVE_PATH library_from_program "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
if(APPLE)
  set(TESSERA_INSTALL_RPATH "@loader_path/${library_from_program}")
else()
  set(TESSERA_INSTALL_RPATH "$ORIGIN/${library_from_program}")
endif()
