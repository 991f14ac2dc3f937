# PoCL with fewer declarations, for tests that run many kernels on it.
#
# For each program PoCL parses Clang's opencl-c.h, 14,000 declarations, most of them for vectors: half of the time that a kernel takes to compile. It looks for its files beside its
# library (../../share/pocl), so a copy of the library is put beside a header without the declarations that our kernels do not use. A kernel that uses one of them fails to compile there.
# Each process that compiles a kernel also reads PoCL's functions, 10 MB of LLVM's bitcode and three quarters of the time of a small kernel: without those of vectors they are 1.6 MB.
# Tests of the OpenCL backend and of tests/lang use PoCL as it is installed (list_tests.cmake).

# Makes the copy in `folder`. Sets `out` to a folder for OCL_ICD_VENDORS: the drivers that are installed, with the copy in place of PoCL; empty if PoCL is not in Debian's places.
# All builds share the copy, and one may be configured while tests of another use it: nothing is written again that is there.
function(tessera_copy_pocl folder out)
  set(${out} "" PARENT_SCOPE)
  set(vendors /etc/OpenCL/vendors)
  set(libraries "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  set(shared /usr/share/pocl)
  set(header include/opencl-c.h)
  find_program(TESSERA_SED sed)
  mark_as_advanced(TESSERA_SED)
  if(NOT EXISTS "${vendors}/pocl.icd" OR NOT EXISTS "${libraries}/libpocl.so.2" OR NOT EXISTS "${shared}/${header}" OR NOT TESSERA_SED)
    return()
  endif()

  file(MAKE_DIRECTORY "${folder}/lib/pocl" "${folder}/share/pocl/include" "${folder}/vendors")
  file(COPY_FILE "${libraries}/libpocl.so.2" "${folder}/lib/pocl/libpocl.so.2" ONLY_IF_DIFFERENT)
  tessera_link_once("${libraries}/pocl" "${folder}/lib/pocl/pocl") # its devices
  tessera_copy_pocl_functions("${shared}" "${folder}/share/pocl" "${libraries}/libpocl.so.2")
  file(GLOB files RELATIVE "${shared}" "${shared}/*.bc" "${shared}/include/*.h")
  list(REMOVE_ITEM files ${header})
  foreach(file ${files})
    tessera_link_once("${shared}/${file}" "${folder}/share/pocl/${file}")
  endforeach()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  set(made "${PROJECT_BINARY_DIR}/tests/opencl-c.h")
  execute_process(COMMAND "${TESSERA_SED}" -E -f "${PROJECT_SOURCE_DIR}/cmake/pocl_declarations.sed" "${shared}/${header}"
    OUTPUT_FILE "${made}" COMMAND_ERROR_IS_FATAL ANY)
  file(COPY_FILE "${made}" "${folder}/share/pocl/${header}" ONLY_IF_DIFFERENT)

  file(GLOB files RELATIVE "${vendors}" "${vendors}/*.icd")
  list(REMOVE_ITEM files pocl.icd)
  foreach(file ${files})
    tessera_link_once("${vendors}/${file}" "${folder}/vendors/${file}")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/vendors/pocl.icd" CONTENT "${folder}/lib/pocl/libpocl.so.2\n")
  set(${out} "${folder}/vendors" PARENT_SCOPE)
endfunction()

# Puts PoCL's functions for this machine into the folder `to`, without those of vectors, except loads and stores of two and four elements (as in pocl_declarations.sed), and with all that these call.
# Does nothing without llvm-extract of the LLVM that `library` is linked to: tessera_copy_pocl then links the file that is installed.
function(tessera_copy_pocl_functions from to library)
  tessera_find_simd_level(level)
  file(GLOB source "${from}/kernel-*-${level}.bc") # one file; none at the baseline
  execute_process(COMMAND ldd "${library}" OUTPUT_VARIABLE linked ERROR_QUIET)
  if(NOT source OR NOT linked MATCHES "libLLVM-([0-9]+)")
    return()
  endif()
  find_program(TESSERA_LLVM_EXTRACT llvm-extract-${CMAKE_MATCH_1})
  mark_as_advanced(TESSERA_LLVM_EXTRACT)
  get_filename_component(name "${source}" NAME)
  if(NOT TESSERA_LLVM_EXTRACT OR (EXISTS "${to}/${name}" AND NOT "${CMAKE_CURRENT_FUNCTION_LIST_FILE}" IS_NEWER_THAN "${to}/${name}"))
    return()
  endif()
  # Names of functions of vectors have "Dv"; Sleef_..., which functions of scalars call, comes with those.
  execute_process(COMMAND "${TESSERA_LLVM_EXTRACT}" --recursive "--rglob=.*" "--rfunc=^([^DS]|D[^v]|S[^l])*$" "--rfunc=store[a-z_]*[24].*Dv[24]_"
    "${source}" -o "${to}/${name}.new" RESULT_VARIABLE result)
  if(result EQUAL 0)
    file(RENAME "${to}/${name}.new" "${to}/${name}")
  endif()
endfunction()

function(tessera_link_once target link)
  if(NOT EXISTS "${link}")
    file(CREATE_LINK "${target}" "${link}" SYMBOLIC)
  endif()
endfunction()
