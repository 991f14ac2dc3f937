# SPDX-License-Identifier: MIT
# Writes the name and the text of each kernels/*.tk to a C file in the build tree (src/graph/embedded.h). The file is written again
# when a kernel file is changed, added or removed.
function(tessera_embed_kernels out)
  file(GLOB kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/*.tk")
  set(strips OFF)
  if(TESSERA_IS_WASM)
    # A page loads all kernel texts, so they are kept small: without comments, without examples, and without what follows the line "Web pages do without the
    # rest of this file" of a kernel file.
    list(FILTER kernels INCLUDE REGEX "/(op|fn)_[a-z_]*\\.tk$")
    set(strips ON)
  endif()
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake")
  set(generated "${PROJECT_BINARY_DIR}/generated/embedded_kernels.c")
  set(list "${PROJECT_BINARY_DIR}/generated/kernels.txt") # written only if the set of files has changed
  string(REPLACE ";" "\n" lines "${kernels}")
  file(GENERATE OUTPUT "${list}" CONTENT "${lines}\n")
  add_custom_command(OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DLIST=${list}" "-DOUTPUT=${generated}" "-DSTRIPS=${strips}" -P "${script}"
    DEPENDS ${kernels} "${script}" "${list}"
    COMMENT "Embedding kernels/*.tk"
    VERBATIM)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()

# The page of the profiler's report (src/runtime/profile/report.html) as a C file in the build tree.
function(tessera_embed_report out)
  set(page "${PROJECT_SOURCE_DIR}/src/runtime/profile/report.html")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")
  set(generated "${PROJECT_BINARY_DIR}/generated/profile_report.c")
  add_custom_command(OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${page}" "-DOUTPUT=${generated}" "-DSYMBOL=tsri_profile_report_bytes"
      "-DHEADER=runtime/profile/recorder.h" -P "${script}"
    DEPENDS "${page}" "${script}"
    COMMENT "Embedding report.html"
    VERBATIM)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()

# The kernels that are written in CUDA C++ (src/backends/cuda/*.cu) as C files in the build tree.
function(tessera_embed_cuda out)
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")
  set(all "")
  foreach(name units halves heads join masks)
    set(text "${PROJECT_SOURCE_DIR}/src/backends/cuda/${name}.cu")
    set(generated "${PROJECT_BINARY_DIR}/generated/cuda_${name}.c")
    add_custom_command(OUTPUT "${generated}"
      COMMAND "${CMAKE_COMMAND}" "-DINPUT=${text}" "-DOUTPUT=${generated}" "-DSYMBOL=tsri_cuda_${name}_text"
        "-DHEADER=backends/cuda/own_texts.h" -P "${script}"
      DEPENDS "${text}" "${script}"
      COMMENT "Embedding ${name}.cu"
      VERBATIM)
    list(APPEND all "${generated}")
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()
