# Which files belong to the library on this system.
#
# Code for one system is in a file of its own: name_linux.c (or just linux.c), _darwin.c, _windows.c, _wasm.c, or _posix.c for
# all systems but Windows. Files for other systems are left out. A file name_isa.c is compiled once per SIMD level.
include(isa)
include(embed)

# Sets `out` to the files that match the patterns (relative to the top), without unit tests. The next build finds new ones.
function(tessera_glob out)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  list(FILTER found EXCLUDE REGEX "_test\\.c$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Removes files for other systems from the list.
function(tessera_leave_out_other_systems sources_variable)
  if(APPLE) # macOS and iOS
    set(others linux windows wasm)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
    set(others linux darwin wasm posix)
  elseif(TESSERA_IS_WASM)
    set(others linux darwin windows posix)
  else()
    set(others darwin windows wasm)
  endif()
  set(sources ${${sources_variable}})
  foreach(other ${others})
    list(FILTER sources EXCLUDE REGEX "[_/]${other}\\.c$")
  endforeach()
  set(${sources_variable} ${sources} PARENT_SCOPE)
endfunction()

# Removes the backends that open a driver of the system from the list: those with TSRI_DRIVER in backends.def.
function(tessera_leave_out_drivers sources_variable)
  set(definitions "${PROJECT_SOURCE_DIR}/src/backends/backends.def")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${definitions}")
  file(STRINGS "${definitions}" lines REGEX "^TSRI_DRIVER\\(")
  set(sources ${${sources_variable}})
  foreach(line ${lines})
    string(REGEX REPLACE "^TSRI_DRIVER\\(([a-z]+).*" "\\1" backend "${line}")
    list(FILTER sources EXCLUDE REGEX "/backends/${backend}/")
  endforeach()
  set(${sources_variable} ${sources} PARENT_SCOPE)
endfunction()

# For web pages: removes each file name.c that has a name_wasm.c beside it, which is built in its place.
function(tessera_leave_out_twins sources_variable)
  set(sources ${${sources_variable}})
  foreach(source ${sources})
    if(source MATCHES "_wasm\\.c$")
      string(REGEX REPLACE "_wasm\\.c$" ".c" twin "${source}")
      list(REMOVE_ITEM sources "${twin}")
    endif()
  endforeach()
  set(${sources_variable} ${sources} PARENT_SCOPE)
endfunction()

function(tessera_library_sources out)
  set(patterns)
  foreach(layer platform core lang runtime graph ops saved grad train backends)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/src/${layer}/*.c")
  endforeach()
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  list(FILTER found EXCLUDE REGEX "_test\\.c$")

  tessera_leave_out_other_systems(found)
  if(TESSERA_IS_WASM)
    tessera_leave_out_drivers(found)
    tessera_leave_out_twins(found)
    list(FILTER found EXCLUDE REGEX "/webgpu/native[a-z_]*\\.c$") # browser_wasm.c in their place
    list(FILTER found EXCLUDE REGEX "/cpu/(lines|attention|jit|fft|lapack)/|/cpu/host\\.c$") # lines_wasm.c, attention_wasm.c, jit_wasm.c, fft_wasm.c and lapack_wasm.c in their place
    list(FILTER found EXCLUDE REGEX "/cpu/product/(columns|direct|deep|outer|quant_rows|rows|dots|group_rows|group_lines|split)\\.c$") # product/ways_wasm.inc in their place
    list(FILTER found EXCLUDE REGEX "/cpu/rows/index_ranges\\.c$") # rows/index_ranges_wasm.inc in its place
    list(FILTER found EXCLUDE REGEX "/src/saved/(again|attributes|expression|format|load|names|optimisers|place|save|write)[a-z_]*\\.c$") # pages have no files
    list(FILTER found EXCLUDE REGEX "/runtime/(tape_group|tape_order)\\.c$|/graph/paired\\.c$") # track_wasm.c and tape_graph_wasm.c, and chain_wasm.c, do without them
    list(FILTER found EXCLUDE REGEX "/lang/emit/(c|spirv)/") # dialects_wasm.c has one dialect
    list(FILTER found EXCLUDE REGEX "/ops/(scatter_(call|exact|lines|owned|parts|turned|words)|fft_odd)\\.c$") # scatter_wasm.c and fft_fused_wasm.c in their place
    list(FILTER found EXCLUDE REGEX "/runtime/profile/|/graph/profiled\\.c$|/runtime/placing\\.c$") # profile_wasm.c and place_wasm.c in their place
    list(FILTER found EXCLUDE REGEX "/graph/(autotune_work|tuned)\\.c$|/common/(choices|contest)\\.c$") # autotune_wasm.c in their place
  endif()

  tessera_expand_isa_sources(found)
  if(NOT found)
    message(FATAL_ERROR "there are no library sources under src/")
  endif()
  tessera_embed_kernels(embedded)
  if(NOT TESSERA_IS_WASM)
    tessera_embed_report(report)
    tessera_embed_cuda(cuda)
  endif()
  set(${out} ${found} ${embedded} ${report} ${cuda} PARENT_SCOPE)
endfunction()

# Compiles files of the library with -O0 where optimising them takes longer than it saves in the tests:
#   - In a debug build for another processor, whose tests run in an emulator: all files that do not depend on the processor. The CPU backend, the platform
#     and the core stay optimised.
#   - Under the address sanitizer: all files in which tests spend at most a hundredth of their time. The core, the front end, and the CPU's compiler,
#     interpreter and products stay optimised.
function(tessera_leave_unoptimised target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" OR TESSERA_FUZZ)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  if(CMAKE_CROSSCOMPILING)
    list(FILTER sources INCLUDE REGEX "/src/")
    list(FILTER sources EXCLUDE REGEX "/src/(platform|core|backends/cpu)/")
  elseif(TESSERA_SANITIZE MATCHES "address")
    list(FILTER sources INCLUDE REGEX "/src/|/isa/")
    list(FILTER sources EXCLUDE REGEX "/src/(platform|core|lang/(front|ir))/|/backends/cpu/(jit|lanes|math|product)/")
  else()
    return()
  endif()
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -O0)
endfunction()
