# Fuzz targets: each tests/fuzz/<name>_fuzz.c, built with libFuzzer in the `fuzz` preset.
#
# Seeds are in tests/fuzz/corpus/<name>/; inputs that a run finds stay in the build folder. ctest runs each target for
# TESSERA_FUZZ_SECONDS; `make fuzz` for longer.
if(NOT TESSERA_FUZZ)
  return()
endif()
enable_testing()

# The SIMD level that the CPU backend chooses on this machine; empty if it cannot be told.
function(tessera_find_simd_level out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS /proc/cpuinfo AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    set(${out} baseline PARENT_SCOPE)
    if(flags MATCHES "avx512f" AND flags MATCHES "avx512bw" AND flags MATCHES "avx512dq" AND flags MATCHES "avx512vl")
      set(${out} avx512 PARENT_SCOPE)
    elseif(flags MATCHES " avx2 ")
      set(${out} avx2 PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Files that no fuzz target runs are compiled for their warnings alone, in a tenth of the time: drivers of GPUs, the text that is emitted for them, and loops of
# the SIMD levels that the CPU backend does not choose on this machine. lanes_fuzz.c runs lanes/, and with it math/, on all levels.
set(unused "/src/backends/(cuda|metal|opencl|rocm|vulkan|webgpu)/|/src/lang/emit/(c|spirv|wgsl)/")
get_target_property(unused_sources tessera_objects SOURCES)
tessera_find_simd_level(simd_level)
if(simd_level)
  list(FILTER unused_sources EXCLUDE REGEX "/isa/.*(/lanes/|/math/|_${simd_level}\\.c$)")
  string(APPEND unused "|/isa/")
endif()
list(FILTER unused_sources INCLUDE REGEX "${unused}")
set_property(SOURCE ${unused_sources} APPEND PROPERTY COMPILE_OPTIONS -O0 -g0 -fno-sanitize=all)

add_custom_target(tessera_fuzz_targets) # all of them, and nothing else
tessera_glob(fuzz_sources tests/fuzz/*_fuzz.c)
foreach(source ${fuzz_sources})
  get_filename_component(program "${source}" NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name "${program}")
  add_executable(${program} "${source}")
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  target_include_directories(${program} PRIVATE src)
  target_link_libraries(${program} PRIVATE tessera_static)
  target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  tessera_set_warnings(${program})
  add_dependencies(tessera_fuzz_targets ${program})

  set(found "${PROJECT_BINARY_DIR}/fuzz/found/${name}")
  set(seeds "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  file(MAKE_DIRECTORY "${found}")
  if(NOT IS_DIRECTORY "${seeds}")
    set(seeds "")
  endif()
  add_test(NAME fuzz.${name} COMMAND ${program} -max_total_time=${TESSERA_FUZZ_SECONDS} -print_final_stats=1
    "-artifact_prefix=${PROJECT_BINARY_DIR}/fuzz/${name}-" "${found}" ${seeds})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz ENVIRONMENT "${TESSERA_SANITIZER_ENVIRONMENT}")
endforeach()
