# Stand-ins that run the kernels of GPUs that are not here (tests/standins/README.md): for the tests only.
#
# tests/standins/kernels is a library, standin_kernels. It changes stacks by instructions of its own, written for Linux on x86-64 and
# aarch64; elsewhere, and in builds for another processor than this one, it says that it cannot run.
set(standin_folder "${PROJECT_SOURCE_DIR}/tests/standins/kernels")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
  add_library(standin_kernels STATIC
    "${standin_folder}/fiber.c" "${standin_folder}/module.c" "${standin_folder}/run.c")
else()
  add_library(standin_kernels STATIC "${standin_folder}/absent.c")
endif()
set_target_properties(standin_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(standin_kernels PUBLIC tests)
target_link_libraries(standin_kernels PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(standin_kernels PRIVATE
  "STANDIN_INCLUDE=\"${standin_folder}/include\"" "STANDIN_CACHE=\"${PROJECT_BINARY_DIR}/tests/standins/cache\"")
if(TESSERA_SANITIZE MATCHES "thread") # which does not know these fibers
  target_compile_options(standin_kernels PRIVATE -fno-sanitize=thread)
endif()
tessera_set_warnings(standin_kernels)
