# Each bench/*.c is a program; `make bench` runs them. No test times anything, so builds with a sanitizer leave them out.
if(TESSERA_SANITIZE)
  return()
endif()
tessera_glob(benchmark_sources bench/*.c)
foreach(source ${benchmark_sources})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(bench_${name} "${source}")
  set_target_properties(bench_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_include_directories(bench_${name} PRIVATE src)
  target_link_libraries(bench_${name} PRIVATE tessera_static ${TESSERA_MATH_LIBRARY})
  tessera_set_warnings(bench_${name})
endforeach()

# Called by bench/sweep.py. Not in the folder of the programs, all of which `make bench` runs.
if(UNIX)
  add_library(bench_calls MODULE bench/calls/calls.c)
  set_target_properties(bench_calls PROPERTIES
    PREFIX "" OUTPUT_NAME calls SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench_calls")
  tessera_set_warnings(bench_calls)
endif()
