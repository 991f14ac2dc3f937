# Stand-ins that run the kernels of GPUs that are not here (tests/standins/README.md): for the tests only.
#
# tests/standins/kernels is a library, standin_kernels. It runs work items as fibers and switches their stacks in assembly, which is written for Linux on
# x86-64 and aarch64. Elsewhere, and in builds for another processor than this one, it reports that it cannot run.
set(standin_folder "${PROJECT_SOURCE_DIR}/tests/standins/kernels")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
  add_library(standin_kernels STATIC
    "${standin_folder}/compiler.c" "${standin_folder}/fiber.c" "${standin_folder}/module.c" "${standin_folder}/run.c")
  # This library is loaded into clang, so it must be built without a sanitizer.
  add_library(standin_server MODULE "${standin_folder}/server.c")
  set_target_properties(standin_server PROPERTIES
    PREFIX "" OUTPUT_NAME compiler_server LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/standins")
  target_include_directories(standin_server PRIVATE tests)
  target_compile_options(standin_server PRIVATE -fno-sanitize=all)
  target_link_options(standin_server PRIVATE -fno-sanitize=all)
  target_link_libraries(standin_server PRIVATE ${CMAKE_DL_LIBS})
  tessera_set_warnings(standin_server)
  add_dependencies(standin_kernels standin_server)
else()
  add_library(standin_kernels STATIC "${standin_folder}/absent.c")
endif()
set_target_properties(standin_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(standin_kernels PUBLIC tests)
target_link_libraries(standin_kernels PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(standin_kernels PRIVATE
  "STANDIN_INCLUDE=\"${standin_folder}/include\"" "STANDIN_SERVER=\"${PROJECT_BINARY_DIR}/tests/standins/compiler_server.so\""
  "STANDIN_CACHE=\"${PROJECT_BINARY_DIR}/tests/standins/cache\"")
if(TESSERA_SANITIZE MATCHES "thread") # which does not know these fibers
  target_compile_options(standin_kernels PRIVATE -fno-sanitize=thread)
endif()
tessera_set_warnings(standin_kernels)

# A library in place of a vendor's: <build>/tests/standins/<folder>/<name>. ROCm's are opened by these names if their folder comes first on the
# loader's path, Apple's where TSRI_METAL_LIB names them.
function(tessera_add_standin_library target folder name)
  add_library(${target} SHARED ${ARGN})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME "${name}" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/standins/${folder}"
    C_VISIBILITY_PRESET hidden)
  target_include_directories(${target} PRIVATE src tests)
  target_link_libraries(${target} PRIVATE standin_kernels Threads::Threads ${CMAKE_DL_LIBS} ${TESSERA_MATH_LIBRARY})
  tessera_set_warnings(${target})
endfunction()

set(standin_hip "${PROJECT_SOURCE_DIR}/tests/standins/hip")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
  tessera_add_standin_library(standin_amdhip64 hip libamdhip64.so.6
    "${standin_hip}/switches.c" "${standin_hip}/device.c" "${standin_hip}/driver.c" "${standin_hip}/kernels.c")
  tessera_add_standin_library(standin_hiprtc hip libhiprtc.so.6 "${standin_hip}/switches.c" "${standin_hip}/rtc.c")
  tessera_add_standin_library(standin_rocblas hip librocblas.so.4
    "${standin_hip}/switches.c" "${standin_hip}/product.c" "${standin_hip}/blas.c")
  tessera_add_standin_library(standin_hipblaslt hip libhipblaslt.so.0
    "${standin_hip}/switches.c" "${standin_hip}/product.c" "${standin_hip}/blas_lt.c")
  tessera_glob(standin_metal_sources tests/standins/metal/*.c)
  tessera_add_standin_library(standin_metal metal libmetal_standin.so ${standin_metal_sources})
endif()
