# Each bench/*.c is a program; `make bench` runs all of them. Tests do not, so builds with a sanitizer do not build them.
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

# A library for bench/sweep.py. It is not in the folder of the programs, because `make bench` runs all files there.
if(UNIX)
  add_library(bench_calls MODULE bench/calls/calls.c)
  set_target_properties(bench_calls PROPERTIES
    PREFIX "" OUTPUT_NAME calls SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench_calls")
  tessera_set_warnings(bench_calls)
endif()
