# The tests, as ctest sees them. A test says which kind it is by where it stands:
#
#   src/**/*_test.c             unit          tests/cli/*.sh         cli      (program: $TSR_TEST_PROGRAM)
#   tests/conformance/*_test.c  conformance   tests/packaging/*.sh   package
#   tests/faults/*_test.c       faults        tests/interop/*.py     interop  (library: $TSR_TEST_LIBRARY)
#   tests/lang/*_test.c         lang          examples/*.c           example
#   tests/attack/*_test.c       attack
#   tests/standins/**/*_test.c  standins
#   tools/tessera/*_test.c      unit          src/core, in valgrind  memcheck
#   examples/common/*_test.c    unit
#   tests/devices/*_test.sh     devices       tests/timing/*_test.c  timing
#   bindings/python/tests/*.py  python        (module: <build>/python)
#
# One ctest test per TEST(); those with "thread" in the name of test or file are labelled `threads` too. A script
# that cannot run here exits with 77 and says why. Those labelled `timing` run alone, and in builds without sanitizers only.
# scripts/run-tests runs the same tests and starts each test program once, not once for each test.
if(NOT TESSERA_TESTS)
  return()
endif()

# cmocka runs the tests. If it is not installed for the processor that the tests are built for, tests/support/runner_plain.c does.
if(CMAKE_CROSSCOMPILING)
  set(test_runner plain)
  set(CMOCKA_INCLUDE_DIR "")
  set(CMOCKA_LIBRARY "")
else()
  set(test_runner cmocka)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  find_library(CMOCKA_LIBRARY cmocka)
  mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)
endif()
if(test_runner STREQUAL "cmocka" AND (NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY))
  if(TESSERA_TESTS STREQUAL "AUTO")
    message(STATUS "cmocka not found: no tests are built (scripts/setup test installs what they need)")
    return()
  endif()
  message(FATAL_ERROR "the tests need cmocka: run scripts/setup test, or configure with -DTESSERA_TESTS=OFF")
endif()

enable_testing()

# --- What a test finds in its environment -----------------------------------------------------------------------

# Where the loader of OpenCL finds drivers: the environment of tests that run many kernels on PoCL, and of the others.
set(pocl_with_few_declarations "")
set(pocl_as_installed "")
if(NOT CMAKE_CROSSCOMPILING AND NOT TESSERA_SANITIZE MATCHES "thread")
  include(pocl)
  tessera_copy_pocl("${PROJECT_SOURCE_DIR}/build/drivers/pocl_with_few_declarations" pocl_vendors)
  if(pocl_vendors)
    set(pocl_with_few_declarations "OCL_ICD_VENDORS=${pocl_vendors}" "TSR_TEST_POCL=${pocl_vendors}/pocl.icd")
    set(pocl_as_installed ";OCL_ICD_VENDORS=/etc/OpenCL/vendors;TSR_TEST_POCL=")
  endif()
endif()

set(test_home "${PROJECT_BINARY_DIR}/tests/home") # no settings of the person who runs the tests
file(MAKE_DIRECTORY "${test_home}")
set(test_environment
  "HOME=${test_home}"
  "XDG_CONFIG_HOME=${test_home}"
  "XDG_CACHE_HOME=${test_home}"
  "TSR_TEST_PROGRAM=$<$<TARGET_EXISTS:tessera_program>:$<TARGET_FILE:$<IF:$<TARGET_EXISTS:tessera_program>,tessera_program,tessera_shared>>>"
  "TSR_TEST_LIBRARY=$<TARGET_FILE:tessera_shared>"
  "TSR_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "TSR_TEST_BUILD_DIR=${PROJECT_BINARY_DIR}"
  "TSR_TEST_SANITIZE=${TESSERA_SANITIZE}"
  "TSR_TEST_PLUGIN_DIR=${TESSERA_PLUGIN_DIR}"
  "TSR_TEST_BAD_PLUGIN_DIR=${TESSERA_TEST_PLUGIN_DIR}"
  "TSR_TEST_FAKE_DIR=${PROJECT_BINARY_DIR}/tests/fakes"
  "TSR_TEST_STANDIN_DIR=${PROJECT_BINARY_DIR}/tests/standins"
  # Software drivers spend most of their time compiling kernels, even more so under a sanitizer. So all builds share
  # the folders in which the drivers cache compiled kernels.
  "TSR_STANDIN_CACHE=${PROJECT_SOURCE_DIR}/build/drivers/standins"
  "TSR_TEST_HIP_CACHE=${PROJECT_SOURCE_DIR}/build/drivers/hip"
  "POCL_CACHE_DIR=${PROJECT_SOURCE_DIR}/build/drivers/pocl"
  "MESA_SHADER_CACHE_DIR=${PROJECT_SOURCE_DIR}/build/drivers/mesa"
  # PoCL and lavapipe do not optimise kernels, which saves a third of their time. In tests of drivers, emitters and the runtime they do (list_tests.cmake).
  "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable"
  "GALLIVM_PERF=nopt"
  ${pocl_with_few_declarations}
  "PYTHONDONTWRITEBYTECODE=1"
  # Machine code is used for small tensors, too, which the interpreter would run otherwise.
  "TESSERA_JIT=always"
  ${TESSERA_SANITIZER_ENVIRONMENT})
file(MAKE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/drivers/pocl" "${PROJECT_SOURCE_DIR}/build/drivers/mesa")
if(CMAKE_CROSSCOMPILING)
  list(APPEND test_environment "TSR_TEST_CC=${CMAKE_C_COMPILER}")
else()
  set(webgpu_dir "${PROJECT_SOURCE_DIR}/build/deps/webgpu/node_modules/bun-webgpu-linux-x64")
  list(APPEND test_environment "TSR_TEST_WEBGPU_LIB=${webgpu_dir}/libwebgpu_wrapper.so")
endif()
set(environment_file "${PROJECT_BINARY_DIR}/tests/environment.cmake")
file(GENERATE OUTPUT "${environment_file}" CONTENT
  "set(test_environment [==[${test_environment}]==])\nset(pocl_as_installed [==[${pocl_as_installed}]==])\n")

function(tessera_add_test name label)
  set(timeout 300)
  if(label STREQUAL "devices") # with TSR_TEST_SAMPLE=1, all cases run
    set(timeout 7200)
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT ${timeout} ENVIRONMENT "${test_environment}")
  if(label MATCHES "devices|cli|example") # some take a minute: first, so that no core is idle at the end
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

tessera_glob(plugin_sources tests/plugins/*.c)
foreach(source ${plugin_sources})
  tessera_add_plugin("${source}" "${TESSERA_TEST_PLUGIN_DIR}")
endforeach()

# Stand-ins for drivers and libraries: tests/fakes/cuda/*.c becomes <build>/tests/fakes/fake_cuda.so.
foreach(fake cuda lapack)
  tessera_glob(fake_sources tests/fakes/${fake}/*.c)
  add_library(fake_${fake} MODULE ${fake_sources})
  set_target_properties(fake_${fake} PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/fakes" C_VISIBILITY_PRESET hidden)
  target_include_directories(fake_${fake} PRIVATE src tests)
  target_link_libraries(fake_${fake} PRIVATE Threads::Threads ${TESSERA_MATH_LIBRARY})
  tessera_set_warnings(fake_${fake})
endforeach()
if(TESSERA_SANITIZE MATCHES "thread")
  # Compiled without sanitizers: their work replaces that of a GPU, which a sanitizer would not see either, and it takes a tenth of the time.
  tessera_glob(fake_work tests/fakes/cuda/blas.c tests/fakes/cuda/dnn*.c tests/fakes/cuda/solver.c)
  set_source_files_properties(${fake_work} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()

include(standins)

# --- Tests in C --------------------------------------------------------------------------------------------------

tessera_glob(support_sources tests/support/*.c tests/lang/*.c tests/attack/*.c)
list(FILTER support_sources EXCLUDE REGEX "/runner_[a-z]*\\.c$")
list(APPEND support_sources "${PROJECT_SOURCE_DIR}/tests/support/runner_${test_runner}.c")
# A call of every public function, for tests/attack/garbage_test.c.
tessera_glob(public_headers include/tessera/*.h)
set(calls_source "${PROJECT_BINARY_DIR}/tests/garbage_calls.c")
add_custom_command(OUTPUT "${calls_source}"
  COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${PROJECT_SOURCE_DIR}/include/tessera" "-DOUTPUT=${calls_source}"
          -P "${PROJECT_SOURCE_DIR}/cmake/list_calls.cmake"
  DEPENDS "${PROJECT_SOURCE_DIR}/cmake/list_calls.cmake" ${public_headers}
  VERBATIM)

# A target without dependencies: otherwise CMake builds the library, which tessera_test_support is linked to, before it runs the command, so that no test file would be
# compiled without it.
add_custom_target(tessera_garbage_calls DEPENDS "${calls_source}")

add_library(tessera_test_support STATIC ${support_sources} "${calls_source}")
add_dependencies(tessera_test_support tessera_garbage_calls)
target_include_directories(tessera_test_support PUBLIC src tests tests/support ${CMOCKA_INCLUDE_DIR})
target_link_libraries(tessera_test_support PUBLIC
  tessera_static standin_kernels ${CMOCKA_LIBRARY} Threads::Threads ${TESSERA_MATH_LIBRARY})
tessera_set_warnings(tessera_test_support)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(tessera_test_support PRIVATE "$<$<CONFIG:Release>:-O1>") # as the test files below
endif()

find_program(VALGRIND valgrind)
mark_as_advanced(VALGRIND)

# The name of a test file in front of its tests: core.shape for src/core/shape_test.c.
function(tessera_name_test_file out source)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${source}")
  string(REGEX REPLACE "^[^/]*/(.*)_test\\.c$" "\\1" path "${path}")
  string(REPLACE "/" "." path "${path}")
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# Optimisation of test files: they compile in half the time with -O1 in the optimised build, and with -O0 under the address sanitizer. (Not under the thread
# sanitizer: there, tests that compute reference results would take longer than the compiler saves.)
set(test_file_options "")
if(TESSERA_SANITIZE MATCHES "address")
  set(test_file_options -O0)
elseif(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  set(test_file_options "$<$<CONFIG:Release>:-O1>")
endif()

# The program, the Python module and the test support library are compiled like test files.
if(TESSERA_SANITIZE MATCHES "address")
  foreach(target tessera_program tessera_python tessera_test_support)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -O0)
    endif()
  endforeach()
endif()

# A program with the tests of these files. When it is linked, list_tests.cmake asks it for them.
function(tessera_add_test_program program label)
  add_executable(${program} ${ARGN})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${program} PRIVATE tessera_test_support)
  if(TESSERA_SANITIZE MATCHES "address" AND TESSERA_LINKER_IS_GNU_LIKE)
    # This sanitizer's tables have megabytes of addresses, which the loader would relocate. A program at a fixed address starts in two thirds of the time.
    target_link_options(${program} PRIVATE -no-pie)
  endif()
  tessera_set_warnings(${program})
  foreach(source ${ARGN})
    tessera_name_test_file(name "${source}")
    set_source_files_properties("${source}" PROPERTIES
      COMPILE_DEFINITIONS "TEST_FILE=\"${name}\"" COMPILE_OPTIONS "${test_file_options}")
  endforeach()

  set(listed "${PROJECT_BINARY_DIR}/tests/${program}.cmake")
  add_custom_command(TARGET ${program} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DLABEL=${label}"
            "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
            "-DENVIRONMENT_FILE=${environment_file}" "-DOUTPUT=${listed}"
            -P "${PROJECT_SOURCE_DIR}/cmake/list_tests.cmake"
    VERBATIM)
  set(include_file "${PROJECT_BINARY_DIR}/tests/${program}_include.cmake")
  file(CONFIGURE OUTPUT "${include_file}" @ONLY CONTENT [[
if(EXISTS "@listed@")
  include("@listed@")
else()
  add_test("@program@.not_built" "@program@_is_not_built")
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include_file}")
endfunction()

# Runs the tests of src/core in valgrind, one test for each file.
function(tessera_add_memcheck source)
  tessera_name_test_file(name "${source}")
  string(REPLACE "." "_" program "${name}_test")
  if(VALGRIND AND NOT TESSERA_SANITIZE AND NOT TESSERA_FUZZ AND name MATCHES "^core\\.")
    tessera_add_test(memcheck.${name} memcheck
      "${VALGRIND}" --quiet --leak-check=full --show-leak-kinds=definite,indirect
      --errors-for-leak-kinds=definite,indirect --error-exitcode=99 "${PROJECT_BINARY_DIR}/tests/${program}")
  endif()
endfunction()

# A program for each test file, as src/core/shape_test.c: core_shape_test.
function(tessera_add_program_per_file label)
  foreach(source ${ARGN})
    tessera_name_test_file(name "${source}")
    string(REPLACE "." "_" program "${name}_test")
    tessera_add_test_program(${program} ${label} "${source}")
  endforeach()
endfunction()

# A program for each folder of test files, as src/core: core_tests. It is linked once instead of once for each file, and list_tests.cmake
# makes a link to it for each file; the target of that name builds the folder's program.
function(tessera_add_program_per_folder label)
  set(programs)
  foreach(source ${ARGN})
    tessera_name_test_file(name "${source}")
    string(REPLACE "." "_" file_program "${name}_test")
    string(REGEX REPLACE "\\.[^.]*$" "" folder "${name}")
    string(REPLACE "." "_" program "${folder}_tests")
    list(APPEND programs ${program})
    list(APPEND sources_of_${program} "${source}")
    add_custom_target(${file_program})
    list(APPEND names_of_${program} ${file_program})
  endforeach()
  list(REMOVE_DUPLICATES programs)
  foreach(program ${programs})
    tessera_add_test_program(${program} ${label} ${sources_of_${program}})
    foreach(file_program ${names_of_${program}})
      add_dependencies(${file_program} ${program})
    endforeach()
  endforeach()
endfunction()

# Adds the programs of all test files below a folder: one per file, or one per folder.
function(tessera_add_test_programs under label)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${under}/*_test.c")
  # Tests of tools/ and examples/ include the files they test, which may be linked once only.
  if(TESSERA_TEST_PROGRAMS STREQUAL "FILE" OR NOT under MATCHES "^(src|tests)")
    tessera_add_program_per_file(${label} ${sources})
  else()
    tessera_add_program_per_folder(${label} ${sources})
  endif()
  foreach(source ${sources})
    tessera_add_memcheck("${source}")
  endforeach()
endfunction()

tessera_add_test_programs(src unit)
tessera_add_test_programs(tools/tessera unit)
tessera_add_test_programs(examples/common unit)
tessera_add_test_programs(tests/conformance conformance)
tessera_add_test_programs(tests/faults faults)
tessera_add_test_programs(tests/lang lang)
tessera_add_test_programs(tests/attack attack)
tessera_add_test_programs(tests/standins standins)
if(NOT TESSERA_SANITIZE AND NOT TESSERA_FUZZ)
  tessera_add_test_programs(tests/timing timing)
endif()

foreach(example ${TESSERA_EXAMPLES})
  tessera_add_test(example.${example} example $<TARGET_FILE:example_${example}> ${TESSERA_EXAMPLE_ARGUMENTS_${example}})
endforeach()

# --- Tests that are scripts ----------------------------------------------------------------------------------------

function(tessera_add_scripts folder label interpreter)
  file(GLOB scripts CONFIGURE_DEPENDS ${ARGN})
  foreach(script ${scripts})
    get_filename_component(name "${script}" NAME_WE)
    string(REGEX REPLACE "_test$" "" name "${name}")
    tessera_add_test(${folder}.${name} ${label} ${interpreter} "${script}")
  endforeach()
endfunction()

if(TARGET tessera_program)
  tessera_add_scripts(cli cli bash "${PROJECT_SOURCE_DIR}/tests/cli/*.sh")
  tessera_add_scripts(devices devices bash "${PROJECT_SOURCE_DIR}/tests/devices/*_test.sh")
endif()
if(NOT TESSERA_SANITIZE AND NOT TESSERA_FUZZ) # other programs cannot load a library with a sanitizer in it
  tessera_add_scripts(interop interop "${TESSERA_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/interop/*_test.py")
  tessera_add_scripts(packaging package bash "${PROJECT_SOURCE_DIR}/tests/packaging/*_test.sh")
endif()

# The Python module, by its own unit tests. A sanitizer build runs those that go through all of the extension.
if(NOT TESSERA_SANITIZE)
  file(GLOB python_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bindings/python/tests/test_*.py")
elseif(NOT TESSERA_PYTHON_LACKS)
  foreach(name arrays few indexing more numpy_names operators programs)
    list(APPEND python_tests "${PROJECT_SOURCE_DIR}/bindings/python/tests/test_${name}.py")
  endforeach()
endif()
foreach(script ${python_tests})
  get_filename_component(name "${script}" NAME_WE)
  string(REGEX REPLACE "^test_" "python." name "${name}")
  if(TESSERA_PYTHON_LACKS)
    tessera_add_test(${name} python bash -c "echo 'skipped: ${TESSERA_PYTHON_LACKS} (scripts/setup python)'; exit 77")
  else()
    tessera_add_test(${name} python "${CMAKE_COMMAND}" -E env ${TESSERA_PYTHON_ENVIRONMENT} "${TESSERA_PYTHON}" "${script}")
  endif()
endforeach()
