# What `cmake --install` installs: headers, both libraries, the program and its manual page, tessera.pc and the CMake package.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Tessera")

# First: notes the folders that the installation creates, or created when it was last run. scripts/uninstall does not remove folders that were there before.
set(folders "${CMAKE_INSTALL_BINDIR}" "${CMAKE_INSTALL_INCLUDEDIR}" "${CMAKE_INSTALL_INCLUDEDIR}/tessera"
  "${CMAKE_INSTALL_INCLUDEDIR}/tessera/plugin" "${CMAKE_INSTALL_LIBDIR}" "${CMAKE_INSTALL_LIBDIR}/cmake" "${package_dir}"
  "${CMAKE_INSTALL_LIBDIR}/pkgconfig" share share/tessera "${CMAKE_INSTALL_MANDIR}" "${CMAKE_INSTALL_MANDIR}/man1")
install(CODE "set(tessera_folders \"${folders}\")")
install(CODE [[
  set(tessera_prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  set(tessera_old_list "")
  if(EXISTS "${tessera_prefix}/share/tessera/installed-files.txt")
    file(STRINGS "${tessera_prefix}/share/tessera/installed-files.txt" tessera_old_list)
  endif()
  set(tessera_new_folders "")
  foreach(folder ${tessera_folders})
    list(FIND tessera_old_list "${folder}/" at)
    if(NOT at EQUAL -1 OR NOT EXISTS "${tessera_prefix}/${folder}")
      list(APPEND tessera_new_folders "${folder}")
    endif()
  endforeach()
]])

install(DIRECTORY include/tessera DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES src/backends/backend.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tessera/plugin" OPTIONAL)
install(TARGETS tessera_shared tessera_static EXPORT TesseraTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET tessera_program)
  install(TARGETS tessera_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(FILES docs/tessera.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")

install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION "${package_dir}")
# Files of these names are found under "tessera" and under "Tessera".
configure_package_config_file(cmake/TesseraConfig.cmake.in "${PROJECT_BINARY_DIR}/package/tessera-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tessera-config-version.cmake"
  COMPATIBILITY SameMinorVersion) # until 1.0, a minor version may change the API
install(FILES "${PROJECT_BINARY_DIR}/package/tessera-config.cmake"
              "${PROJECT_BINARY_DIR}/package/tessera-config-version.cmake" DESTINATION "${package_dir}")

# tessera.pc finds the other files relative to its own place, so that the installed tree may be moved.
file(RELATIVE_PATH prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(private_libs -pthread)
foreach(library ${TESSERA_MATH_LIBRARY} ${CMAKE_DL_LIBS})
  list(APPEND private_libs -l${library})
endforeach()
list(JOIN private_libs " " private_libs)
configure_file(cmake/tessera.pc.in "${PROJECT_BINARY_DIR}/package/tessera.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/tessera.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Last: the list of what was installed, as paths below the prefix, for scripts/uninstall. Folders end in a slash.
install(CODE [[
  set(list "${CMAKE_INSTALL_PREFIX}/share/tessera/installed-files.txt")
  set(text "")
  foreach(file ${CMAKE_INSTALL_MANIFEST_FILES} "${list}")
    file(RELATIVE_PATH file "${CMAKE_INSTALL_PREFIX}" "${file}")
    string(APPEND text "${file}\n")
  endforeach()
  foreach(folder ${tessera_new_folders})
    string(APPEND text "${folder}/\n")
  endforeach()
  file(WRITE "$ENV{DESTDIR}${list}" "${text}")
]])
