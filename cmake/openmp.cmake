# OpenMP for the CPU backend, where the compiler has it; without it the library is complete but for its threads.
#
# Installed users of the static library link its runtime by name (gomp, omp), which needs no find_package and
# works from C++ as well.
set(TESSERA_OPENMP_LIBS "")
if(TESSERA_OPENMP)
  find_package(OpenMP COMPONENTS C QUIET)
  if(OpenMP_C_FOUND)
    set(TESSERA_OPENMP_LIBS ${OpenMP_C_LIB_NAMES})
    list(REMOVE_ITEM TESSERA_OPENMP_LIBS pthread)
  endif()
endif()

function(tessera_use_openmp target)
  if(TESSERA_OPENMP AND OpenMP_C_FOUND)
    target_compile_options(${target} PRIVATE ${OpenMP_C_FLAGS})
    target_include_directories(${target} PRIVATE ${OpenMP_C_INCLUDE_DIRS})
  elseif(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${target} PRIVATE -Wno-unknown-pragmas)
  endif()
endfunction()

function(tessera_link_openmp target)
  if(TESSERA_OPENMP AND OpenMP_C_FOUND)
    target_link_libraries(${target} PRIVATE
      $<BUILD_INTERFACE:OpenMP::OpenMP_C> "$<INSTALL_INTERFACE:${TESSERA_OPENMP_LIBS}>")
  endif()
endfunction()
