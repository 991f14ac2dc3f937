# SPDX-License-Identifier: MIT
# What a web page loads: <build>/web, with the modules beside the files of web/.
#
# C programs that use the library in a page link lib/libtessera.a.
#
#   tessera.wasm           the library, for web/tessera.js
#   tessera_program.wasm   the program, for web/program.js (`tessera check` in a page)
#   *_asyncify.wasm        the same for engines without JSPI, where wasm-opt is installed
set(web_dir "${PROJECT_BINARY_DIR}/web")
find_program(TESSERA_WASM_OPT wasm-opt)
if(NOT TESSERA_WASM_OPT)
  message(STATUS "wasm-opt (Debian: binaryen) not found: no modules for engines without JSPI are built")
endif()

# Functions that call others through pointers, but never one that waits for the page: output of the C library, conversions of elements, emitters, and the CPU
# backend. wasm-opt cannot know this, and would add code that saves and restores the stack to each of them and to all their callers (a tenth of the module,
# compressed). The list has names of functions that are not static, because such a name stands for one function only.
set(functions_that_never_wait
  vfprintf fwrite __fwritex fread fflush fclose __toread __uflow qsort tsri_log tsr_convert
  tsri_hoist tsri_hoist_branch tsri_emit_kernel tsri_emit_lower tsri_expand tsri_expand_named tsri_expand_is_far tsri_function_define tsri_phrase_put tsri_tree_visit
  tsri_parallel tsri_lanes_* tsri_cpu_*)
list(JOIN functions_that_never_wait "," functions_that_never_wait)

# Adds a command that makes web/<name>.wasm of what is linked, which still has the names of functions.
#
# --low-memory-unused: no object is in the first 1024 bytes of memory, so `address + constant` can be part of a load or store (0.7 %, compressed). Those bytes
# are the far end of the stack (--stack-first): a program that gets there is about to overflow it.
function(tessera_optimise_module target name)
  set(module "${web_dir}/${name}.wasm")
  add_custom_command(OUTPUT "${module}"
    COMMAND "${TESSERA_WASM_OPT}" --strip-producers --strip-target-features --low-memory-unused ${ARGN} "$<TARGET_FILE:${target}>" -o "${module}"
    DEPENDS ${target} COMMENT "Making ${name}.wasm" VERBATIM)
  add_custom_target(${target}_${name} ALL DEPENDS "${module}")
endfunction()

# Adds a module without a main function: JavaScript calls its functions one by one. `level`: the optimisation levels of wasm-opt, one after the other.
function(tessera_add_module target name level)
  add_executable(${target} ${ARGN} $<TARGET_OBJECTS:tessera_objects>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${web_dir}")
  target_include_directories(${target} PRIVATE include)
  target_link_options(${target} PRIVATE -mexec-model=reactor
    LINKER:-z,stack-size=1048576 LINKER:--stack-first LINKER:--export=malloc LINKER:--export=free)
  tessera_set_warnings(${target})
  if(NOT TESSERA_WASM_OPT)
    target_link_options(${target} PRIVATE LINKER:--strip-all)
    return()
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/linked")
  target_link_options(${target} PRIVATE LINKER:--strip-debug -O0) # -O0: otherwise clang calls wasm-opt itself, which removes the names
  tessera_optimise_module(${target} ${name} ${level})
  tessera_optimise_module(${target} ${name}_asyncify --asyncify "--pass-arg=asyncify-imports@webgpu.*"
    "--pass-arg=asyncify-removelist@${functions_that_never_wait}" -O1)
endfunction()

# Optimised for size, because a page loads the whole module: code that records, plans and compiles, which runs once per operator or per kernel and not once per
# element; and the CPU's operators on rows, which are compiled once for each dtype. The other loops over elements (core/ and the CPU backend) are optimised
# for speed.
tessera_glob(small_sources src/lang/*.c src/lang/*/*.c src/lang/*/*/*.c src/runtime/*.c src/graph/*.c src/ops/*.c src/grad/*.c src/train/*.c src/saved/*.c
  src/backends/cpu/rows/*.c src/backends/webgpu/*.c src/backends/cpu/lanes/prepare.c src/backends/cpu/lanes/shorten.c
  src/backends/cpu/lanes/run.c src/backends/cpu/conv/op.c src/backends/cpu/product/op.c src/backends/cpu/native.c src/backends/fault/*.c src/backends/common/*.c
  src/core/builder.c src/core/error.c src/core/dtype.c src/core/file.c src/core/layout.c src/core/log.c src/core/native.c src/core/scope.c src/core/shape.c
  src/core/suggest.c src/core/tensor.c src/backends/cpu/device.c src/backends/cpu/program.c src/platform/cpu_name.c)
set_source_files_properties(${small_sources} PROPERTIES COMPILE_OPTIONS -Oz)

add_library(tessera_static STATIC $<TARGET_OBJECTS:tessera_objects>)
set_target_properties(tessera_static PROPERTIES OUTPUT_NAME tessera LINKER_LANGUAGE C)

tessera_add_module(tessera_web tessera "-Oz;-Oz;-Oz" web/glue.c web/glue_training.c) # each further time saves 0.2 %, compressed

# The module exports what the scripts of web/ call and no more: the linker leaves out what only programs in C reach. That is every function
# whose name they write, and tsr_<name> for each operator of lists.js.
tessera_glob(web_scripts web/*.js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web_scripts})
set(exports)
foreach(script ${web_scripts})
  file(READ "${script}" text)
  string(REGEX MATCHALL "tsrw?_[a-z0-9_]+" names "${text}")
  list(APPEND exports ${names})
endforeach()
file(STRINGS web/lists.js operators REGEX "^  [a-z0-9_]+: '")
list(TRANSFORM operators REPLACE "^  ([a-z0-9_]+): .*" "tsr_\\1")
list(APPEND exports ${operators})
list(REMOVE_DUPLICATES exports)
list(SORT exports)
list(TRANSFORM exports PREPEND "--export-if-defined=")
list(JOIN exports "\n" exports)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/exports.txt" CONTENT "${exports}\n")
target_link_options(tessera_web PRIVATE "-Wl,@${PROJECT_BINARY_DIR}/generated/exports.txt")
set_target_properties(tessera_web PROPERTIES LINK_DEPENDS "${PROJECT_BINARY_DIR}/generated/exports.txt")

tessera_glob(program_sources tools/tessera/*.c examples/common/*.c)
tessera_leave_out_other_systems(program_sources)
tessera_add_module(tessera_program tessera_program -Oz ${program_sources}) # twice as long as -O1, and 2 % less; -O3 takes three times as long
target_include_directories(tessera_program PRIVATE examples/common)
target_link_options(tessera_program PRIVATE LINKER:--export=__main_argc_argv)
target_compile_options(tessera_program PRIVATE -Os) # its own files only wait for the library

# web/ as it is, copied when it changes.
tessera_glob(web_files web/*.js web/*.ts web/*.json web/*.html web/*.css)
set(copied)
foreach(file ${web_files})
  get_filename_component(name "${file}" NAME)
  add_custom_command(OUTPUT "${web_dir}/${name}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${file}" "${web_dir}/${name}" DEPENDS "${file}" VERBATIM)
  list(APPEND copied "${web_dir}/${name}")
endforeach()
add_custom_target(tessera_web_files ALL DEPENDS ${copied})

# --- Tests: web/*_test.mjs in Node.js, tests/web/* in a browser or by themselves ------------------------------------

enable_testing()
set(web_test_environment
  "TSR_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "TSR_TEST_BUILD_DIR=${PROJECT_BINARY_DIR}" "PYTHONDONTWRITEBYTECODE=1")
function(tessera_add_web_test name)
  add_test(NAME web.${name} COMMAND ${ARGN})
  set_tests_properties(web.${name} PROPERTIES LABELS web SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "${web_test_environment}")
endfunction()

file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/*_test.mjs" "${PROJECT_SOURCE_DIR}/tests/web/*_test.*")
foreach(test ${tests})
  get_filename_component(name "${test}" NAME_WE)
  string(REGEX REPLACE "_test$" "" name "${name}")
  if(test MATCHES "\\.mjs$")
    tessera_add_web_test(${name} bash "${PROJECT_SOURCE_DIR}/tests/web/node.sh" "${test}")
  elseif(test MATCHES "\\.py$")
    tessera_add_web_test(${name} python3 "${test}")
  else()
    tessera_add_web_test(${name} bash "${test}")
  endif()
endforeach()
