# Fuzz targets: each tests/fuzz/<name>_fuzz.c, built with libFuzzer in the `fuzz` preset.
#
# Seeds are in tests/fuzz/corpus/<name>/; inputs that a run finds stay in the build folder. ctest runs each target for
# TESSERA_FUZZ_SECONDS; `make fuzz` for longer.
if(NOT TESSERA_FUZZ)
  return()
endif()
enable_testing()
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
