# Fuzz targets: each tests/fuzz/<name>_fuzz.c, built with libFuzzer in the `fuzz` preset.
#
# Seeds are in tests/fuzz/corpus/<name>/; inputs that a run finds stay in the build folder. ctest runs each target for
# TESSERA_FUZZ_SECONDS; `make fuzz` for longer.
if(NOT TESSERA_FUZZ)
  return()
endif()
enable_testing()

# Files that no fuzz target runs are compiled for their warnings alone, in a tenth of the time: backends of GPUs; their emitters and the passes before them
# (targets emit lane bytecode, which needs only lower/others.c); and loops for SIMD levels that the CPU backend does not choose on this machine. lanes_fuzz.c
# runs lanes/ and math/ on all levels.
set(unused "/src/backends/(cuda|metal|opencl|rocm|vulkan|webgpu)/|/src/lang/emit/(c|spirv|wgsl)/|/src/lang/lower/")
get_target_property(unused_sources tessera_objects SOURCES)
tessera_find_simd_level(simd_level)
if(simd_level)
  list(FILTER unused_sources EXCLUDE REGEX "/isa/.*(/lanes/|/math/|_${simd_level}\\.c$)")
  string(APPEND unused "|/isa/")
endif()
list(FILTER unused_sources INCLUDE REGEX "${unused}")
list(FILTER unused_sources EXCLUDE REGEX "/src/lang/lower/others\\.c$")
set_property(SOURCE ${unused_sources} APPEND PROPERTY COMPILE_OPTIONS -O0 -g0 -fno-sanitize=all)

# Only the files in which targets spend most of their time are optimised. Optimising code that is full of sanitizer checks takes clang twice as long, and up
# to 20 times as long if the code has vectors (25 s instead of 1.1 s for the product's AVX-512 kernels).
get_target_property(slow_sources tessera_objects SOURCES)
list(FILTER slow_sources EXCLUDE REGEX "/src/(core|lang|saved|backends/cpu/lanes)/")
list(REMOVE_ITEM slow_sources ${unused_sources})
set_property(SOURCE ${slow_sources} APPEND PROPERTY COMPILE_OPTIONS -O0)

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
