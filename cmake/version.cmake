# Reads TESSERA_VERSION from include/tessera/version.h, the one place where it is written.
set(version_header "${CMAKE_CURRENT_LIST_DIR}/../include/tessera/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")
file(STRINGS "${version_header}" version_lines REGEX "^#define TSR_VERSION_(MAJOR|MINOR|PATCH) ")

set(TESSERA_VERSION "")
foreach(part MAJOR MINOR PATCH)
  if(NOT "${version_lines}" MATCHES "TSR_VERSION_${part} +([0-9]+)")
    message(FATAL_ERROR "include/tessera/version.h has no number for TSR_VERSION_${part}")
  endif()
  list(APPEND TESSERA_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN TESSERA_VERSION "." TESSERA_VERSION)
