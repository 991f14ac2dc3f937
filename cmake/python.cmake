# The Python module (bindings/python), built into <build>/python where Python's headers are; `pip install ./bindings/python` builds a wheel of it instead.
#
# Sets TESSERA_PYTHON (the interpreter), TESSERA_PYTHON_DIR (for PYTHONPATH), TESSERA_PYTHON_ENVIRONMENT (other variables that its tests need) and
# TESSERA_PYTHON_LACKS (the reason if there is no module to test; otherwise empty).

# The first python3 with NumPy: one that a person installed may come before the system's on the path, and have none.
function(tessera_find_python out)
  set(${out} python3 PARENT_SCOPE)
  foreach(python python3 /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(${out} ${python} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(TESSERA_PYTHON_DIR "${PROJECT_BINARY_DIR}/python")
set(TESSERA_PYTHON_LACKS "")
set(TESSERA_PYTHON_ENVIRONMENT "PYTHONPATH=${TESSERA_PYTHON_DIR}")
tessera_find_python(TESSERA_PYTHON)
if(CMAKE_CROSSCOMPILING OR TESSERA_FUZZ OR TESSERA_SANITIZE MATCHES "thread" OR (TESSERA_SANITIZE AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU"))
  set(TESSERA_PYTHON_LACKS "an interpreter cannot load a library for another machine, or with this sanitizer in it")
  return()
endif()
if(TESSERA_SANITIZE)
  # The sanitizer must be loaded before the interpreter. Leaks are not reported, because the interpreter leaves objects behind at its end. PYTHONMALLOC: Python's own allocator would hide mistakes in small blocks.
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE libasan OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND TESSERA_PYTHON_ENVIRONMENT "LD_PRELOAD=${libasan}" "ASAN_OPTIONS=detect_leaks=0:intercept_tls_get_addr=0" "PYTHONMALLOC=malloc")
endif()
execute_process(COMMAND ${TESSERA_PYTHON} -c "import sysconfig, sys; assert sys.version_info >= (3, 11); print(sysconfig.get_path('include'))"
  RESULT_VARIABLE result OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND ${TESSERA_PYTHON} -c "import numpy" RESULT_VARIABLE has_no_numpy OUTPUT_QUIET ERROR_QUIET)
if(NOT result EQUAL 0 OR NOT EXISTS "${python_include}/Python.h")
  set(TESSERA_PYTHON_LACKS "no Python 3.11 or later with its headers")
  return()
elseif(has_no_numpy)
  set(TESSERA_PYTHON_LACKS "no NumPy")
endif()

tessera_glob(python_sources bindings/python/src/*.c)
add_library(tessera_python MODULE ${python_sources})
set_target_properties(tessera_python PROPERTIES
  PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY "${TESSERA_PYTHON_DIR}/tessera" C_VISIBILITY_PRESET hidden)
target_compile_definitions(tessera_python PRIVATE Py_LIMITED_API=0x030B0000)
target_include_directories(tessera_python PRIVATE src) # for ops/dlpack_abi.h alone
target_include_directories(tessera_python SYSTEM PRIVATE "${python_include}")
target_link_libraries(tessera_python PRIVATE tessera_shared)
tessera_set_warnings(tessera_python)

# The module's Python files, copied beside the extension.
file(GLOB python_files CONFIGURE_DEPENDS LIST_DIRECTORIES false "${PROJECT_SOURCE_DIR}/bindings/python/tessera/*")
file(GLOB python_lib_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bindings/python/tessera/lib/*.py")
set(copied "${PROJECT_BINARY_DIR}/python/copied")
add_custom_command(OUTPUT "${copied}"
  COMMAND "${CMAKE_COMMAND}" -E copy ${python_files} "${TESSERA_PYTHON_DIR}/tessera"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${TESSERA_PYTHON_DIR}/tessera/lib"
  COMMAND "${CMAKE_COMMAND}" -E copy ${python_lib_files} "${TESSERA_PYTHON_DIR}/tessera/lib"
  COMMAND "${CMAKE_COMMAND}" -E touch "${copied}"
  DEPENDS ${python_files} ${python_lib_files} tessera_python
  VERBATIM)
add_custom_target(tessera_python_files ALL DEPENDS "${copied}")
