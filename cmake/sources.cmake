# Which files belong to the library on this system.
#
# A platform difference is a file: name_linux.c (or just linux.c), _darwin.c, _windows.c, _wasm.c, or _posix.c for
# all that are not Windows. The others of its name are left out. A file name_isa.c is compiled once per SIMD level.
include(isa)
include(embed)

# Files that match the patterns (relative to the top), new ones noticed at the next build, without unit tests.
function(tessera_glob out)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  list(FILTER found EXCLUDE REGEX "_test\\.c$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(tessera_library_sources out)
  set(patterns)
  foreach(layer platform core lang runtime graph ops backends)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/src/${layer}/*.c")
  endforeach()
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  list(FILTER found EXCLUDE REGEX "_test\\.c$")

  if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    set(others linux windows wasm)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
    set(others linux darwin wasm posix)
  elseif(CMAKE_SYSTEM_NAME MATCHES "Emscripten|WASI")
    set(others linux darwin windows)
  else()
    set(others darwin windows wasm)
  endif()
  foreach(other ${others})
    list(FILTER found EXCLUDE REGEX "[_/]${other}\\.c$")
  endforeach()

  tessera_expand_isa_sources(found)
  if(NOT found)
    message(FATAL_ERROR "there are no library sources under src/")
  endif()
  tessera_embed_kernels(embedded)
  set(${out} ${found} ${embedded} PARENT_SCOPE)
endfunction()
