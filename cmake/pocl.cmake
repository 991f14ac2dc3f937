# PoCL with fewer declarations, for tests that run many kernels on it.
#
# For each program PoCL parses Clang's opencl-c.h, 14,000 declarations, most of them for vectors: half of the time that a kernel takes to compile. It looks for its files beside its
# library (../../share/pocl), so a copy of the library is put beside a header without the declarations that our kernels do not use. A kernel that uses one of them fails to compile there.
# Tests of the OpenCL backend, of the runtime and of tests/lang use PoCL as it is installed (list_tests.cmake).

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

function(tessera_link_once target link)
  if(NOT EXISTS "${link}")
    file(CREATE_LINK "${target}" "${link}" SYMBOLIC)
  endif()
endfunction()
